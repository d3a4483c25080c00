"""The runner's side, in this process: a house, a speaker, and a real host."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, InvalidInput, StoreError
from longhouse.processes.facts import ProcessFacts
from longhouse.runner.host.client import HostClient
from longhouse.runner.tool_tasks.speaker import TaskSpeaker
from longhouse.runner.tool_tasks.starting import RunnerPolicy
from tests.runner.kit import Rig
from tests.runner.processes import until


class Speaking:
    """A running speaker, and what the house knows about its tasks."""

    def __init__(
        self,
        rig: Rig,
        policy: str | None = "full-auto",
        *,
        run_only: str = "",
        begin: bool = True,
        **context: Any,
    ) -> None:
        self.rig = rig
        facts = rig.house.facts
        facts.put(facts.of(ProcessFacts)._replace(profile="full-auto"))
        own = RunnerPolicy.of(policy, run_only)
        self.speaker = TaskSpeaker(rig.context._replace(policy=own, **context))
        if begin:
            self.speaker.start()

    def spawn(self, *argv: str, **args: Any) -> str:
        made = self.rig("tool.task_spawn", tool="exec", args={"argv": list(argv), **args})
        return str(made["task_id"])

    def ended(self, task: str) -> dict[str, Any]:
        def found() -> dict[str, Any]:
            return dict(self.rig("tool.task_status", task_id=task)["task"])

        until(lambda: found()["ended_at_ms"] is not None, f"{task}: ", lambda: str(self.rig.lines))
        return found()

    def close(self) -> None:
        self.speaker.leave()
        folder = self.rig.context.home / "tasks" / "acme"
        client = HostClient(folder)
        pid = client.ask("list")["pid"]
        os.kill(pid, signal.SIGTERM)
        client.close()
        until(lambda: not Path(f"/proc/{pid}").exists(), "the host has left")


@pytest.fixture
def speaking(make_rig: Callable[..., Rig]) -> Iterator[Callable[..., Speaking]]:
    made: list[Speaking] = []

    def make(**more: Any) -> Speaking:
        made.append(Speaking(make_rig(), **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_program_starts_in_the_workspaces_root_with_a_short_list_of_variables(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHOUSE_TOKEN", "lh_" + "0" * 64)
    monkeypatch.setenv("SOMETHING", "else")
    at = speaking()
    task = at.spawn("bash", "-c", "pwd; compgen -e", env={"COLOUR": "red"})
    assert at.ended(task)["exit_code"] == 0
    log = at.rig.context.home / "tasks" / "acme" / task / "stdout.log"
    folder, *names = log.read_text().split()
    assert folder == str(at.rig.context.root)
    assert "COLOUR" in names
    assert not {"LONGHOUSE_TOKEN", "SOMETHING", "FAKE_STATE"} & set(names)


def test_a_secret_is_read_by_name_and_written_nowhere(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery-staple"
    monkeypatch.setenv("DEPLOY_KEY", secret)
    at = speaking()
    at.rig("tool.policy_allow", tool="env", pattern="DEPLOY_KEY")
    env = {"KEY": {"from": "env:DEPLOY_KEY"}}
    task = at.spawn("bash", "-c", "echo ${#KEY}", env=env)
    assert at.ended(task)["exit_code"] == 0
    home = at.rig.context.home
    assert (home / "tasks" / "acme" / task / "stdout.log").read_text() == f"{len(secret)}\n"
    holders = [path for path in home.rglob("*") if path.is_file() and _holds(path, secret)]
    assert holders == []


def test_a_variable_that_is_not_set_fails_the_task_by_its_name(
    speaking: Callable[..., Speaking],
) -> None:
    at = speaking()
    at.rig("tool.policy_allow", tool="env", pattern="NOT_SET_HERE")
    task = at.spawn("true", env={"KEY": {"from": "env:NOT_SET_HERE"}})
    ended = at.ended(task)
    assert (ended["status"], ended["cause"]) == ("failed", "missing_variable")
    assert "no NOT_SET_HERE" in ended["error"]


def test_a_runner_whose_policy_refuses_starts_nothing(speaking: Callable[..., Speaking]) -> None:
    at = speaking(policy="safe")
    task = at.spawn("touch", "was-here")
    assert at.ended(task)["cause"] == "policy_denied"
    assert not (at.rig.context.root / "was-here").exists()


def test_a_runner_without_a_policy_of_its_own_follows_the_servers(
    speaking: Callable[..., Speaking],
) -> None:
    at = speaking(policy=None)
    task = at.spawn("true")
    assert at.ended(task)["exit_code"] == 0
    frames = at.rig("tool.task_stream_events", task_id=task)["frames"]
    decided = [one for one in frames if one["type"] == "tool_policy_decided"]
    assert {one["profile"] for one in decided} == {"full-auto"}


@pytest.mark.parametrize("policy", [None, "full-auto"])
def test_no_server_extends_what_the_runner_alone_may_run(
    speaking: Callable[..., Speaking], policy: str | None
) -> None:
    """The server allows everything, and says so with a rule; the runner has been told better."""
    at = speaking(policy=policy, run_only="exec echo *; env CI")
    at.rig("tool.policy_allow", tool="bash")
    at.rig("tool.policy_allow", tool="exec", pattern="touch *")
    at.rig("tool.policy_allow", tool="env")
    for argv, env in (
        (("touch", "was-here"), {}),
        (("bash", "-c", "touch was-here"), {}),
        (("echo", "x"), {"LD_PRELOAD": "./evil.so"}),
        (("echo", "x"), {"CI": {"from": "env:HOME"}}),
    ):
        ended = at.ended(at.spawn(*argv, env=env))
        assert ended["cause"] == "policy_denied", argv
        assert ended["error"].startswith("run_only.")
    assert not (at.rig.context.root / "was-here").exists()
    assert at.ended(at.spawn("echo", "fine", env={"CI": "1"}))["exit_code"] == 0


def test_the_rules_that_count_are_those_at_the_claim(speaking: Callable[..., Speaking]) -> None:
    """A task that one rule allowed when it was requested, and another when it was claimed."""
    at = speaking(policy="safe", begin=False)
    facts = at.rig.house.facts
    facts.put(facts.of(ProcessFacts)._replace(profile="safe"))
    first = at.rig("tool.policy_allow", tool="exec", pattern="true")["rule"]["id"]
    task = at.spawn("true")
    at.rig("tool.policy_withdraw", rule=first)
    second = at.rig("tool.policy_allow", tool="exec", pattern="tru*")["rule"]["id"]
    at.speaker.start()
    assert at.ended(task)["exit_code"] == 0
    frames = at.rig("tool.task_stream_events", task_id=task)["frames"]
    decided = [one["rule"] for one in frames if one["type"] == "tool_policy_decided"]
    assert decided == [first, second]


@pytest.mark.parametrize("text", ["make *", "rm", "bash make *; tool x", "jobs.create"])
def test_a_list_of_programs_that_is_misspelled_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="run_only: "):
        RunnerPolicy.of(None, text)


def test_a_task_is_cancelled_through_the_host(speaking: Callable[..., Speaking]) -> None:
    at = speaking()
    task = at.spawn("sleep", "300")
    until(
        lambda: at.rig("tool.task_status", task_id=task)["task"]["status"] == "running", "it runs"
    )
    at.rig("tool.task_cancel", task_id=task, reason="enough")
    ended = at.ended(task)
    assert (ended["status"], ended["signal"]) == ("cancelled", "TERM")


def _holds(path: Path, secret: str) -> bool:
    try:
        return secret.encode() in path.read_bytes()
    except OSError:
        return False


def test_output_is_sent_anew_by_whoever_speaks_for_the_host_again(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.WATCH_MS", 500)
    at = speaking(shares_folder=False)
    first: list[int] = []

    def restarted(cmd: str, args: dict[str, Any]) -> None:
        if cmd == "tool.output_append" and args["revision"] in (first or [args["revision"]]):
            first[:] = [args["revision"]]
            raise Conflict("revision: another speaks for this host")

    at.rig.wire.on_call = restarted
    seal = at.ended(at.spawn("echo", "kept"))["artifacts"]["logs"]["stdout"]
    assert (seal["error"], seal["artifact"]) == (None, seal["sha256"])
    assert at.rig.told("task.defect") == []


def test_a_task_whose_output_finds_no_room_holds_no_other_up(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.plane.LONGEST_PAUSE_S", 0.01)
    at = speaking(shares_folder=False)

    def full(cmd: str, args: dict[str, Any]) -> None:
        if cmd == "tool.output_append" and args["task_id"] == "PROC-001":
            raise StoreError("an artifact: no space is left on the disk")

    at.rig.wire.on_call = full
    first, second = at.spawn("echo", "lost"), at.spawn("echo", "kept")
    assert at.ended(second)["artifacts"]["logs"]["stdout"]["error"] is None
    assert "no space is left" in at.ended(first)["artifacts"]["logs"]["stdout"]["error"]


def test_what_grows_too_old_while_a_runner_speaks_goes(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.CLEAR_MS", 0)
    at = speaking(shares_folder=False, keep_days=1)
    at.ended(at.spawn("true"))
    old = at.rig.context.home / "tasks" / "acme" / "PROC-900"
    old.mkdir()
    (old / "journal.jsonl").write_text('{"kind": "ended", "ts": 1000}\n')
    at.ended(at.spawn("true"))
    until(lambda: not old.exists(), "what is too old goes")


def test_what_follows_an_operation_that_could_not_be_recorded_waits_for_it(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same task, and but for a request to cancel."""
    at = speaking(begin=False)
    asked: list[str] = []
    full = {"PROC-001.1", "PROC-001.2"}

    class Kept:
        def op_logged(self, *_about: Any) -> None: ...

        def has_ended(self) -> bool:
            return False

    def ask(_what: str, *, op_id: str, **_more: Any) -> dict[str, Any]:
        asked.append(op_id)
        return {"error": "No space left on device"} if op_id in full else {"op": {}}

    def op(task: str, k: int, kind: str = "stdin") -> dict[str, Any]:
        return {"op_id": f"{task}.{k}", "task_id": task, "kind": kind, "payload": {}, "seq": k}

    speaker: Any = at.speaker
    speaker._stories = {"PROC-001": Kept(), "PROC-002": Kept()}
    monkeypatch.setattr(speaker._host, "ask", ask)
    speaker._do([op("PROC-001", 1), op("PROC-001", 2), op("PROC-002", 1), op("PROC-001", 3)])
    assert asked == ["PROC-001.1", "PROC-002.1"]
    full.remove("PROC-001.1")
    asked.clear()
    cancel = op("PROC-001", 4, "cancel")
    speaker._do([*speaker._undone.values(), cancel])
    assert asked == ["PROC-001.1", "PROC-001.2", "PROC-001.4"]
    full.clear()
    asked.clear()
    speaker._do([*speaker._undone.values(), op("PROC-001", 5)])
    assert asked == ["PROC-001.2", "PROC-001.3", "PROC-001.5"]
    assert not speaker._undone
    monkeypatch.undo()
    speaker._stories = {}
