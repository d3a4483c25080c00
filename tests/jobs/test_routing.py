"""Routing: pure, deterministic, and enforced when a job is claimed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.jobs.routing import Choice, Need, Offer, Policy, RunnerCandidate, choose, refusal
from tests.jobs.kit import new_job
from tests.jobs.test_creating import AUTO_EXAMPLE
from tests.kit import Lh


def runner(runner_id: str, *executors: str, running: int = 0, **offer: Any) -> RunnerCandidate:
    return RunnerCandidate(
        runner_id=runner_id, offer=Offer(executors=executors, **offer), running=running
    )


def chosen(need: Need, *candidates: RunnerCandidate) -> str | None:
    choice = choose(need, candidates)
    return choice.runner_id if choice else None


@pytest.mark.proves("DEL-031")
def test_a_runner_that_lacks_the_executor_or_the_profile_is_left_out() -> None:
    need = Need(executor="claude_code", profile="deep")
    assert chosen(need, runner("r1", "codex")) is None
    assert chosen(need, runner("r1", "claude_code", profiles=("fast",))) is None
    per_executor = {"codex": ("deep",), "claude_code": ("fast",)}
    assert chosen(need, runner("r1", "codex", "claude_code", profiles=per_executor)) is None
    unnamed = {"codex": ("deep",)}
    assert chosen(need, runner("r1", "codex", "claude_code", profiles=unnamed)) is None
    gone = {"codex": True, "claude_code": False}
    assert chosen(need, runner("r1", "codex", "claude_code", available=gone)) is None
    assert chosen(need, runner("r1", "codex", "claude_code", profiles=("deep",))) == "r1"
    assert chosen(need, runner("r1", "claude_code")) == "r1"


@pytest.mark.proves("DEL-032")
def test_a_forbidden_executor_is_never_chosen() -> None:
    need = Need(policy=Policy(forbid=["codex"]))
    assert chosen(need, runner("r1", "codex")) is None
    choice = choose(need, [runner("r1", "codex"), runner("r2", "codex", "claude_code")])
    assert choice == Choice(runner_id="r2", executor="claude_code", profile="fast")


@pytest.mark.proves("DEL-033")
@pytest.mark.parametrize(
    "asked, least, offered, given_profile",
    [
        ("fast", "audit", ("fast", "deep"), None),
        ("fast", "deep", ("fast", "deep", "audit"), "deep"),
        ("fast", "deep", ("fast", "audit"), "audit"),
        ("audit", "deep", ("deep", "audit"), "audit"),
        ("audit", "deep", ("deep",), None),
        ("fast", "fast", ("fast",), "fast"),
    ],
)
def test_a_runner_offers_at_least_the_minimal_profile(
    asked: Any, least: Any, offered: tuple[str, ...], given_profile: str | None
) -> None:
    need = Need(profile=asked, policy=Policy(min_profile=least))
    choice = choose(need, [runner("r1", "codex", profiles=offered)])
    assert (choice.profile if choice else None) == given_profile


@pytest.mark.proves("DEL-034")
def test_a_runner_that_does_not_make_the_artifacts_is_left_out() -> None:
    need = Need(artifacts=("patch", "report"))
    assert chosen(need, runner("r1", "codex", supports_artifacts=("report",))) is None
    assert chosen(need, runner("r1", "codex", supports_artifacts=())) is None
    assert chosen(need, runner("r1", "codex", supports_artifacts=("report", "patch"))) == "r1"
    assert chosen(need, runner("r1", "codex")) == "r1"


@pytest.mark.proves("DEL-035", "DEL-036")
def test_candidates_rank_by_preference_then_availability_then_queue_then_id() -> None:
    need = Need(policy=Policy(prefer=["claude_code", "codex"]))
    ranked = [
        runner("r9", "claude_code", max_parallel=4, running=1),
        runner("r8", "claude_code", max_parallel=4, running=3),
        runner("r1", "claude_code", max_parallel=2, running=2),
        runner("r0", "claude_code", max_parallel=3, running=3),
        runner("r10", "codex"),
        runner("r2", "codex"),
        runner("r4", "other"),
    ]
    while ranked:
        assert chosen(need, *reversed(ranked)) == ranked[0].runner_id
        ranked.pop(0)


@pytest.mark.proves("DEL-026")
def test_the_preferred_executor_is_chosen_while_it_is_there_and_the_other_else() -> None:
    need = Need(profile="deep", policy=Policy(prefer=["claude_code", "codex"], min_profile="fast"))
    codex, claude = runner("a", "codex"), runner("z", "claude_code")
    assert chosen(need, codex, claude) == "z"
    assert chosen(need, codex) == "a"


_profiles = st.sampled_from(["fast", "deep", "audit"])
_executors = st.lists(st.sampled_from(["codex", "claude_code", "acme.shell"]), unique=True)
_artifacts = st.lists(st.sampled_from(["report", "diff", "patch"]), unique=True).map(tuple)
_needs = st.builds(
    Need,
    executor=st.sampled_from(["auto", "codex", "claude_code", "acme.shell"]),
    profile=_profiles,
    artifacts=_artifacts,
    declined=st.sampled_from([(), ("r0#0",), ("r1#0", "r2#0")]),
    policy=st.none()
    | st.builds(Policy, prefer=_executors, forbid=_executors, min_profile=st.none() | _profiles),
)
_offers = st.builds(
    Offer,
    executors=_executors.map(tuple),
    profiles=st.none() | st.lists(_profiles, unique=True).map(tuple),
    supports_artifacts=st.none() | _artifacts,
    max_parallel=st.none() | st.integers(1, 3),
)
_crowds = st.lists(st.tuples(_offers, st.integers(0, 3)), min_size=1, max_size=4).map(
    lambda crowd: [
        RunnerCandidate(runner_id=f"r{index}", offer=offer, running=running)
        for index, (offer, running) in enumerate(crowd)
    ]
)


@pytest.mark.proves("DEL-140")
@given(_needs, _crowds)
def test_the_choice_does_not_depend_on_the_order_of_the_runners(
    need: Need, crowd: list[RunnerCandidate]
) -> None:
    choices = {choose(need, order) for order in itertools.permutations(crowd)}
    assert len(choices) == 1


@pytest.mark.proves("DEL-140")
@given(_needs, _crowds)
def test_the_runner_that_is_chosen_may_claim_and_one_that_cannot_run_it_may_not(
    need: Need, crowd: list[RunnerCandidate]
) -> None:
    choice = choose(need, crowd)
    for one in crowd:
        able = choose(need, [one]) is not None
        refused = refusal(need, one, crowd)
        if choice and choice.runner_id == one.runner_id and one.available:
            assert refused is None
        if one.offer.executors:
            assert able or refused
        else:
            assert (refused is None) == (need.is_open and one.as_it_is not in need.declined)


@given(_needs)
def test_a_need_survives_being_written_as_a_route(need: Need) -> None:
    assert Need.from_route(need.route()) == need


def advertise(lh: Lh, runner_id: str, *executors: str, **more: Any) -> None:
    lh(
        "jobs.runner.heartbeat",
        runner_id=runner_id,
        status=more.pop("status", "idle"),
        executors=list(executors),
        lease_ttl_ms=300_000,
        **more,
    )


def test_a_runner_that_advertises_nothing_gets_only_auto_jobs_without_policy(lh: Lh) -> None:
    pinned = new_job(lh, executor="codex")
    policed = new_job(lh, policy={"prefer": ["codex"]})
    plain = new_job(lh, expected_artifacts=["report"])
    for job in (pinned, policed):
        error = lh.refused("jobs.claim", job=job, runner_id="r1")
        assert error["code"] == "ROUTING_REFUSED"
    assert lh("jobs.claim", runner_id="r1")["job"]["id"] == plain
    assert lh("jobs.claim", runner_id="r1")["job"] is None


@pytest.mark.proves("DEL-021", "DEL-031", "DEL-032", "DEL-033", "DEL-034")
def test_a_claim_passes_over_jobs_that_the_runner_cannot_run(lh: Lh) -> None:
    advertise(lh, "r1", "codex", profiles=["fast"], supports_artifacts=["report"])
    refused = {
        new_job(lh, priority="high", executor="claude_code"): "asks for claude_code",
        new_job(lh, priority="high", executor_profile="deep"): "with profile deep",
        new_job(lh, priority="high", expected_artifacts=["patch"]): "r1 does not produce patch",
        new_job(lh, priority="high", policy={"forbid": ["codex"]}): "never codex",
        new_job(lh, priority="high", policy={"min_profile": "audit"}): "at least audit",
    }
    fine = new_job(lh, priority="low", executor="codex", expected_artifacts=["report"])
    for job, why in refused.items():
        error = lh.refused("jobs.claim", job=job, runner_id="r1")
        assert error["code"] == "ROUTING_REFUSED", job
        assert why in error["message"]
    assert lh("jobs.claim", runner_id="r1")["job"]["id"] == fine
    assert lh("jobs.claim", runner_id="r1")["job"] is None


def test_a_job_for_a_plug_in_goes_to_a_runner_that_offers_it_and_to_no_other(lh: Lh) -> None:
    advertise(lh, "a-codex", "codex")
    pinned = new_job(lh, executor="acme.shell")
    liked = new_job(lh, policy={"prefer": ["acme.shell"], "forbid": ["claude_code"]})
    assert lh.refused("jobs.claim", job=pinned, runner_id="a-codex")["code"] == "ROUTING_REFUSED"
    advertise(lh, "z-acme", "codex", "acme.shell", max_parallel=2)
    assert lh("jobs.claim", runner_id="a-codex")["job"] is None
    made = lh("jobs.create", title="x", prompt="y", executor="acme.shell")
    assert made["routing"]["executor"] == "acme.shell"
    assert [lh("jobs.claim", runner_id="z-acme")["job"]["id"] for _ in (1, 2)] == [pinned, liked]


@pytest.mark.proves("DEL-026")
def test_the_auto_routed_example_goes_to_claude_code_first(lh: Lh, clock: Any) -> None:
    advertise(lh, "a-codex", "codex")
    advertise(lh, "z-claude", "claude_code")
    made = lh("jobs.create", **AUTO_EXAMPLE)
    job = made["job"]["id"]
    assert made["routing"] == {
        "runner_id": "z-claude",
        "executor": "claude_code",
        "profile": "deep",
    }
    assert lh.refused("jobs.claim", job=job, runner_id="a-codex")["code"] == "ROUTING_REFUSED"
    assert lh("jobs.claim", runner_id="a-codex")["job"] is None
    clock.advance(300_000)
    advertise(lh, "a-codex", "codex")
    assert lh("jobs.claim", runner_id="a-codex")["job"]["id"] == job


@pytest.mark.proves("DEL-035")
def test_a_busy_preferred_runner_leaves_the_job_to_the_other(lh: Lh) -> None:
    advertise(lh, "a-codex", "codex")
    advertise(lh, "z-claude", "claude_code", max_parallel=1)
    first, second = (lh("jobs.create", **AUTO_EXAMPLE)["job"]["id"] for _ in range(2))
    assert lh("jobs.claim", runner_id="z-claude")["job"]["id"] == first
    assert lh("jobs.claim", runner_id="a-codex")["job"]["id"] == second
