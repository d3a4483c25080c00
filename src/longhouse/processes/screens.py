"""`tool.task_snapshot`, and the screen of a task's terminal, computed from its recorded bytes.

The screen includes exactly the bytes that frames have reported, so a client that takes it and then
follows the stream misses nothing and sees nothing twice. The host saves a screen from time to time
(`pty.N.screen`), so only the bytes since then are emulated. Secrets are masked in the bytes and
again in the lines, since a program may assemble them on the screen.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from longhouse.kernel.errors import InvalidInput, StoreError, Suggestion
from longhouse.kernel.redact import secret_spans
from longhouse.kernel.tool_tasks import task_folder
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.output import ProcessOutputLost, StreamOutput, read_with
from longhouse.processes.records import Process, existing
from longhouse.processes.room import room
from longhouse.processes.types.screens import (
    CursorPlace,
    ScreenView,
    SnapshotTask,
    TaskSnapshot,
)
from longhouse.processes.types.tasks import TaskStatus
from longhouse.store.artifacts.disk import Dir, disk_errors
from longhouse.store.artifacts.masking import masked
from longhouse.store.artifacts.view import Piece
from longhouse.store.tx import Tx
from longhouse.terminals import LAG_BYTES, Screen

__all__ = ["ShownScreen", "screen_of", "screen_view", "snapshot"]

MOST_SNAPSHOT: Final = 49_152
_BLOCK: Final = 1 << 18
_PAGE: Final = 500

Read = Callable[[int, int], Piece]


class ShownScreen(NamedTuple):
    """A screen, and how many bytes of the stream it includes."""

    screen: Screen
    offset: int


class _Kept(NamedTuple):
    """A screen saved by the host: its size, its offset, and the bytes that redraw it."""

    offset: int
    rows: int
    cols: int
    data: bytes


@room.command(
    "tool.task_snapshot",
    also=(
        "tool.snapshot tool.screen tool.task_screen tool.capture tool.screenshot tool.capture_pane"
    ),
    example=SnapshotTask(task_id="PROC-001"),
    profile="audit",
    slow=True,
)
def snapshot(tx: Tx, req: SnapshotTask) -> TaskSnapshot:
    """Get the bytes that redraw a task's screen, and the offset where the stream continues."""
    process = existing(tx, req.task_id)
    screen, offset = screen_of(tx, process)
    data = screen.snapshot()
    while len(data) > MOST_SNAPSHOT and screen.scrollback:
        for _ in range(max(1, len(screen.scrollback) // 2)):
            screen.scrollback.popleft()
        data = screen.snapshot()
    if len(data) > MOST_SNAPSHOT:
        screen.drop_styles()  # text matters more than colors
        data = screen.snapshot()
    if len(data) > MOST_SNAPSHOT:
        raise InvalidInput(
            f"task_id: the screen of {process.task_id} is too large for one answer: "
            f"{len(data)} bytes, at most {MOST_SNAPSHOT}",
            recovery="get it as text with tool.task_status screen=true, or read its output",
            suggest=[
                Suggestion(TaskStatus(task_id=process.task_id, screen=True), "see it as text")
            ],
        )
    return TaskSnapshot(
        task_id=process.task_id,
        rows=screen.rows,
        cols=screen.cols,
        offset=offset,
        seq=process.state.next_seq - 1,
        data_b64=base64.b64encode(data).decode(),
        alternate=screen.alternate,
    )


def screen_view(tx: Tx, process: Process) -> ScreenView:
    """The screen as text."""
    screen, _ = screen_of(tx, process)
    row, col = screen.cursor
    return ScreenView(
        rows=screen.rows,
        cols=screen.cols,
        text=screen.text(),
        cursor=CursorPlace(row=row, col=col),
        alternate=screen.alternate,
    )


def screen_of(tx: Tx, process: Process) -> ShownScreen:
    """What the terminal of a task shows after all bytes reported in its frames."""
    if process.state.mode != "pty":
        raise InvalidInput(
            f"task_id: {process.task_id} has no terminal; a screen needs execution_mode=pty",
            recovery="read its output with tool.output_fetch",
            suggest=[Suggestion(TaskStatus(task_id=process.task_id), "see its current state")],
        )
    stop = process.state.streams["pty"].bytes
    try:
        screen = read_with(tx, process, "pty", lambda output: _from_log(tx, process, output, stop))
    except (ProcessOutputLost, StoreError):
        screen = _from_frames(tx, process)
    screen.hide(secret_spans)
    return ShownScreen(screen, stop)


def _from_log(tx: Tx, process: Process, output: StreamOutput, stop: int) -> Screen:
    view = output.view

    def read(at: int, most: int) -> Piece:
        return masked(view, view.read(at, most), growing=False)[0]

    screen, at = _begun(process, _kept(tx, process), stop)
    sizes = [(offset, (rows, cols)) for offset, rows, cols in process.state.sizes if offset >= at]
    for until, size in [*sizes, (stop, None)]:
        at = _pass_on(screen.skim, view.read, at, min(until, stop - LAG_BYTES))  # shows no text
        at = _pass_on(screen.feed, read, at, min(until, stop))
        if size:
            screen.resize(*size)
    return screen


def _begun(process: Process, kept: Iterable[_Kept], stop: int) -> tuple[Screen, int]:
    """The newest saved screen up to `stop`, or an empty one, and its offset."""
    usable = [one for one in kept if one.offset <= stop]
    if not usable:
        return Screen(process.spec.number("rows"), process.spec.number("cols")), 0
    newest = max(usable, key=lambda one: one.offset)
    screen = Screen(newest.rows, newest.cols)
    screen.feed(newest.data)
    return screen, newest.offset


def _pass_on(take: Callable[[bytes], None], read: Read, at: int, stop: int) -> int:
    """Pass a range of the output to `take`, a block at a time; returns where to continue."""
    while at < stop and (piece := read(at, min(_BLOCK, stop - at))).data:
        take(piece.data)
        at = piece.next_offset
    return max(at, stop)


def _from_frames(tx: Tx, process: Process) -> Screen:
    """The same from the text in frames, if the output is on another machine."""
    screen = Screen(process.spec.number("rows"), process.spec.number("cols"))
    after = 0
    while frames := process.frames(tx, after, _PAGE):
        for frame in frames:
            if frame["type"] == "tool_task_resized":
                screen.resize(frame["rows"], frame["cols"])
            elif frame["type"] == "tool_task_output_delta":
                if frame["chunk"] is None:
                    raise StoreError(
                        f"the screen of {process.task_id} is only on the machine that runs it: "
                        "its frames hold no more text",
                        recovery="start it with a larger args.max_bytes, or wait until it ends",
                    )
                screen.feed(frame["chunk"].encode())
        after = frames[-1]["seq"] + 1
    return screen


def _kept(tx: Tx, process: Process) -> list[_Kept]:
    """The screens that the host saved in the task's folder."""
    folder = task_folder(tx.facts.of(ProcessFacts).store, tx.workspace, process.task_id)
    found = []
    for name in ("pty.0.screen", "pty.1.screen"):
        with (
            disk_errors(f"the screen of {process.task_id}"),
            suppress(FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError),
        ):
            hosts = Dir(os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            file = hosts.sub(folder.name, make=False).open(name)
            head, _, data = os.pread(file.fd, file.size(), 0).partition(b"\n")
            about: Any = msgspec.json.decode(head, type=dict[str, int])
            found.append(_Kept(about["offset"], about["rows"], about["cols"], data))
    return found
