"""Shared by the commands for background processes: finding one, following it, its exit code."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longhouse.kernel.errors import Conflict, Unreachable
from longhouse.kernel.terminal import tame
from longhouse.kernel.tool_tasks import ENDED
from longhouse.surfaces.cli.context import Cli

__all__ = ["carried_out", "exit_code", "find_task", "follow", "line_of", "read_output"]

_PATIENCE_MS = 20_000
_PAGE = 32_768
_DONE_S = 10.0


def find_task(cli: Cli, task: str) -> dict[str, Any]:
    """A task by its id or name."""
    key = "task_id" if task.startswith("PROC-") else "name"
    found: dict[str, Any] = cli.call("tool.task_status", **{key: task})["task"]
    return found


def line_of(task: dict[str, Any]) -> str:
    """Its command line, as typed."""
    args = task["args"]
    if argv := args.get("argv"):
        import shlex

        return shlex.join(map(str, argv))
    return str(args.get("command") or task["tool"])


def exit_code(task: dict[str, Any]) -> int:
    """The exit code a shell would report for it."""
    if task["exit_code"] is not None:
        return int(task["exit_code"])
    if task["signal"]:
        number = getattr(signal, f"SIG{task['signal'].removeprefix('SIG')}", None)
        return 128 + int(number) if number else 1
    return 0 if task["status"] == "exited" and task["cause"] is None else 1


def carried_out(cli: Cli, task: dict[str, Any], cmd: str, **args: Any) -> dict[str, Any]:
    """Send a task an operation and wait until it is done; returns the frame that confirms it."""
    task_id, after = task["task_id"], task["next_seq"] - 1
    op_id = cli.call(cmd, task_id=task_id, **args)["op_id"]
    deadline = time.monotonic() + _DONE_S
    while time.monotonic() < deadline:
        page = cli.call(
            "tool.task_stream_events",
            task_id=task_id,
            after_seq=after,
            timeout_ms=1_000,
            budget_profile="audit",
        )
        for frame in page["frames"]:
            if frame.get("op_id") == op_id:
                return _done(task_id, frame)
        after = page["next_cursor"]
        if page["status"] in ENDED and not page["has_more"]:
            raise Conflict(
                f"{task_id} exited before the operation was done",
                recovery=f"see how it exited: longhouse open {task_id}",
            )
    raise Unreachable(
        f"{op_id} is recorded, but no runner has done it within {_DONE_S:.0f} s",
        recovery="check whether a runner is online: longhouse runner status",
    )


def _done(task_id: str, frame: dict[str, Any]) -> dict[str, Any]:
    if frame["type"] != "tool_task_op_failed":
        return frame
    raise Conflict(
        f"{task_id}: {frame['error']}",
        recovery=f"see its screen: longhouse attach {task_id}",
    )


def follow(
    cli: Cli, task_id: str, after: int = -1, streams: dict[str, int] | None = None
) -> Iterator[int]:
    """Print a task's output until it exits; yields the seq of the last frame shown.

    `streams` maps each stream to show to its first offset; None shows everything.
    """
    while True:
        page = cli.call(
            "tool.task_stream_events",
            task_id=task_id,
            after_seq=after,
            timeout_ms=_PATIENCE_MS,
            budget_profile="audit",
        )
        for frame in page["frames"]:
            with _undisturbed():
                _show(cli, task_id, frame, streams)
                after = frame["seq"]
                yield after
        if page["status"] in ENDED and not page["has_more"]:
            return
        yield after


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back Ctrl-C, so that a frame is either not shown or known to have been shown."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def read_output(cli: Cli, task_id: str, stream: str, start: int, end: int) -> Iterator[str]:
    """The text between two offsets of a stream, one page after another."""
    while start < end:
        page = cli.call(
            "tool.output_fetch",
            task_id=task_id,
            stream=stream,
            offset_bytes=start,
            max_bytes=min(_PAGE, end - start),
            budget_profile="audit",
        )
        yield "".join(part["text"] for part in page["parts"])
        if page["next_cursor"] <= start:
            return
        start = page["next_cursor"]


def _show(cli: Cli, task_id: str, frame: dict[str, Any], streams: dict[str, int] | None) -> None:
    if "chunk" not in frame or (streams is not None and frame["stream"] not in streams):
        return
    first = 0 if streams is None else streams[frame["stream"]]
    start, end = max(first, frame["offset_bytes"]), frame["offset_bytes"] + frame["bytes"]
    if start >= end:
        return
    texts: Any = [frame["chunk"]]
    if frame["chunk"] is None or start > frame["offset_bytes"]:
        texts = read_output(cli, task_id, frame["stream"], start, end)
    target = sys.stderr if frame["stream"] == "stderr" else sys.stdout
    for text in texts:
        target.write(_safe(text) if target.isatty() else text)
    target.flush()


def _safe(text: str) -> str:
    """The text with control characters escaped, so that it cannot control the terminal."""
    return "\n".join(tame(line) for line in text.split("\n"))
