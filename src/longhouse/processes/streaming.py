"""`tool.task_stream_events` and `tool.task_wait`: follow a task without polling.

Both read from the store, so clients that join late, read slowly or reconnect see the same stream.
"""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.processes.line_search import LineSearches
from longhouse.processes.records import Process, existing, view_of
from longhouse.processes.room import room
from longhouse.processes.screens import screen_of
from longhouse.processes.types.output import StreamEvents, TaskEvents, TaskWaited, WaitTask
from longhouse.store.tx import Concern, Tx, Wait

__all__ = ["stream_events", "wait"]


@room.command(
    "tool.task_stream_events",
    also="tool.events tool.frames tool.task_events tool.stream tool.task_stream",
    example=StreamEvents(task_id="PROC-001"),
    trim=[Pop("frames", leave=1, cursor="seq"), Clip("frames.chunk", 400)],
)
def stream_events(tx: Tx, req: StreamEvents) -> TaskEvents | Wait:
    """Read the frames of a task in order; none follow its end."""
    process = existing(tx, req.task_id)
    frames = process.frames(tx, req.after_seq + 1, req.limit + 1)
    shown = frames[: req.limit]
    answer = TaskEvents(
        task_id=process.task_id,
        status=process.state.status,
        frames=shown,
        count=len(shown),
        has_more=len(frames) > req.limit,
        cursor=req.after_seq,
        next_cursor=shown[-1]["seq"] if shown else req.after_seq,
    )
    if shown or process.state.ended or not req.timeout_ms:
        return answer
    return Wait(answer, req.timeout_ms, on=Concern(subjects=(process.task_id,)))


@room.command(
    "tool.task_wait",
    also="tool.wait tool.await tool.join",
    example=WaitTask(task_id="PROC-001", until="exit", timeout_ms=0),
    trim=[Clip("line", 160)],
    slow=True,
)
def wait(tx: Tx, req: WaitTask) -> TaskWaited | Wait:
    """Wait until a task ends, prints or shows a matching line, or listens on a port."""
    if (req.until in ("line", "screen")) != (req.pattern is not None):
        raise InvalidInput(
            "pattern: required with until=line or until=screen, and only then; "
            "fix: until=line pattern=ready",
            recovery="until=line and until=screen take a pattern, until=port may take a port",
        )
    process = existing(tx, req.task_id)
    line, at, port = None, None, None
    if req.until == "exit":
        reached = process.state.ended
    elif req.until == "line":
        line, at = _line(tx, process, req.pattern or "")
        reached = line is not None
    elif req.until == "screen":
        line, at = _on_screen(tx, process, req.pattern or "")
        reached = line is not None
    else:
        listening = process.state.ports
        port = next((one for one in listening if req.port in (None, one)), None)
        reached = port is not None
    over = reached or process.state.ended
    answer = TaskWaited(
        reached=reached,
        timed_out=not over,
        line=line,
        offset_bytes=at,
        port=port,
        task=view_of(tx, process),
    )
    return answer if over else Wait(answer, req.timeout_ms, on=Concern(subjects=(process.task_id,)))


def _line(tx: Tx, process: Process, pattern: str) -> tuple[str | None, int | None]:
    """The first matching line in the first stream that has one, with secrets masked."""
    searches: LineSearches = tx.facts.of(LineSearches)
    for stream in process.state.streams:
        found = searches.first_line(tx, process, stream, pattern)
        if found:
            text, at = found
            return text.removesuffix("\r"), at
    return None, None


def _on_screen(tx: Tx, process: Process, pattern: str) -> tuple[str | None, int | None]:
    """The first matching row of the current screen, and the screen's offset."""
    words = [part for part in pattern.split("*") if part]
    screen, offset = screen_of(tx, process)
    for row in screen.lines():
        at = 0
        for word in words:
            found = row.find(word, at)
            if found < 0:
                break
            at = found + len(word)
        else:
            if row:
                return row, offset
    return None, None
