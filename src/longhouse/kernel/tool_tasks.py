"""The parts of the tool-task protocol shared by the server and the runner.

A tool task is a background process (`PROC-001`), not a work item (`TASK-001`). Names, limits and
the location of a task's files; constants and pure functions only.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

__all__ = [
    "DELTAS",
    "DELTA_BYTES",
    "ENDED",
    "HOST_ID",
    "INLINE_BYTES",
    "LOG_BYTES",
    "SIGNALS",
    "STDIN_BYTES",
    "STREAMS",
    "TASK_ID",
    "Lifetime",
    "Mode",
    "Status",
    "Stream",
    "host_folder",
    "is_programs_tool",
    "signal_named",
    "stream_of",
    "task_folder",
]

Mode = Literal["pipes", "pty"]
Stream = Literal["stdout", "stderr", "pty"]
Status = Literal["queued", "running", "exited", "cancelled", "failed"]
Lifetime = Literal["job", "workspace"]

TASK_ID: Final = r"PROC-(?:[0-9]{3}|[1-9][0-9]{3,14})"
HOST_ID: Final = r"\A[A-Za-z0-9][A-Za-z0-9._-]{7,63}\Z"
ENDED: Final = frozenset[Status]({"exited", "cancelled", "failed"})
STREAMS: Final[dict[Mode, tuple[Stream, ...]]] = {"pipes": ("stdout", "stderr"), "pty": ("pty",)}
DELTAS: Final[dict[Stream, str]] = {
    "stdout": "tool_stdout",
    "stderr": "tool_stderr",
    "pty": "tool_task_output_delta",
}
"""The frame type that carries the output of each stream."""

DELTA_BYTES: Final = 8_192
"""The maximum output in one frame."""
INLINE_BYTES: Final = 524_288
"""The maximum output in all frames of a task together, unless its spec says otherwise. Later frames
refer to the output by offset and length."""
LOG_BYTES: Final = 16 << 20
"""How much of each stream's head and tail is kept, unless the spec says otherwise."""
STDIN_BYTES: Final = 8_192
SIGNALS: Final = ("HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP")

_NOT_IN_FOLDER = re.compile(r"[^A-Za-z0-9._-]")


def is_programs_tool(tool: str) -> bool:
    """Whether the tool starts a program; every other tool is a registry command."""
    return tool in ("bash", "exec")


def stream_of(frame_type: str) -> Stream | None:
    """The stream whose output this frame type carries."""
    return next((stream for stream, delta in DELTAS.items() if delta == frame_type), None)


def signal_named(text: str) -> str | None:
    """Normalize `SIGTERM`, `term` or `TERM` to `TERM`; None for a signal that cannot be sent."""
    name = text.strip().upper().removeprefix("SIG")
    return name if name in SIGNALS else None


def host_folder(store: Path, workspace: str) -> Path:
    """The folder for the state of a workspace's host, never inside the work tree.

    A workspace name begins with a letter or digit, so its escaped form is one plain folder name.
    """
    return store / "tasks" / _NOT_IN_FOLDER.sub(lambda one: f"%{ord(one[0]):02X}", workspace)


def task_folder(store: Path, workspace: str, task_id: str) -> Path:
    """The folder of one task: `stdout.log` and `stderr.log`, or `pty.log`, and its records."""
    return host_folder(store, workspace) / task_id
