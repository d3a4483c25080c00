"""A job wants to be run in another way than the runner's person allows.

What a job or an agent writes reaches the command line of an agent's program: a model, a session. It
must not become a flag, a session of somebody else, or a way out of the runner's isolation.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.executors.base import SliceResult
from longhouse.executors.sessions import ExecutorSession, SessionFile, is_session_id
from tests.runner.kit import Rig, resumed

MakeRig = Callable[..., Rig]

FLAGS = [
    "--dangerously-bypass-approvals-and-sandbox",
    "-c sandbox_mode=danger-full-access",
    "-",
    "--last",
    "opus --permission-mode bypassPermissions",
    "opus\n--permission-mode=bypassPermissions",
    "../../etc/passwd",
    "",
    "x" * 500,
]


@pytest.mark.parametrize("model", FLAGS, ids=repr)
def test_a_model_that_could_be_a_flag_is_refused_where_the_job_is_made(
    rig: Rig, model: str
) -> None:
    answer = rig.house.call(
        "jobs.create", {"title": "Look", "prompt": "Look.", "meta": {"executor_model": model}}
    )
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert "meta.executor_model" in answer.envelope["error"]["message"]


@pytest.mark.parametrize("model", [FLAGS[0], ["opus"]], ids=repr)
def test_a_job_with_such_a_model_fails_and_starts_nothing(rig: Rig, model: object) -> None:
    """A server that does not check, or that checked less when the job was made."""
    job = rig.job("remember(); done()")
    worker = rig.claim(job)
    worker._meta = {**worker._meta, "executor_model": model}
    worker()
    assert rig.status(job) == "FAILED"
    assert "is not a valid model name" in rig.view(job)["job"]["summary"]
    assert rig.trace(job) == []


@pytest.mark.parametrize("session", [*FLAGS, "a b", "a/b", "ä"], ids=repr)
def test_a_session_that_could_be_a_flag_is_not_one(rig: Rig, session: str) -> None:
    assert not is_session_id(session)
    codex = rig.context.executors["codex"]
    parse = codex.parse

    def hostile(output: Any) -> SliceResult:
        return parse(output)._replace(session=session)

    codex.parse = hostile  # type: ignore[method-assign]
    ref = rig.note()
    job = rig.run("go_on()", f"done({ref!r})")
    assert rig.status(job) == "DONE"
    assert resumed(rig.argv(job, 2)) is None


def test_a_session_that_no_runner_of_this_store_ran_is_not_resumed(rig: Rig) -> None:
    """An agent holds the claim, too, and may write what it likes into the job's notes."""
    ref = rig.note()
    job = rig.job("go_on()", f"done({ref!r})")
    worker = rig.claim(job)
    victim = {"executor": "codex", "id": "of-a-person", "host": _host(), "total": [0, 0, 0]}

    def forge() -> None:
        worker.claim.report("progress", "mine", meta={"session": victim})
        worker.control.stop()

    rig.before_slice(2, forge)
    worker()
    assert rig.view(job)["runtime"]["session"]["id"] == "of-a-person"
    rig.claim(job)()
    assert resumed(rig.argv(job, 1)) is None


def test_a_kept_session_that_could_be_a_flag_is_not_resumed(rig: Rig, tmp_path: Path) -> None:
    codex, sessions = rig.context.executors["codex"], SessionFile(tmp_path, "JOB-001")
    for session, resumable in (("01-plain", True), ("--last", False)):
        kept = ExecutorSession("codex", session)
        sessions.keep(kept)
        assert sessions.find({"session": kept.meta()}, codex) == (kept if resumable else None)


def _host() -> str:
    import socket

    return socket.gethostname()


def test_a_job_cannot_do_without_the_worktree_that_the_runner_demands(make_rig: MakeRig) -> None:
    rig = make_rig(isolation="worktree")
    root = rig.context.root
    named = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", str(root), *named, *words], check=True)
    ref = rig.note()
    job = rig.run(f"remember(os.getcwd()); done({ref!r})", meta={"isolation": "none"})
    assert rig.status(job) == "DONE"
    assert rig.trace(job) != [str(root)]


@pytest.mark.parametrize(
    "meta", [{"sandbox": "full"}, {"sandbox_policy": "full"}, {"sandbox_mode": "full"}], ids=str
)
def test_no_field_of_a_job_widens_its_sandbox(rig: Rig, meta: dict[str, str]) -> None:
    ref = rig.note()
    job = rig.run(f"done({ref!r})", meta=meta)
    assert 'sandbox_mode="workspace-write"' in rig.argv(job)
    assert "danger-full-access" not in str(rig.argv(job))


def test_control_characters_of_a_job_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from longhouse.runner.event_log import EventLog

    EventLog()("job.started", title="\x1b]0;owned\x07\x9b2J\u202etxt\x7f")
    said = capsys.readouterr().err
    assert said[:-1].isprintable()
    assert "\\x1b]0;owned\\x07\\x9b2J\\u202etxt\\x7f" in said
