"""`longhouse wait`: wait until a background process exits, or prints or opens something."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import exit_code, find_task
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

_AT_A_TIME_S = 20.0
_UNTIL = {"listening": "port"}
"""Flags that the call names differently: `--port` already means the server's port."""


def run(
    cli: Cli,
    task: str,
    line: str | None = None,
    screen: str | None = None,
    listening: int | None = None,
    timeout: int | None = None,
) -> Shown:
    patterns = {"line": line, "screen": screen}
    asked = {**patterns, "listening": listening}
    until = [name for name, value in asked.items() if value is not None]
    if len(until) > 1:
        raise InvalidInput(
            f"--{until[1]}: cannot be combined with --{until[0]}",
            recovery=f"wait for one of them: longhouse wait {task} --{until[0]} …",
        )
    args: dict[str, Any] = {"task_id": find_task(cli, task)["task_id"], "port": listening}
    if until:
        args |= {"until": _UNTIL.get(until[0], until[0]), "pattern": patterns.get(until[0])}
    found = _waited(cli, args, timeout)
    return Shown(found, [_said(found, timeout)], ok=found["reached"] and _went_well(found, until))


def _waited(cli: Cli, args: dict[str, Any], timeout: int | None) -> dict[str, Any]:
    """The outcome, polled with calls of limited length."""
    ends = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _AT_A_TIME_S if ends is None else min(ends - time.monotonic(), _AT_A_TIME_S)
        found: dict[str, Any] = cli.call(
            "tool.task_wait", **args, timeout_ms=max(0, round(left * 1000))
        )
        if not found["timed_out"] or left < _AT_A_TIME_S:
            return found


def _went_well(found: dict[str, Any], until: list[str]) -> bool:
    return bool(until) or exit_code(found["task"]) == 0


def _said(found: dict[str, Any], timeout: int | None) -> str:
    task = found["task"]
    if found["line"] is not None or found["port"] is not None:
        return str(found["line"] if found["port"] is None else found["port"])
    if found["timed_out"]:
        return f"{task['task_id']}: timed out after {timeout} s; it is {task['status']}"
    how = task["signal"] or task["cause"] or f"code {task['exit_code']}"
    return f"{task['task_id']} {task['status']} ({how})"


def _values_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """A wait call as flags, with its milliseconds as seconds."""
    left = dict(call)
    until, pattern = left.pop("until", "exit"), left.pop("pattern", None)
    if until in ("line", "screen"):
        left[until] = pattern
    if left.get("timeout_ms", 1) % 1000 == 0:
        left["timeout"] = left.pop("timeout_ms") // 1000
    return left


command = Command(
    "wait",
    "Wait until a background process exits, shows or prints a line, or opens a port",
    args=[Arg("task", "its id or name, such as PROC-001", field="task_id")],
    flags=[
        Flag("line", "until it prints a line like this; * matches any text", "TEXT"),
        Flag("screen", "until its terminal shows a line like this", "TEXT"),
        Flag("listening", "until it listens on this port", "PORT", kind=int, field="port"),
        Flag("timeout", "give up after this many seconds", "S", kind=int),
    ],
    run=run,
    calls="tool.task_wait",
    values_of=_values_of,
    details="Prints the line, the port, or how the process exited. The exit code is 0 if the wait "
    "succeeded and 1 otherwise; waiting for the exit succeeds only if the program does.",
    examples=["longhouse wait PROC-001 --screen '>>>'", "longhouse wait dev --line 'ready*'"],
)
