"""One job from claim to end, with a scripted agent: the effect of each kind of slice."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.runner.heartbeat import ActiveJobs, Heartbeat
from longhouse.runner.loop import offers_of
from tests.runner.conftest import TimePasses
from tests.runner.kit import FAKE_CODEX, Rig, resumed
from tests.runner.processes import alive

MakeRig = Callable[..., Rig]


@pytest.mark.proves("DEL-089", "DEL-139")
def test_a_job_that_is_done_with_proof_is_completed_with_its_refs(rig: Rig) -> None:
    other = rig("jobs.create", title="Before", prompt="p")["job"]["id"]
    task = rig("tasks.plan.create", title="Mend it", kind="task")["id"]
    card = rig("think.card", card={"type": "evidence", "title": "It expired"})["card_id"]
    stable = [rig.note(), task, card, other]
    said = ", ".join(map(repr, stable))
    job = rig.run(f"done({said}, 'CARD-<id>', summary='fast again\\nCMD: make test')")

    view = rig.view(job)["job"]
    assert view["status"] == "DONE"
    assert view["summary"].startswith("fast again")
    assert view["refs"][:5] == [*stable, "CMD: make test"]
    assert all(rig("open", id=ref) for ref in view["refs"] if not ref.startswith("CMD:"))
    complete = next(args for cmd, args in rig.wire.calls if cmd == "jobs.complete")
    assert (complete["runner_id"], complete["status"]) == ("r1", "DONE")
    assert complete["claim_revision"] == 1


@pytest.mark.proves("DEL-126", "DEL-127", "DEL-128", "DEL-134")
@pytest.mark.parametrize(
    "refs",
    [
        "",
        "'CARD-<id>', 'notes@<seq>'",
        "'a:core', 'looks good'",
        "'CMD: make test', 'LINK: https://ci.example/7'",
        "'JOB-001', 'JOB-001@1'",
    ],
)
def test_done_without_proof_goes_on_and_asks_for_it(rig: Rig, refs: str) -> None:
    ref = rig.note()
    job = rig.run(f"done({refs})", f"done({ref!r})")

    assert rig.status(job) == "DONE"
    (gate,) = rig.messages(job, "proof_gate")
    assert "CARD-*, TASK-*, notes@<seq>, JOB-*" in gate
    assert "`CMD: <command>` or `LINK: <url>`" in gate
    assert "# Proof is missing" in rig.prompt(job, 2)
    assert "# Proof is missing" not in rig.prompt(job, 1)


@pytest.mark.proves("DEL-126")
def test_done_without_proof_for_ever_ends_as_failed_after_so_many_rounds(rig: Rig) -> None:
    job = rig.run("remember(); done(summary='trust me')")

    assert rig.status(job) == "FAILED"
    assert rig.trace(job) == ["1", "2", "3"]
    assert len(rig.events(job, "proof_gate")) == rig.options.max_proof_rounds == 2
    assert "Not accepted as done" in rig.view(job)["job"]["summary"]


def test_a_ref_that_opens_nothing_is_no_proof(rig: Rig) -> None:
    job = rig.run("done('notes@99999')")
    assert rig.status(job) == "FAILED"
    assert "there is no notes@99999" in rig.messages(job, "proof_gate")[0]


def test_a_ref_that_opens_nothing_beside_one_that_does_is_left_out(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run(f"done('notes@99999', {ref!r})")
    view = rig.view(job)["job"]
    assert view["status"] == "DONE"
    assert ref in view["refs"]
    assert "notes@99999" not in view["refs"]


def test_a_managers_proof_counts_when_the_agent_has_none(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("done()")
    work = rig.claim(job)

    def manager() -> None:
        rig("jobs.message", job=job, message="the proof is there", refs=[ref])

    rig.before_slice(2, manager)
    work()
    view = rig.view(job)["job"]
    assert (view["status"], view["refs"][0]) == ("DONE", ref)


@pytest.mark.proves("DEL-136", "DEL-110")
def test_a_job_goes_on_in_slices_and_each_knows_the_thread(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("go_on(summary='half of it', refs=['TASK-404'])", f"done({ref!r})")
    rig("jobs.message", job=job, message="Use the staging database.")
    rig.claim(job)()

    assert rig.status(job) == "DONE"
    first, second = rig.prompt(job, 1), rig.prompt(job, 2)
    assert "manager: Use the staging database." in first
    assert "manager: Use the staging database." in second
    assert "half of it" in second
    assert "runner: slice" not in second
    assert len(second.split("# The thread of this job")[1].splitlines()) < 15


def test_an_agent_on_a_strict_task_is_told_what_its_gate_wants(rig: Rig) -> None:
    ref = rig.note()
    strict = rig("tasks.macro.delegate", task_title="Search: mend it", job=False)["task_id"]
    plain = rig("tasks.macro.start", task_title="Look around")["task_id"]
    told, spared = (rig.prompt(rig.run(f"done({ref!r})", task=one)) for one in (strict, plain))
    assert "The task is strict: a step can be closed only when its cards hold a claim" in told
    assert f"think.card (target={strict} step=s:0" in told
    assert "Step s:0 is missing: NO_CLAIM (no claim is written down)." in told
    assert 'override={"reason": "…", "risk": "…"}' in told
    assert "The task is strict" not in spared


def test_the_executors_session_is_resumed_and_its_totals_are_subtracted(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run("go_on(used=100)", f"done({ref!r}, used=350)")

    thread = rig.view(job)["runtime"]["session"]["id"]
    assert resumed(rig.argv(job, 2)) == thread
    assert resumed(rig.argv(job, 1)) is None
    usage = rig.view(job)["job"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (350, 70)


@pytest.mark.proves("DEL-088", "DEL-106")
def test_events_of_the_answer_are_reported(rig: Rig) -> None:
    ref = rig.note()
    events = [
        {"kind": "checkpoint", "message": "the index is in", "percent": 80, "refs": [ref]},
        {"kind": "manager", "message": "I am not the manager", "percent": None, "refs": []},
        {"kind": "progress", "message": "y" * 9_000, "percent": None, "refs": []},
        *({"kind": "progress", "message": f"n {n}", "percent": 500, "refs": []} for n in range(40)),
    ]
    job = rig.run(f"done({ref!r}, events={events!r})")

    assert rig.messages(job, "checkpoint") == ["the index is in"]
    assert rig.events(job, "checkpoint")[0]["refs"] == [ref]
    assert rig.events(job, "manager") == []
    own = [m for m in rig.messages(job, "progress") if not m.startswith("runner:")]
    assert own[0] == "I am not the manager"
    assert own[1].startswith("yyy")
    assert len(own[1]) <= 4_000
    assert own[2:] == [f"n {n}" for n in range(17)]


def test_a_question_waits_for_its_answer(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("ask('Which database?')", f"done({ref!r})")
    work = rig.claim(job)

    def answer_it(cmd: str, args: dict[str, str]) -> None:
        if cmd == "jobs.open" and rig.events(job, "question") and not rig.events(job, "manager"):
            rig("jobs.message", job=job, message="Staging.")

    rig.wire.on_call = answer_it
    work()
    assert rig.status(job) == "DONE"
    assert "manager: Staging." in rig.prompt(job, 2)


def test_a_question_that_nobody_answers_does_not_hold_the_job_for_ever(make_rig: MakeRig) -> None:
    rig = make_rig(answer_wait_s=0)
    ref = rig.note()
    job = rig.run("ask('Which database?')", f"done({ref!r})")
    assert rig.status(job) == "DONE"
    assert "not answered in time" in rig.prompt(job, 2)


@pytest.mark.proves("DEL-089")
def test_an_agent_that_gives_up_fails_the_job_in_its_own_words(rig: Rig) -> None:
    ref = rig.note()
    summary = "there is no such table\n" + "x" * 9_000
    job = rig.run(f"answer('FAILED', summary={summary!r}, refs=[{ref!r}])")
    view = rig.view(job)["job"]
    assert (view["status"], view["refs"][0]) == ("FAILED", ref)
    assert view["summary"].startswith("there is no such table")
    assert len(view["summary"]) <= 8_000
    (complete,) = [args for cmd, args in rig.wire.calls if cmd == "jobs.complete"]
    assert (complete["runner_id"], complete["claim_revision"]) == ("r1", 1)


# ---- faults


@pytest.mark.proves("DEL-138")
@pytest.mark.parametrize(
    "script, said",
    [
        ("print('garbage ' * 50)", "there is no answer"),
        ("say('I am done, trust me')", "the answer is not JSON"),
        ('say(\'{"status": "MAYBE", "summary": ""}\')', "Invalid enum value 'MAYBE'"),
        ('say(\'{"status": "DONE"}\')', "missing required field `summary`"),
        ("fail('model is overloaded')", "code 1: model is overloaded"),
        ("emit(type='turn.failed', error={'message': 'quota'})", "code 0: quota"),
        (
            "done('notes@1'); sys.stderr.write('lost the network'); sys.exit(3)",
            "code 3: lost the network",
        ),
        ("os.kill(os.getpid(), 9)", "killed by signal 9"),
    ],
)
def test_a_bad_slice_is_an_error_and_too_many_fail_the_job(
    make_rig: MakeRig, script: str, said: str
) -> None:
    rig = make_rig(max_failures=2)
    rig.note()
    job = rig.run(script)

    assert rig.status(job) == "FAILED"
    errors = rig.messages(job, "error")
    assert len(errors) == 2
    assert errors[0].startswith("slice 1 failed (1 of 2): ")
    assert said in errors[0]
    assert said in rig.view(job)["job"]["summary"]


def test_a_good_slice_forgives_the_bad_ones_before_it(make_rig: MakeRig) -> None:
    rig = make_rig(max_failures=2)
    ref = rig.note()
    job = rig.run("fail('a')", "go_on()", "fail('b')", "go_on()", f"done({ref!r})")
    assert rig.status(job) == "DONE"
    assert "the last slice failed: codex exited with code 1: a" in rig.prompt(job, 2)


@pytest.mark.proves("DEL-136")
def test_a_child_that_hangs_is_ended_with_its_whole_tree(
    make_rig: MakeRig, time_passes: TimePasses
) -> None:
    rig = make_rig(slice_s=300, max_failures=1, kill_grace_s=0)
    job = rig.job("signal.signal(15, signal.SIG_IGN); detach(300); say('hm'); time.sleep(300)")
    time_passes(300, lambda: bool(rig.trace(job)))
    rig.claim(job)()

    assert rig.status(job) == "FAILED"
    assert "it ran past its 300 s" in rig.messages(job, "error")[0]
    assert "2 processes had to be killed" in rig.messages(job, "progress")[-1]
    assert not alive(int(rig.trace(job)[0]))


def test_what_a_child_leaves_behind_in_its_own_session_ends_with_the_slice(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run(f"detach(300); done({ref!r})")
    assert rig.status(job) == "DONE"
    assert not alive(int(rig.trace(job)[0]))


def test_a_transcript_of_twenty_megabytes_is_stored_whole(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run(f"[print('%d' % n + 'x' * 1000) for n in range(20000)]; done({ref!r})")
    assert rig.status(job) == "DONE"
    (artifact,) = rig("docs.artifact.list", owner=job)["artifacts"]
    assert artifact["size"] > 20_000_000
    for n in (0, 9_999, 19_999):  # after the two lines that the agent begins with
        shown = rig("docs.artifact.show", id=artifact["ref"], line=n + 3, lines=1)
        assert shown["parts"][0]["text"].startswith(f"{n}xxx")
    assert "left out" not in str(rig.events(job))


def test_a_child_that_prints_without_end_is_kept_within_bounds_and_that_is_told(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(max_output_mb=1)
    ref = rig.note()
    job = rig.run(f"[print('x' * 1000) for _ in range(3000)]; done({ref!r})")
    assert rig.status(job) == "DONE"
    (artifact,) = rig("docs.artifact.list", owner=job)["artifacts"]
    assert artifact["size"] < 1_000_000
    (said,) = [m for m in rig.messages(job, "progress") if "slice 1 ended" in m]
    assert "bytes of the transcript are left out: the output is over 1048576 bytes" in said


def test_a_job_that_takes_too_long_in_all_fails(make_rig: MakeRig) -> None:
    rig = make_rig(max_runtime_s=1)
    job = rig.run("time.sleep(0.6); go_on()")
    assert rig.status(job) == "FAILED"
    assert "the limit is 1 s" in rig.view(job)["job"]["summary"]


def test_a_job_that_goes_on_for_ever_fails(make_rig: MakeRig) -> None:
    rig = make_rig(max_slices=3)
    job = rig.run("go_on()")
    assert rig.status(job) == "FAILED"
    assert "not done after 3 slices" in rig.view(job)["job"]["summary"]


@pytest.mark.proves("DEL-020")
@pytest.mark.parametrize("model", ["opus", "us.anthropic.claude-opus-4-1:0", "sonnet[1m]", None])
def test_the_model_that_a_job_asks_for_reaches_the_cli(rig: Rig, model: str | None) -> None:
    fake = rig.base / "claude"
    fake.write_text(FAKE_CLAUDE.format(python=sys.executable, argv=str(rig.base / "argv")))
    fake.chmod(0o755)
    rig.context.executors["claude_code"] = ClaudeCode(str(fake))
    Heartbeat(rig.context, ActiveJobs(), lambda: offers_of(rig.context)).introduce()
    meta = {"executor_model": model} if model else {}
    job = rig.run("", executor="claude_code", meta=meta)
    assert rig.status(job) == "FAILED"
    assert rig.view(job)["job"]["summary"] == "asked"
    argv = json.loads((rig.base / "argv").read_text())
    assert [word for word in argv if "--model" in word] == ([f"--model={model}"] if model else [])


FAKE_CLAUDE = """#!{python}
import json, sys
json.dump(sys.argv, open({argv!r}, "w"))
answer = dict(status="FAILED", summary="asked", refs=[], events=[], artifacts=[])
print(json.dumps(dict(type="result", is_error=False, structured_output=answer)))
"""


@pytest.mark.parametrize("profile", ["fast", "deep", "audit"])
@pytest.mark.parametrize(
    "policy",
    [{}, {"prefer": ["codex"]}, {"forbid": ["codex"]}, {"min_profile": "deep"}],
    ids=str,
)
def test_the_executor_that_runs_a_job_is_the_one_that_was_announced(
    rig: Rig, profile: str, policy: dict[str, Any]
) -> None:
    executors = rig.context.executors
    executors["claude_code"] = ClaudeCode(FAKE_CODEX)
    executors["acme.shell"] = Codex(FAKE_CODEX)
    for name in executors:
        executors[name].name = name
    Heartbeat(rig.context, ActiveJobs(), lambda: offers_of(rig.context)).introduce()
    made = rig("jobs.create", title="Look", prompt="p", executor_profile=profile, policy=policy)
    worker = rig.claim(made["job"]["id"])
    assert worker.executor == made["routing"]["executor"]
    assert worker._way is not None
    assert worker._way[1] == made["routing"]["profile"]


def test_a_plug_in_gets_a_job_of_auto_only_where_neither_codex_nor_claude_code_is(rig: Rig) -> None:
    executors = rig.context.executors
    executors["claude_code"] = executors.pop("codex")
    offers_all = type("Shell", (), {"profiles": ("fast",)})  # fails when it is asked to plan
    executors["acme.shell"] = offers_all()
    ref = rig.note()
    assert rig.status(rig.run(f"done({ref!r})")) == "DONE"


def test_a_job_whose_program_is_missing_is_given_back_with_the_reason(rig: Rig) -> None:
    rig.context.executors["codex"].program = "/nowhere/codex"  # type: ignore[attr-defined]
    job = rig.run("done()")
    assert rig.status(job) == "QUEUED"
    (released,) = rig.events(job, "released")
    assert (
        "r1 cannot run it: it asks for auto; available here: none of codex" in released["message"]
    )
    assert released["meta"]["declined"] is True


def test_a_job_that_cannot_be_started_here_is_not_taken_again_and_again(rig: Rig) -> None:
    rig.context.root.rmdir()
    job = rig.run("done()")
    assert "the agent cannot be started in" in rig.messages(job, "released")[0]
    assert rig("jobs.wait", runner_id="r1", timeout_ms=0).get("claimable") is None


def test_an_executor_that_cannot_read_its_own_output_fails_the_slice(make_rig: MakeRig) -> None:
    rig = make_rig(max_failures=1)

    def broken(_output: object) -> None:
        raise KeyError("thread")

    rig.context.executors["codex"].parse = broken  # type: ignore[assignment,method-assign]
    job = rig.run("done()")
    assert rig.status(job) == "FAILED"
    assert "could not be read: KeyError('thread')" in rig.messages(job, "error")[0]


def test_an_error_stays_in_sight_until_the_job_is_claimed_anew_or_ends(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("sys.exit(3)", "go_on()", f"done({ref!r})")
    seen: list[bool] = []
    for number in (1, 2, 3):
        rig.before_slice(
            number, lambda: seen.append(rig("jobs.open", job=job)["attention"]["has_error"])
        )
    rig.claim(job)()
    assert seen == [False, True, True]
    assert rig("jobs.open", job=job)["attention"]["has_error"] is False


def test_a_prompt_of_any_accepted_length_reaches_the_agent_whole(rig: Rig) -> None:
    ref = rig.note()
    spec = "\n".join(f'rule {n}: ümläut \\ "quoted"' for n in range(1_500))
    made = rig("jobs.create", title="Look", prompt=f"{spec}\n[[*: done({ref!r})]]")
    job = made["job"]["id"]
    rig.claim(job)()
    assert rig.status(job) == "DONE"
    assert spec in rig.prompt(job)


def test_a_server_that_is_away_for_a_while_gets_the_result_when_it_is_back(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job(f"done({ref!r})")
    work = rig.claim(job)
    tries = 0

    def away_at_the_end(cmd: str, _args: dict[str, str]) -> None:
        nonlocal tries
        if cmd == "jobs.complete":
            tries += 1
            rig.wire.away = tries < 4
            if rig.wire.away:
                threading.Timer(0.05, back).start()

    def back() -> None:
        rig.wire.away = False

    rig.wire.on_call = away_at_the_end
    work()
    assert rig.status(job) == "DONE"
    assert tries == 4
    keys = {args["idempotency_key"] for cmd, args in rig.wire.calls if cmd == "jobs.complete"}
    assert len(keys) == 1


def test_a_write_that_is_refused_is_never_swallowed(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run(f"done({ref!r}, refs_too_long=1)")
    assert rig.status(job) == "FAILED"
    assert "unexpected keyword" in rig.messages(job, "error")[0]


def test_refs_that_the_server_would_refuse_do_not_lose_the_report(rig: Rig) -> None:
    ref = rig.note()
    long = "CARD-" + "x" * 400
    job = rig.run(f"go_on(refs=[{long!r}])", f"answer('FAILED', 'no', refs=[{long!r}, 'JOB-999'])")
    assert ref
    assert rig.status(job) == "FAILED"
    assert "JOB-999" not in rig.view(job)["job"]["refs"]
