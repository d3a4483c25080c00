"""`docs.transcripts.open`: one record of a transcript and the messages around it."""

from __future__ import annotations

from collections import deque
from typing import BinaryIO, NamedTuple

from longhouse.kernel.budget import Clip, Keep, Pop
from longhouse.kernel.errors import InvalidInput, LonghouseError, Suggestion, UnknownId
from longhouse.kernel.redact import redact_text
from longhouse.kernel.registry import Role
from longhouse.kernel.terminal import pictured
from longhouse.memory import standing
from longhouse.store.tx import Tx
from longhouse.thinking.places import place_of
from longhouse.thinking.room import room
from longhouse.thinking.transcripts.access import admit, refuse_foreign
from longhouse.thinking.transcripts.buffer import BLOCK
from longhouse.thinking.transcripts.folders import open_file, root_of
from longhouse.thinking.transcripts.messages import message_of, project_of, record_of
from longhouse.thinking.transcripts.reading import (
    BytesLeft,
    FoundLine,
    beginning,
    lines_with,
    window,
)
from longhouse.thinking.types.cards import CreateIdea
from longhouse.thinking.types.scopes import Stepped
from longhouse.thinking.types.transcripts import (
    OpenedEntry,
    OpenTranscript,
    TranscriptOpened,
    TranscriptRef,
)

__all__ = ["open_transcript"]

_ENDLESS = 1 << 62
_BACK = 4 << 20
_CAPTURED = 2_000


@room.command(
    "docs.transcripts.open",
    role=Role.AGENT,
    slow=True,
    tier="audit",
    example=OpenTranscript(ref=TranscriptRef(path="session.jsonl", line=1)),
    trim=[
        Clip("entries.text", 400),
        Pop("entries", oldest="first", leave=1),
        Clip("entries.text", 80),
        Keep(("ref", "root_dir", "entries")),
        Pop("entries"),
        Keep(("ref",)),
    ],
)
def open_transcript(tx: Tx, req: OpenTranscript) -> TranscriptOpened:
    """Read a transcript around one record."""
    if (req.ref.line is None) == (req.ref.byte is None):
        raise InvalidInput(
            "ref: expected exactly one of line and byte; "
            'fix: ref={"path": "session.jsonl", "line": 1}',
            recovery="copy a ref from docs.transcripts.search or docs.transcripts.digest",
        )
    admit(tx)
    root = root_of(tx, req.root_dir)
    with open_file(root, req.ref.path) as (file, size):
        header, _ = beginning(file, size, BytesLeft(_ENDLESS))
        refuse_foreign(tx, header, req.ref.path)
        if req.ref.line is not None:
            found = _by_line(file, size, req)
        else:
            found = _by_byte(tx, file, size, req)
    entries = [entry for line in found if (entry := _entry(line))]
    _offer(tx, req, entries)
    return TranscriptOpened(
        root_dir=str(root.path),
        ref=req.ref,
        session=header.session,
        project=project_of(header),
        entries=entries,
    )


class _Line(NamedTuple):
    """A line, and whether it is the requested one."""

    found: FoundLine
    here: bool


def _by_line(file: BinaryIO, size: int, req: OpenTranscript) -> list[_Line]:
    """The lines around a line number; only these are held in memory."""
    wanted = req.ref.line or 1
    kept: deque[_Line] = deque(maxlen=req.before_lines + req.after_lines + 1)
    last = 0
    for one in lines_with(file, size, b"", BytesLeft(_ENDLESS)):
        last = one.number or 0
        if last > wanted + req.after_lines:
            break
        if last >= wanted - req.before_lines:
            kept.append(_Line(one, last == wanted))
    if last < wanted:
        raise UnknownId(
            f"ref.line: {req.ref.path[:200]} has {last} lines, not {wanted}",
            recovery=f"use a line from 1 to {max(last, 1)}",
        )
    return list(kept)


def _by_byte(tx: Tx, file: BinaryIO, size: int, req: OpenTranscript) -> list[_Line]:
    """The lines around an offset, read backwards and forwards within bounds."""
    asked = req.ref.byte or 0
    if asked >= max(size, 1):
        raise UnknownId(
            f"ref.byte: {req.ref.path[:200]} has {size} bytes, not {asked}",
            recovery="copy a ref from docs.transcripts.digest",
        )
    start = max(asked - _BACK, 0)
    before = window(file, start, asked - start, BytesLeft(_ENDLESS))
    begin = start + before.rfind(b"\n") + 1
    if begin != asked:
        tx.warn(
            "TRANSCRIPTS_REF_NOT_EXACT",
            f"byte {asked} is inside the line that begins at {begin}",
            f"use byte={begin}",
        )
    earlier: list[_Line] = []
    stop = begin - start
    while stop > 0 and len(earlier) < req.before_lines:
        at = before.rfind(b"\n", 0, stop - 1) + 1
        if at == 0 and start > 0:
            break  # that line was read only in part
        earlier.insert(0, _Line(FoundLine(start + at, before[at : stop - 1]), False))
        stop = at
    later: list[_Line] = []
    after = window(file, begin, min(size - begin, _BACK + BLOCK), BytesLeft(_ENDLESS))
    at = begin
    for line in after.split(b"\n")[: req.after_lines + 1]:
        later.append(_Line(FoundLine(at, line), at == begin))
        at += len(line) + 1
    return [*earlier, *later]


def _entry(line: _Line) -> OpenedEntry | None:
    record = record_of(line.found.line)
    message = message_of(record) if record else None
    if message is None:
        return None
    return OpenedEntry(
        line=line.found.number,
        byte=line.found.byte,
        role=message.role,
        ts=message.ts,
        text=pictured(message.text),
        here=line.here,
    )


def _offer(tx: Tx, req: OpenTranscript, entries: list[OpenedEntry]) -> None:
    """Suggest saving the record as a note, for the step in focus if there is one."""
    here = next((entry for entry in entries if entry.here), None)
    if here is None:
        return
    where = f"line {req.ref.line}" if req.ref.line else f"byte {req.ref.byte}"
    meta: dict[str, object] = {"source": "transcript", "path": req.ref.path}
    if standing(tx).focus:
        try:
            step = place_of(tx, Stepped(step="focus")).step
        except LonghouseError:
            step = None
        if step is not None:
            meta["step"] = {"task_id": step.task_id, "step_id": step.step_id, "path": step.path}
    tx.suggestions.append(
        Suggestion(
            CreateIdea(
                content=f"{redact_text(here.text)[:_CAPTURED]}\n\nFrom {req.ref.path}, {where}.",
                title="From a transcript",
                meta=meta,
            ),
            "save this as a note",
            priority="low",
        )
    )
