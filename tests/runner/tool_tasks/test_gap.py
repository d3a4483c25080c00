"""What is asked of a task between its claim and its first frame is done, whoever then speaks."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict
from longhouse.runner.host.client import HostClient
from longhouse.runner.host.journal import read_journal
from tests.runner.host.kit import PLAIN, lives
from tests.runner.processes import until
from tests.runner.tool_tasks.test_speaker import Speaking, speaking

__all__ = ["speaking"]


def journal(at: Speaking, task: str) -> list[dict[str, Any]]:
    folder = at.rig.context.home / "tasks" / "acme" / task
    return read_journal(folder / "journal.jsonl")[0]


def pid_of(at: Speaking, task: str) -> int:
    return int(next(one["pid"] for one in journal(at, task) if one["kind"] == "started"))


def test_a_cancel_of_a_started_task_whose_start_was_never_told_ends_its_program(
    speaking: Callable[..., Speaking],
) -> None:
    """The runner starts over before it told the start: the task is queued, and yet it runs."""
    at = speaking()
    first: list[int] = []

    def cancelled_in_the_gap(cmd: str, args: dict[str, Any]) -> None:
        if cmd == "tool.task_append" and args["revision"] in (first or [args["revision"]]):
            if not first:
                first.append(args["revision"])
                at.rig("tool.task_cancel", task_id=args["task_id"], reason="enough")
            raise Conflict("revision: another speaks for this host")

    at.rig.wire.on_call = cancelled_in_the_gap
    task = at.spawn("sleep", "300")
    ended = at.ended(task)
    assert (ended["status"], ended["cancel_reason"]) == ("cancelled", "enough")
    pid = pid_of(at, task)
    until(lambda: not lives(pid), "its program has ended")


def test_an_operation_that_the_host_cannot_record_is_tried_again(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, refused = HostClient.ask, list[str]()

    def full_once(self: HostClient, do: str, /, **args: Any) -> dict[str, Any]:
        if do == "control" and not refused:
            refused.append(args["op_id"])
            return {"error": "No space left on device", "errno": 28}
        return ask(self, do, **args)

    monkeypatch.setattr(HostClient, "ask", full_once)
    at = speaking()
    task = at.spawn("sleep", "300")
    until(lambda: bool(journal(at, task)), "it runs")
    at.rig("tool.task_cancel", task_id=task, reason="enough")
    assert at.ended(task)["status"] == "cancelled"
    assert refused == [f"{task}.1"]


def test_what_the_server_gave_up_is_ended_when_its_host_is_heard_again(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.WATCH_MS", 200)
    at = speaking()
    task = at.spawn("sleep", "300")
    until(
        lambda: at.rig("tool.task_status", task_id=task)["task"]["status"] == "running", "it runs"
    )
    pid = pid_of(at, task)
    with monkeypatch.context() as unheard:
        unheard.setattr("longhouse.processes.records.SILENT_MS", -1)
        given_up = at.rig("tool.task_cancel", task_id=task, force=True)["task"]
    assert given_up["cause"] == "host_lost"
    until(lambda: not lives(pid), "its program has ended", lambda: str(at.rig.lines))


def test_a_stopped_host_is_replaced_and_its_tasks_are_told(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.PULSE_S", 0.05)
    at = speaking()
    task = at.spawn("sleep", "300")
    until(
        lambda: at.rig("tool.task_status", task_id=task)["task"]["status"] == "running", "it runs"
    )
    client = HostClient(at.rig.context.home / "tasks" / "acme")
    frozen = client.ask("list")["pid"]
    client.close()
    os.kill(frozen, signal.SIGSTOP)
    with monkeypatch.context() as impatient:  # only now: a busy machine may delay a healthy host
        impatient.setattr("longhouse.runner.tool_tasks.pulse.LEASE_S", 0.2)
        impatient.setattr("longhouse.runner.tool_tasks.pulse.PROBE_S", 0.1)
        until(lambda: not lives(frozen), "it was replaced", lambda: str(at.rig.lines))
    at.rig("tool.task_cancel", task_id=task, reason="enough")
    assert at.ended(task)["status"] == "cancelled"


def test_tasks_wait_while_the_host_refuses_its_new_speaker(
    speaking: Callable[..., Speaking],
) -> None:
    """The host knows a later revision than the server: none of its tasks fails for that."""
    at = speaking(begin=False)
    client = HostClient(at.rig.context.home / "tasks" / "acme")
    client.ask("fence", revision=2**52)
    pid = client.ask("list")["pid"]
    client.close()
    task = at.spawn("true")
    at.speaker.start()
    until(lambda: len(at.rig.told("tasks.trouble")) > 1, "it is refused, again and again")
    assert "refused its new speaker" in at.rig.told("tasks.trouble")[0]["why"]
    assert at.rig("tool.task_status", task_id=task)["task"]["status"] == "queued"
    os.kill(pid, signal.SIGKILL)
    assert at.ended(task)["exit_code"] == 0


@pytest.mark.parametrize("script", ["echo old; exit 3", "trap '' TERM; echo old; sleep 300"])
def test_a_restored_servers_task_runs_though_the_host_had_its_number_before(
    speaking: Callable[..., Speaking], script: str
) -> None:
    at = speaking(begin=False)
    client = HostClient(at.rig.context.home / "tasks" / "acme")
    about = {"task": "PROC-001", "root": str(at.rig.context.root), "made": 1}
    client.ask(
        "spawn", **PLAIN, **about, argv=["bash", "-c", script], env={"PATH": "/usr/bin:/bin"}
    )
    last = "ended" if "exit" in script else "started"
    until(lambda: [one["kind"] for one in journal(at, "PROC-001")][-1:] == [last], "as it was")
    client.close()
    task = at.spawn("echo", "new")
    assert task == "PROC-001"
    at.speaker.start()
    ended = at.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    assert (at.rig.context.home / "tasks" / "acme" / task / "stdout.log").read_text() == "new\n"


def test_a_host_that_does_not_answer_stays_frozen_however_often_its_runner_asks_for_tasks(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("pulse.PROBE_S", 0.1), ("speaker.PULSE_S", 0.05), ("speaker.WATCH_MS", 5)):
        monkeypatch.setattr(f"longhouse.runner.tool_tasks.{name}", value)
    monkeypatch.setattr("longhouse.runner.tool_tasks.pulse.LEASE_S", 3_600.0)
    at = speaking()
    task = at.spawn("sleep", "300")

    def host() -> str:
        return str(at.rig("tool.task_status", task_id=task)["task"]["host"])

    until(lambda: host() == "connected" and bool(journal(at, task)), "it runs")
    client = HostClient(at.rig.context.home / "tasks" / "acme")
    pid = client.ask("list")["pid"]
    client.close()
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: host() == "frozen", "it is told of")
        before = len(at.rig.wire.calls)

        def asked() -> list[bool]:
            claims = [args for cmd, args in at.rig.wire.calls[before:] if cmd == "tool.task_claim"]
            return [args["host_answers"] for args in claims if args["limit"]]

        until(lambda: len(asked()) > 3, "its runner asks for tasks")
        assert set(asked()[1:]) == {False}  # the first may have been on its way
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: host() == "connected", "it answers again")
