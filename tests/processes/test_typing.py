"""What a typed key costs, who is woken by it, and what is recorded of it, on both engines."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from longhouse.house import House
from longhouse.store import wakeups
from longhouse.store.tx import LogRow
from longhouse.store.tx import sql as log_sql
from tests.kit import Lh, ManualClock
from tests.processes.kit import Runner, ended

SOON_S = 20.0
KEYS = 40
SIZE = {"rows": 9, "cols": 40}
ROWS, BYTES = 2, 320
"""What one key, typed in a call of its own and echoed, leaves at most: log rows, and the text that
they and their frames hold (src/longhouse/store/README.md says so)."""


def log(lh: Lh, after: int = 0) -> list[LogRow]:
    def rows(tx: Any) -> list[LogRow]:
        found = tx.all(log_sql.log_after, after=after, limit=100_000)
        return [LogRow.from_row(row) for row in found]

    return lh.house.db.read("acme", rows, lh.house._call())


def written(op_id: str) -> dict[str, Any]:
    return {"type": "tool_task_stdin_written", "op_id": op_id, "bytes": 1, "offset_bytes": 0}


def echo(at: int, text: str = "a") -> dict[str, Any]:
    told = {"type": "tool_task_output_delta", "offset_bytes": at, "bytes": len(text)}
    return {**told, "chunk": text}


def size(row: LogRow) -> int:
    """The text of a row: its columns, and its place in the stream of its task."""
    said = (row.stream, row.subject, row.kind, row.actor or "")
    return sum(map(len, said)) + len(msgspec.json.encode(row.data))


@pytest.mark.proves("TTA-031", "TTA-034", "TTA-053")
def test_a_typed_key_leaves_the_frame_of_its_call_and_its_echo(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    before = len(log(lh))
    for at in range(KEYS):
        head = len(log(lh))
        op = lh("tool.task_write_stdin", task_id=task_id, keys=["a"])
        assert (len(log(lh)), op["seq"]) == (head, head)  # the request itself is no row
        runner.append(task_id, written(op["op_id"]), echo(at))
    rows = log(lh, before)
    assert len(rows) == KEYS * ROWS
    assert sum(map(size, rows)) <= KEYS * BYTES
    told = [row.data["op_id"] for row in rows if row.kind == "tool_task_stdin_written"]
    assert told == [f"{task_id}.{n}" for n in range(1, KEYS + 1)]


@pytest.mark.proves("TTA-031")
@pytest.mark.parametrize(
    "cmd, args, outcome",
    [
        ("tool.task_write_stdin", {"keys": ["a"]}, written("")),
        ("tool.task_resize", SIZE, {"type": "tool_task_resized", **SIZE}),
        ("tool.task_signal", {"signal": "INT"}, {"type": "tool_task_signalled", "signal": "INT"}),
        ("tool.task_signal", {"signal": "INT"}, {"type": "tool_task_op_failed", "error": "no"}),
    ],
)
def test_the_frame_of_the_outcome_says_who_asked(
    lh: Lh, cmd: str, args: dict[str, Any], outcome: dict[str, Any]
) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    op_id = lh(cmd, task_id=task_id, agent_id="amber-otter", **args)["op_id"]
    next_seq = lh("tool.task_status", task_id=task_id)["task"]["next_seq"]
    frame = {**outcome, "op_id": op_id}
    runner.append(task_id, frame)
    row = log(lh)[-1]
    assert (row.kind, row.data["by"]) == (outcome["type"], "amber-otter")
    again = runner.append(task_id, frame, base_seq=next_seq)
    assert again["repeated"], "the same outcome again is recognized, though it says who asked"


def test_what_was_requested_and_never_done_is_recorded_when_the_task_ends(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    done = lh("tool.task_write_stdin", task_id=task_id, keys=["a"])["op_id"]
    lh("tool.task_write_stdin", task_id=task_id, keys=["secret", "Enter"])
    lh("tool.task_resize", task_id=task_id, rows=9, cols=40)
    lh("tool.task_cancel", task_id=task_id, reason="enough")
    runner.append(task_id, written(done))
    cancelled = {"type": "tool_task_cancelled", "reason": "enough"}
    runner.append(task_id, cancelled, ended("cancelled", None))
    (row,) = [row for row in log(lh) if row.stream == "tool_ops"]
    assert (row.subject, row.kind) == (task_id, "undone")
    assert [(op["op_id"], op["kind"]) for op in row.data["ops"]] == [
        (f"{task_id}.2", "stdin"),
        (f"{task_id}.3", "resize"),
    ]
    assert row.data["ops"][0]["bytes"] == len("secret\r")
    assert "secret" not in str(row.data)
    assert runner.hold()["ops"] == []


def test_no_more_operations_of_any_kind_than_a_runner_may_find_waiting(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    for n in range(256):
        lh("tool.task_resize", task_id=task_id, rows=9, cols=40 + n)
    for cmd, args in (
        ("tool.task_resize", {"rows": 9, "cols": 9}),
        ("tool.task_signal", {"signal": "INT"}),
        ("tool.task_write_stdin", {"keys": ["a"]}),
    ):
        error = lh.refused(cmd, task_id=task_id, **args)
        assert (error["code"], "256 operations" in error["message"]) == ("CONFLICT", True)
    assert lh("tool.task_cancel", task_id=task_id, reason="always")["task"]["cancel_reason"]


@pytest.mark.parametrize("apart", [False, True], ids=["own", "other"])
def test_a_runner_that_waits_is_woken_by_a_key_though_nothing_is_logged(
    new_house: Callable[..., House],
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    apart: bool,
) -> None:
    """Also by one that was typed at another server, with which it shares only the store."""
    monkeypatch.setattr(wakeups, "LOOK_S", 60.0)
    monkeypatch.setattr(wakeups, "KNOCK_S", 3_600.0)
    here = Lh(new_house(), clock)
    there = Lh(new_house(), clock) if apart else here
    runner = Runner(here)
    task_id = runner.start(execution_mode="pty")
    here.house.db.wakeups.wait("acme", 10_000, 0.01)  # starts to listen to others
    args = {"revision": runner.revision, "timeout_ms": 25_000, **runner.me}
    found: list[dict[str, Any]] = []
    waiter = threading.Thread(target=lambda: found.append(here("tool.task_watch", **args)))
    waiter.start()
    while not here.house.db.wakeups._sleepers:
        assert waiter.is_alive()
    rows = len(log(here))
    chunk = base64.b64encode(b"k").decode()
    there("tool.task_write_stdin", task_id=task_id, chunk_b64=chunk)
    waiter.join(SOON_S)
    assert not waiter.is_alive()
    assert [(op["task_id"], op["kind"]) for op in found[0]["ops"]] == [(task_id, "stdin")]
    assert len(log(here)) == rows


def test_what_is_requested_later_has_a_later_turn_whatever_is_logged_meanwhile(lh: Lh) -> None:
    """Also later than what was requested before an upgrade, whose turn was a seq of the log."""
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    turns = [lh("tool.task_held", **runner.me)["seq"]]
    runner.hold()
    for n in range(6):
        lh("tool.task_write_stdin", task_id=task_id, keys=["a"])
        if n % 2:
            lh("vcs.notes.commit", content=f"{n}")
        (op,) = runner.watch(after_seq=turns[-1])["ops"]
        turns.append(op["seq"])
    assert turns == sorted(set(turns))
