"""The runner's pure rules: proof, packs, prompts, options."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longhouse.executors.base import AgentAnswer, AnswerEvent, ClaimedJob
from longhouse.executors.options import OPTIONS, Options, load_options
from longhouse.kernel.errors import InvalidInput, UnknownId, Unreachable
from longhouse.runner.prompt import SliceContext, slice_prompt, thread_of
from longhouse.runner.skills import SkillPacks, choose_skill
from longhouse.runner.slice_proof import all_refs, bounded, stable_refs, unknown_refs
from tests.kit import place_of
from tests.runner.kit import Rig


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return load_options({}, place_of(tmp_path), environ={})


@pytest.mark.proves("DEL-127")
@pytest.mark.parametrize(
    "ref, stable",
    [
        ("notes@12", True),
        ("CARD-a1b2", True),
        ("TASK-001", True),
        ("JOB-008", True),
        ("JOB-008@45", True),
        ("PLAN-002", True),
        ("artifact:2cf24dba5fb0", True),
        ("task/x-trace@7", True),
        ("JOB-007", False),
        ("JOB-007@45", False),
        ("a:core", False),
        ("runner:r1", False),
        ("CARD-<id>", False),
        ("CARD-*", False),
        ("CARD-XXX", False),
        ("CARD-xxx", False),
        ("CARD-id", False),
        ("CARD-todo", False),
        ("CARD-NAME", False),
        ("notes@<seq>", False),
        ("notes@seq", False),
        ("TASK-N", False),
        ("CMD: make test", False),
        ("looks good", False),
        ("https://example.org", False),
        ("", False),
    ],
)
def test_a_stable_ref_names_one_record_other_than_the_job(ref: str, stable: bool) -> None:
    assert stable_refs([ref], "JOB-007") == ([ref] if stable else [])


def test_refs_are_gathered_from_answer_events_and_summary() -> None:
    answer = AgentAnswer(
        status="DONE",
        summary="See notes@12 and TASK-003.\n- CMD: make test\nmail me@example.com, not x@1.5",
        refs=["CARD-a1"],
        events=[AnswerEvent(kind="checkpoint", message="m", refs=["notes@9"])],
    )
    assert all_refs(answer) == ["CARD-a1", "notes@9", "notes@12", "TASK-003", "CMD: make test"]


def test_refs_are_bounded_as_the_server_takes_them() -> None:
    assert bounded(["x" * 257, " a ", "a", "", "b\0"]) == ["a"]
    assert len(bounded(f"notes@{n}" for n in range(100))) == 32


def test_a_refusal_names_the_refs_that_open_nothing() -> None:
    hints = [{"kind": "unknown_ref", "field": "refs", "ref": "a@1"}]
    assert unknown_refs(["a@1", "b@2"], UnknownId("any words", hints=hints)) == ["a@1"]
    assert unknown_refs(["a@1", "b@2"], UnknownId("refs: there is no a@1")) == ["a@1", "b@2"]


@pytest.mark.proves("DEL-079", "DEL-081", "DEL-082", "DEL-083", "DEL-084", "DEL-085")
@pytest.mark.parametrize(
    "kind, meta, wanted",
    [
        ("codex_cli", {}, ("strict", 1_200)),
        ("codex_cli", {"skill_profile": "teamlead"}, ("teamlead", 1_200)),
        ("research", {"skill_profile": "daily"}, ("daily", 1_200)),
        ("research", {"skill_profile": "strict"}, ("strict", 1_200)),
        ("codex_cli", {"skill_profile": "research"}, ("research", 1_200)),
        ("deep_Research", {}, ("research", 1_200)),
        ("research", {"skill_profile": "nonsense"}, ("research", 1_200)),
        ("codex_cli", {"skill_profile": 7}, ("strict", 1_200)),
        ("codex_cli", {"skill_max_chars": 0}, ("strict", 0)),
        ("codex_cli", {"skill_max_chars": 500}, ("strict", 500)),
        ("codex_cli", {"skill_max_chars": 10**9}, ("strict", 8_000)),
        ("codex_cli", {"skill_max_chars": "500"}, ("strict", 1_200)),
        ("codex_cli", {"skill_max_chars": None}, ("strict", 1_200)),
        ("codex_cli", {"skill_max_chars": True}, ("strict", 1_200)),
        ("codex_cli", {"skill_max_chars": float("nan")}, ("strict", 1_200)),
        ("codex_cli", {"skill_max_chars": -5}, ("strict", 0)),
    ],
)
def test_which_pack_and_how_much_of_it(
    options: Options, kind: str, meta: dict[str, Any], wanted: tuple[str, int]
) -> None:
    assert choose_skill(kind, meta, options) == wanted


@pytest.mark.proves("DEL-083", "DEL-085")
def test_a_job_that_asks_for_nothing_gets_the_pack_that_its_runner_was_told_to_give(
    options: Options,
) -> None:
    told = options._replace(skill_profile="daily", skill_max_chars=300)
    assert choose_skill("codex_cli", {}, told) == ("daily", 300)
    assert choose_skill("codex_cli", {"skill_max_chars": "all"}, told) == ("daily", 300)
    assert choose_skill("research", {"skill_max_chars": 400}, told) == ("research", 400)


@pytest.mark.proves("DEL-077", "DEL-079", "DEL-084")
def test_the_pack_is_in_the_prompt_unless_switched_off(rig: Rig) -> None:
    ref = rig.note()
    first = rig.run(f"done({ref!r})", meta={"skill_profile": "research"})
    again = rig.run(f"done({ref!r})", meta={"skill_profile": "research"})
    none = rig.run(f"done({ref!r})", meta={"skill_max_chars": 0})
    plain = rig.run(f"done({ref!r})")
    pack = rig.prompt(first).split("# How to behave here\n")[1].split("\n\n# Your claim")[0]
    assert pack.startswith("skill profile=research version=")
    assert pack in rig.prompt(again)
    assert "# How to behave here\nskill profile=strict version=" in rig.prompt(plain)
    assert "# How to behave here" not in rig.prompt(none)


@pytest.mark.proves("DEL-080")
def test_without_a_pack_the_job_runs_all_the_same(rig: Rig) -> None:
    ref = rig.note()

    def no_skill(cmd: str, _args: dict[str, Any]) -> None:
        if cmd == "system.skill":
            raise Unreachable("no such tool today")

    rig.wire.on_call = no_skill
    job = rig.run(f"done({ref!r})")
    assert rig.status(job) == "DONE"
    assert "# How to behave here" not in rig.prompt(job)


def test_an_odd_answer_is_no_pack(options: Options) -> None:
    class Odd:
        def once(self, cmd: str, /, **args: Any) -> Any:
            return {"text": 1}

    assert SkillPacks(Odd(), options).text("codex_cli", {}) == ""


JOB = ClaimedJob(
    id="JOB-007",
    workspace="acme",
    title="Look",
    prompt="Look at it.",
    kind="codex_cli",
    profile="fast",
    runner_id="r1",
    claim_revision=3,
    task="TASK-001",
    anchor="a:core",
)


@pytest.mark.proves("DEL-105", "DEL-137")
def test_a_prompt_gives_the_claim_the_rules_and_the_job() -> None:
    text = slice_prompt(JOB, SliceContext(number=1, slice_s=1_800, skill="[STRICT]"))
    assert "workspace=acme job=JOB-007 runner_id=r1 claim_revision=3" in text
    assert '"cmd": "jobs.report"' in text
    assert '"claim_revision": 3' in text
    assert "as notes, cards or evidence linked to the task or anchor" in text
    assert "finish it within 30 minutes" in text
    assert text.index("# How to answer") < text.index("[STRICT]") < text.index("# Your claim")
    assert text.endswith("Look at it.\n")
    assert "task: TASK-001" in text


def test_a_prompt_names_what_the_job_is_linked_to_and_nothing_that_it_lacks() -> None:
    job = JOB._replace(meta={"paths": ["src/a.py", "docs"]}, expected_artifacts=("diff", "report"))
    text = slice_prompt(job, SliceContext(number=1, slice_s=120))
    assert "finish it within 2 minutes" in text
    assert text.endswith(
        "# The job JOB-007: Look\ntask: TASK-001\nanchor: a:core\nkind: codex_cli\n"
        "reserved files: src/a.py, docs\nexpected artifacts: diff, report\n\nLook at it.\n"
    )
    bare = slice_prompt(JOB._replace(task=None), SliceContext(number=1, slice_s=119))
    assert "finish it within 119 seconds" in bare
    assert "\n# The job JOB-007: Look\nanchor: a:core\nkind: codex_cli\n\nLook at it.\n" in bare


def test_a_resumed_session_is_not_told_the_job_again() -> None:
    text = slice_prompt(JOB, SliceContext(number=2, slice_s=60, skill="[STRICT]", resumed=True))
    assert "Look at it." not in text
    assert "[STRICT]" not in text
    assert "claim_revision=3" in text
    assert "finish it within 60 seconds" in text


@pytest.mark.proves("DEL-110")
def test_the_thread_is_bounded_and_holds_what_people_and_agents_said() -> None:
    def event(seq: int, kind: str, message: str) -> dict[str, Any]:
        return {"seq": seq, "ref": f"JOB-007@{seq}", "kind": kind, "message": message}

    events = [event(n, "progress", "x" * 5_000) for n in range(100)]
    events += [
        event(200, "manager", "Use staging."),
        event(201, "heartbeat", "alive"),
        event(202, "progress", "runner: slice 2 starts"),
        event(203, "question", "Why?"),
    ]
    thread = thread_of(reversed(events))
    assert len(thread) == 12
    assert [e["kind"] for e in thread[-2:]] == ["manager", "question"]
    text = slice_prompt(JOB, SliceContext(number=2, slice_s=60, thread=thread))
    assert "- JOB-007@200 manager: Use staging." in text
    assert len(text) < 10_000


@pytest.mark.proves("DEL-069", "DEL-136")
def test_options_come_from_flags_then_environment_then_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[runner]\nslice_s = 60\nmax_parallel = 4\n")
    environ = {"LONGHOUSE_SLICE_S": "70", "LONGHOUSE_RUNNER_ID": "from-env"}
    found = load_options({"runner_id": "r9"}, place_of(tmp_path), environ=environ)
    assert (found.runner_id, found.slice_s, found.max_parallel) == ("r9", 70, 4)
    unsaid = load_options({}, place_of(tmp_path / "elsewhere"), environ={})
    assert unsaid.runner_id.startswith("runner-")
    assert unsaid.runner_id.endswith(f"-{os.getpid()}")
    assert 20 * 60 <= unsaid.slice_s <= 60 * 60
    assert found.lease_ms == 60_000
    assert {option.name for option in OPTIONS} == set(Options._fields)


@pytest.mark.parametrize(
    "name, value",
    [
        ("slice_s", "0"),
        ("slice_s", "-1"),
        ("slice_s", "soon"),
        ("max_parallel", 101),
        ("sandbox", "none"),
        ("runner_id", "two words"),
        ("skill_profile", "zen"),
    ],
)
def test_a_wrong_option_is_refused_with_its_name(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_options({name: value}, place_of(tmp_path), environ={})
    assert f"--{name.replace('_', '-')}" in refused.value.message
    assert refused.value.recovery


MakeRig = Callable[..., Rig]


@pytest.mark.proves("DEL-135", "DEL-088")
def test_a_heartbeat_renews_the_claim_and_leaves_no_event(rig: Rig) -> None:
    from longhouse.runner.heartbeat import ActiveJobs, Heartbeat
    from longhouse.runner.loop import offers_of

    job = rig.job("done()")
    jobs = ActiveJobs()
    jobs.add(rig.claim(job))
    before = rig.view(job)
    assert Heartbeat(rig.context, jobs, partial(offers_of, rig.context)).beat()
    after = rig.view(job)
    assert after["job"]["last_heartbeat_ms"] >= before["job"].get("last_heartbeat_ms", 0)
    assert after["job"]["claim_expires_at_ms"] > before["job"]["claim_expires_at_ms"]
    assert len(after["events"]) == len(before["events"])
    (report,) = [args for cmd, args in rig.wire.calls if cmd == "jobs.report"]
    assert (report["kind"], report["runner_id"]) == ("heartbeat", "r1")
    assert report["claim_revision"] == after["job"]["revision"] == 1
    assert rig("open", id="runner:r1")["lease"]["active_job_id"] == job


def test_the_kinds_that_only_the_server_writes_are_those_of_its_transitions_and_more() -> None:
    from longhouse.jobs.states import EVENT_OF
    from longhouse.kernel.delegation import RESERVED_KINDS

    assert set(EVENT_OF.values()) < RESERVED_KINDS
    assert {"created", "manager", "blocked", "waiting", "ready"} < RESERVED_KINDS


def test_a_command_goes_to_the_portal_that_the_registry_has_for_it(rig: Rig) -> None:
    rig.context.plane.ask("agents.list")  # its portal is `workspace`; HouseWire holds it to that
    assert rig.wire.calls[-1][0] == "agents.list"


@pytest.mark.parametrize(
    "piece", ["\n", "\n \t-", "CMD ", "CMD:", "a-", "CARD-X", "notes@", "notes@1", "x" * 7 + "@"]
)
def test_refs_are_found_in_time_proportional_to_the_text(piece: str) -> None:
    """As a ratio, so that it holds on any machine: ten times the text, not a hundred times."""

    def seconds(chars: int) -> float:
        answer = AgentAnswer(status="DONE", summary=piece * (chars // len(piece)) + "!")
        taken = []
        for _ in range(3):
            began = time.process_time()
            all_refs(answer)
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(30_000) < 40 * max(seconds(3_000), 0.001)
