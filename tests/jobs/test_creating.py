"""jobs.create: the spec is stored whole, as requested."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.house import House
from tests.jobs.kit import claimed, ended, kinds, new_job, note, seq_now
from tests.kit import Lh, ManualClock

CLAUDE_EXAMPLE: dict[str, Any] = {
    "title": "Investigate <topic>",
    "prompt": "<what to do>",
    "kind": "research",
    "priority": "normal",
    "task": "TASK-123",
    "anchor": "a:core",
    "executor": "claude_code",
    "executor_profile": "fast",
    "expected_artifacts": ["report"],
    "meta": {"executor_model": "sonnet", "skill_profile": "research"},
}
AUTO_EXAMPLE: dict[str, Any] = {
    "title": "Implement <feature>",
    "prompt": "<what to do>",
    "kind": "codex_cli",
    "priority": "high",
    "task": "TASK-123",
    "anchor": "a:core",
    "executor": "auto",
    "executor_profile": "deep",
    "expected_artifacts": ["patch"],
    "policy": {"prefer": ["claude_code", "codex"], "forbid": [], "min_profile": "fast"},
    "meta": {"executor_model": "opus", "skill_profile": "strict"},
}


def portal(lh: Lh, **envelope: Any) -> dict[str, Any]:
    cmd, args = lh.house.dispatcher.call_portal("jobs", envelope)
    return lh(cmd, **args)


@pytest.mark.proves("DEL-023", "DEL-014", "DEL-024")
def test_the_claude_code_example_is_accepted_as_written(lh: Lh) -> None:
    job = portal(lh, workspace="acme", op="create", args=CLAUDE_EXAMPLE)["job"]
    view = lh("jobs.open", job=job["id"], include_meta=True, include_prompt=True)
    assert (view["job"], view["prompt"]) == (job, "<what to do>")
    assert (job["task_id"], job["anchor_id"]) == ("TASK-123", "a:core")
    assert (job["title"], job["kind"]) == ("Investigate <topic>", "research")
    assert job["priority"] == "MEDIUM"
    assert view["meta"]["executor"] == view["job"]["meta"]["executor"] == "claude_code"
    assert view["meta"]["executor_profile"] == "fast"
    assert view["meta"]["expected_artifacts"] == ["report"]
    assert view["meta"].items() >= CLAUDE_EXAMPLE["meta"].items()
    for runner, executor in (("r1", "codex"), ("r2", "claude_code")):
        lh("jobs.runner.heartbeat", runner_id=runner, status="idle", executors=[executor])
    error = lh.refused("jobs.claim", job=job["id"], runner_id="r1")
    assert error["code"] == "ROUTING_REFUSED"
    assert lh("jobs.claim", job=job["id"], runner_id="r2")["job"]["status"] == "RUNNING"


@pytest.mark.proves("DEL-025", "DEL-015", "DEL-021")
def test_the_auto_routed_example_is_accepted_as_written(lh: Lh) -> None:
    job = portal(lh, workspace="acme", op="create", args=AUTO_EXAMPLE)["job"]
    view = lh("jobs.open", job=job["id"], include_prompt=True, include_meta=True)
    assert view["prompt"] == "<what to do>"
    assert (view["job"]["title"], view["job"]["kind"]) == ("Implement <feature>", "codex_cli")
    assert (view["job"]["priority"], view["job"]["task_id"]) == ("HIGH", "TASK-123")
    assert view["meta"]["policy"] == AUTO_EXAMPLE["policy"]
    assert view["meta"]["expected_artifacts"] == ["patch"]
    assert (view["meta"]["executor"], view["meta"]["executor_profile"]) == ("auto", "deep")
    assert view["meta"].items() >= AUTO_EXAMPLE["meta"].items()


@pytest.mark.proves("DEL-014")
@pytest.mark.parametrize("link", [{"task": "TASK-123"}, {"anchor": "a:core"}])
def test_a_job_may_serve_a_task_or_an_anchor_alone(lh: Lh, link: dict[str, str]) -> None:
    found = lh("jobs.open", job=new_job(lh, **link))["job"]
    assert {
        name: found[f"{name}_id"] for name in ("task", "anchor") if f"{name}_id" in found
    } == link


@pytest.mark.proves("DEL-021")
def test_a_policy_is_kept_with_what_it_prefers_in_order_forbids_and_asks_for_at_least(
    lh: Lh,
) -> None:
    policy = {"prefer": ["codex", "acme.shell"], "forbid": ["claude_code"], "min_profile": "audit"}
    job = new_job(lh, executor="auto", policy=policy)
    assert lh("jobs.open", job=job, include_meta=True)["meta"]["policy"] == policy


@pytest.mark.proves("DEL-019", "DEL-022")
@pytest.mark.parametrize(
    "wrong",
    [
        {"executor": "gemini"},
        {"executor_profile": "slow"},
        {"expected_artifacts": ["novel"]},
        {"policy": {"prefer": ["gemini"]}},
        {"policy": {"min_profile": "slow"}},
        {"policy": {"prefers": []}},
    ],
)
def test_an_unknown_executor_profile_or_artifact_is_refused(lh: Lh, wrong: dict[str, Any]) -> None:
    assert lh.refused("jobs.create", title="x", prompt="y", **wrong)["code"] == "INVALID_INPUT"
    assert lh("jobs.list")["count"] == 0


@pytest.mark.proves("DEL-019", "DEL-022")
@pytest.mark.parametrize("profile", ["fast", "deep", "audit"])
@pytest.mark.parametrize("executor", ["codex", "claude_code", "auto"])
def test_every_known_executor_profile_and_artifact_is_accepted(
    lh: Lh, executor: str, profile: str
) -> None:
    artifacts = ["report", "diff", "patch", "bench", "docs_update"]
    job = new_job(lh, executor=executor, executor_profile=profile, expected_artifacts=artifacts)
    meta = lh("jobs.open", job=job, include_meta=True)["meta"]
    assert (meta["executor"], meta["executor_profile"]) == (executor, profile)
    assert meta["expected_artifacts"] == artifacts


@pytest.mark.parametrize(
    "executor",
    [
        "acme",
        "acme.",
        ".shell",
        "Acme.shell",
        "a.b.c.d.e",
        "acme.shell ",
        "acme/shell",
        "auto.",
        "a" * 33 + ".b",
    ],
)
def test_a_name_that_could_be_a_slip_is_no_plug_in(lh: Lh, executor: str) -> None:
    for wrong in ({"executor": executor}, {"policy": {"prefer": [executor]}}):
        error = lh.refused("jobs.create", title="x", prompt="y", **wrong)
        assert "or a plug-in like acme.shell" in error["message"]
    assert lh("jobs.list")["count"] == 0


def test_a_plug_in_that_no_runner_offers_is_told_and_not_refused(lh: Lh) -> None:
    def warned(executor: str) -> list[str]:
        envelope = lh.envelope("jobs.create", title="x", prompt="y", executor=executor)
        assert envelope["success"]
        return [w["message"] for w in envelope["warnings"] if w["code"] == "EXECUTOR_UNKNOWN"]

    assert warned("codex") == warned("claude_code") == warned("auto") == []
    (said,) = warned("acme.shell")
    assert said == "executor: no online runner offers acme.shell; none is online"
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle", executors=["codex", "acme.shell"])
    assert warned("acme.shell") == warned("codex") == []
    (said,) = warned("claude_code")
    assert said.endswith("offers claude_code; they offer acme.shell, codex")
    (said,) = warned("acme.shel")
    assert "acme.shel; they offer acme.shell" in said


def test_a_link_to_what_does_not_exist_is_pointed_out(lh: Lh) -> None:
    task = lh("tasks.plan.create", title="Port it", kind="task")["id"]

    def warned(link: str) -> list[str]:
        envelope = lh.envelope("jobs.create", title="x", prompt="y", task=link)
        assert envelope["success"]
        return [w["message"] for w in envelope["warnings"] if w["code"] == "LINK_UNKNOWN"]

    assert warned(task) == []
    (said,) = warned("TASK-404")
    assert "TASK-404" in said


@pytest.mark.proves("DEL-006", "DEL-013")
def test_a_job_survives_the_end_of_the_process(settings: Settings, clock: ManualClock) -> None:
    def record(lh: Lh) -> dict[str, Any]:
        return lh("jobs.open", job="JOB-001", include_prompt=True, include_meta=True)

    with House(settings, clock=clock) as house:
        lh = Lh(house, clock)
        assert new_job(lh, prompt="keep me", task="TASK-001", meta={"mine": 1}) == "JOB-001"
        lh("jobs.report", **claimed(lh, "JOB-001"), message="which one?", kind="question")
        before = record(lh)
        assert (before["prompt"], before["meta"]["mine"]) == ("keep me", 1)
    with House(settings, clock=clock) as house:
        again = Lh(house, clock)
        assert record(again) == before
        assert new_job(again) == "JOB-002"


@pytest.mark.proves("DEL-061")
def test_creating_a_job_leaves_a_created_event_that_opens(lh: Lh) -> None:
    made = lh("jobs.create", title="Look", prompt="y")
    assert kinds(lh, "JOB-001") == ["created"]
    assert lh("open", id=made["event"]["ref"])["event"]["kind"] == "created"
    assert lh("jobs.radar")["jobs"][0]["ref"] == made["event"]["ref"]


@pytest.mark.proves("DEL-108")
def test_the_skill_settings_are_stored_as_they_came(lh: Lh) -> None:
    for given in (
        {"skill_profile": "daily"},
        {"skill_profile": "strict", "skill_max_chars": 4_000},
        {"skill_profile": "research", "skill_max_chars": 80},
        {"skill_profile": "teamlead", "skill_max_chars": 0},
    ):
        made = lh.envelope("jobs.create", title="x", prompt="y", meta=given)
        assert made["warnings"] == []
        view = lh("jobs.open", job=made["result"]["job"]["id"], include_meta=True)
        assert view["meta"].items() >= given.items()


def test_an_unknown_skill_profile_is_kept_and_pointed_out(lh: Lh) -> None:
    answer = lh.envelope("jobs.create", title="x", prompt="y", meta={"skill_profile": "wizard"})
    assert [w["code"] for w in answer["warnings"]] == ["SKILL_PROFILE_UNKNOWN"]
    assert answer["result"]["job"]["meta"]["skill_profile"] == "wizard"


@pytest.mark.parametrize("text", ["x" * 50_000, "é\n" * 25_000])
def test_a_prompt_of_fifty_thousand_characters_comes_back_whole(lh: Lh, text: str) -> None:
    job = new_job(lh, prompt=text)
    view = lh("jobs.open", job=job, include_prompt=True)
    assert view["prompt"] == text
    assert view["prompt_chars"] == 50_000
    assert "prompt" not in lh("jobs.open", job=job)


@pytest.mark.parametrize("text", ["x" * 50_001, "\x01" * 20_000])
def test_a_prompt_that_could_not_come_back_whole_is_refused(lh: Lh, text: str) -> None:
    error = lh.refused("jobs.create", title="x", prompt=text)
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].startswith("prompt:")
    assert seq_now(lh) == 0


def test_a_prompt_that_the_reader_has_no_room_for_is_left_out_and_said_so(lh: Lh) -> None:
    job = new_job(lh, prompt="x" * 5_000)
    view = lh("jobs.open", job=job, include_prompt=True, max_chars=2_000)
    assert "prompt" not in view
    assert view["truncated"]
    assert view["prompt_chars"] == 5_000


def test_what_runs_a_job_never_changes_its_spec(lh: Lh) -> None:
    job = new_job(lh, **{**AUTO_EXAMPLE, "executor": "auto", "policy": None})
    before = lh("jobs.open", job=job, include_prompt=True, include_meta=True)
    fence = claimed(lh, job)
    for kind in ("progress", "heartbeat"):
        lh("jobs.report", **fence, message="m", kind=kind, meta={"executor": "none", "pid": 7})
    lh("jobs.release", **fence, reason="later", decline=True)
    fence = claimed(lh, job, "r2")
    lh("jobs.complete", **fence, status="FAILED", meta={"executor": "x"})
    lh("jobs.requeue", job=job)
    after = lh("jobs.open", job=job, include_prompt=True, include_meta=True)
    assert (after["prompt"], after["meta"]) == (before["prompt"], before["meta"])
    assert after["runtime"] == {"executor": "x", "pid": 7}


@pytest.mark.parametrize(
    "wrong",
    [
        {"executor": "codex", "policy": {"forbid": ["codex"]}},
        {"policy": {"prefer": ["codex"], "forbid": ["codex"]}},
        {"executor": "codex", "meta": {"executor": "claude_code"}},
        {"executor_profile": "deep", "meta": {"executor_profile": "fast"}},
        {"meta": {"blob": "x" * 20_000}},
        {"title": ""},
        {"title": "x" * 201},
        {"anchor": "A:Core"},
        {"task": "TASK-x"},
        {"max_attempts": 0},
        {"colour": "red"},
    ],
)
def test_a_contradictory_or_oversized_spec_is_refused_whole(lh: Lh, wrong: dict[str, Any]) -> None:
    error = lh.refused("jobs.create", **{"title": "x", "prompt": "y", **wrong})
    assert error["code"] == "INVALID_INPUT"
    assert error["recovery"]
    assert seq_now(lh) == 0


def test_the_same_create_with_one_key_makes_one_job(lh: Lh) -> None:
    call = {"title": "x", "prompt": "y", "idempotency_key": "k1"}
    first, second = lh("jobs.create", **call), lh.envelope("jobs.create", **call)
    assert second["result"]["job"]["id"] == first["job"]["id"]
    assert second["context"]["replayed"]
    assert lh("jobs.list")["count"] == 1


def test_a_job_not_before_its_time_waits_for_it(lh: Lh, clock: ManualClock) -> None:
    job = new_job(lh, not_before_ms=clock.now_ms() + 1_000)
    assert lh("jobs.claim", runner_id="r1")["job"] is None
    assert lh.refused("jobs.claim", runner_id="r1", job=job)["code"] == "CONFLICT"
    clock.advance(1_000)
    assert lh("jobs.claim", runner_id="r1")["job"]["id"] == job


def test_the_ends_of_other_jobs_are_not_needed_to_create_one(lh: Lh) -> None:
    ended(lh)
    assert note(lh)
    assert new_job(lh) == "JOB-002"


def test_a_new_job_is_answered_as_it_was_stored(lh: Lh) -> None:
    before = new_job(lh)
    for asked in (
        {},
        {"priority": "high", "task": "TASK-123", "anchor": "a:core", "not_before_ms": 2**42},
        {"after": [before], "require_proof": True, "max_attempts": 3, "retry_backoff_ms": 5},
    ):
        job = lh("jobs.create", title="Look", prompt="Look at it.", **asked)["job"]
        assert lh("jobs.open", job=job["id"], include_meta=True)["job"] == job
