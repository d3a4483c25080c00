"""A recorded task as a file: one JSON object per line, in the order of events.

The first line says what was run; the last, how it ended and the totals of its output; the lines in
between hold what the program printed, when, and what was done to it. Input is recorded only as a
length. The lines are canonical: the same run gives the same bytes, so a digest identifies it.
Nothing here runs or answers anything.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from longhouse.kernel.tool_tasks import DELTA_BYTES, STREAMS, Mode, Stream

__all__ = [
    "FORMAT",
    "MOST_BYTES",
    "MOST_EVENTS",
    "BadRecording",
    "Cancel",
    "End",
    "Event",
    "Gap",
    "Header",
    "Input",
    "Output",
    "Resize",
    "Signal",
    "StreamEnd",
    "Totals",
    "decoded",
    "encoded",
    "lines_of",
    "pieces",
    "read",
]

FORMAT: Final = "longhouse-recording"
MOST_BYTES: Final = 64 << 20
"""The maximum output of a recording."""
MOST_EVENTS: Final = 1_000_000
MOST_LINE: Final = 6 * DELTA_BYTES + 1_024
"""A line holds at most one frame's worth of output; JSON may need six bytes for each byte of it."""
_MOST_MS: Final = 366 * 24 * 3_600_000

Ms = Annotated[int, Meta(ge=0, le=_MOST_MS)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Size = Annotated[int, Meta(ge=1, le=65_535)]
Words = Annotated[str, Meta(max_length=4_000)]


class BadRecording(ValueError):
    """The file is not a recording, or not a complete one."""


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
):
    """One line of a recording; unknown fields are refused."""


class Header(_Line, frozen=True, kw_only=True, tag=FORMAT):
    """The first line: what was run, and the size of its terminal."""

    version: Literal[1]
    mode: Mode
    rows: Size = 24
    cols: Size = 80
    tool: Annotated[str, Meta(max_length=128)] = ""
    command: Annotated[str, Meta(max_length=40_000)] = ""
    title: Annotated[str, Meta(max_length=200)] = ""
    started_at_ms: Count = 0


class Output(_Line, frozen=True, kw_only=True, tag="output"):
    """What the program printed: as `text`, or as `base64` if it is not UTF-8."""

    at: Ms
    stream: Stream
    offset: Count
    text: str | None = None
    base64: str | None = None

    @property
    def data(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        try:
            return binascii.a2b_base64(self.base64 or "", strict_mode=True)
        except ValueError as error:
            raise BadRecording(f"base64: {error}") from None

    @classmethod
    def of(cls, at: int, stream: Stream, offset: int, data: bytes) -> Output:
        try:
            return cls(at=at, stream=stream, offset=offset, text=data.decode())
        except UnicodeDecodeError:
            coded = base64.b64encode(data).decode()
            return cls(at=at, stream=stream, offset=offset, base64=coded)


class Gap(_Line, frozen=True, kw_only=True, tag="gap"):
    """Output that the log's cap removed."""

    at: Ms
    stream: Stream
    offset: Count
    bytes: Annotated[int, Meta(ge=1, le=2**53)]


class Resize(_Line, frozen=True, kw_only=True, tag="resize"):
    at: Ms
    rows: Size
    cols: Size


class Input(_Line, frozen=True, kw_only=True, tag="input"):
    """How many bytes were typed; the bytes themselves are never kept."""

    at: Ms
    bytes: Annotated[int, Meta(ge=0, le=2**20)]


class Signal(_Line, frozen=True, kw_only=True, tag="signal"):
    at: Ms
    signal: Annotated[str, Meta(pattern=r"\A[A-Z0-9]{2,10}\Z")]


class Cancel(_Line, frozen=True, kw_only=True, tag="cancel"):
    """Someone requested its end."""

    at: Ms
    reason: Words = ""


class StreamEnd(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The totals of one stream; `sha256` covers the bytes in the recording."""

    bytes: Count
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class End(_Line, frozen=True, kw_only=True, tag="end"):
    """The last line: how it ended."""

    at: Ms
    status: Literal["exited", "cancelled", "failed"]
    exit_code: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    signal: Annotated[str, Meta(max_length=16)] | None = None
    cause: Annotated[str, Meta(max_length=64)] | None = None
    error: Words | None = None
    streams: dict[Stream, StreamEnd]


Event = Output | Gap | Resize | Input | Signal | Cancel | End

decoded = msgspec.json.Decoder(Header | Event).decode
"""Decodes a line of a file that is known to be valid; use `read` for any other."""
_decode_header = msgspec.json.Decoder(Header).decode
_decode_event = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def encoded(line: Header | Event) -> bytes:
    """A line in its canonical form."""
    return _encode(line) + b"\n"


def pieces(at: int, stream: Stream, offset: int, data: bytes) -> Iterator[Output]:
    """Output in lines of at most one frame's worth, cut between characters if possible."""
    start = 0
    while start < len(data):
        stop = start + DELTA_BYTES
        if stop < len(data):
            stop = next(
                (cut for cut in range(stop, stop - 4, -1) if data[cut] & 0xC0 != 0x80), stop
            )
        yield Output.of(at, stream, offset + start, data[start:stop])
        start = stop


class Totals:
    """Adds up the output of a recording, line by line."""

    def __init__(self, mode: Mode) -> None:
        self.sizes: dict[Stream, int] = dict.fromkeys(STREAMS[mode], 0)
        self.gaps: dict[Stream, tuple[int, int]] = {}
        self.kept = 0
        self._digests = {stream: hashlib.sha256() for stream in STREAMS[mode]}

    def take(self, event: Output | Gap) -> None:
        """Add a piece; it must begin where the last one ended."""
        if event.stream not in self.sizes:
            raise BadRecording(f"there is no stream {event.stream} in this mode")
        if event.offset != self.sizes[event.stream]:
            raise BadRecording(
                f"offset: {event.stream} continues at {self.sizes[event.stream]}, "
                f"not {event.offset}"
            )
        if isinstance(event, Gap):
            begun, end = self.gaps.get(event.stream, (event.offset, event.offset))
            if end != event.offset:
                raise BadRecording(f"{event.stream} has more than one gap")
            self.gaps[event.stream] = (begun, event.offset + event.bytes)
            self.sizes[event.stream] += event.bytes
            return
        data = event.data
        if not 0 < len(data) <= DELTA_BYTES:
            raise BadRecording(f"{len(data)} bytes of output; a line has 1 to {DELTA_BYTES}")
        self.sizes[event.stream] += len(data)
        self.kept += len(data)
        self._digests[event.stream].update(data)

    def ends(self) -> dict[Stream, StreamEnd]:
        return {
            stream: StreamEnd(bytes=size, sha256=self._digests[stream].hexdigest())
            for stream, size in self.sizes.items()
        }


def read(lines: Iterable[bytes], most: int = MOST_EVENTS) -> Iterator[Header | Event]:
    """The lines of a recording, checked one by one; BadRecording says what is wrong, and where.

    Lines yielded before an error must not be trusted: only the last line proves the whole.
    """
    number, told, totals, ended = 0, 0, None, False
    for number, raw in enumerate(lines, 1):
        try:
            if ended:
                raise BadRecording("there are lines after the end")
            if number > most:
                raise BadRecording(f"more than {most} lines")
            if len(raw) > MOST_LINE:
                raise BadRecording(f"a line of more than {MOST_LINE} bytes")
            if totals is None:
                header = _decode_header(raw)
                totals = Totals(header.mode)
                yield header
                continue
            event = _decode_event(raw)
            told = _follow(event, told, totals)
            ended = isinstance(event, End)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, BadRecording) as error:
            raise BadRecording(f"line {number}: {error}") from None
        yield event
    if not ended:
        raise BadRecording(
            f"it stops after line {number}, before its end" if number else "it is empty"
        )


def _follow(event: Event, told: int, totals: Totals) -> int:
    """Check one event against those before it; returns its time."""
    if event.at < told:
        raise BadRecording(f"at: {event.at} ms follows {told} ms")
    if isinstance(event, Output | Gap):
        totals.take(event)
        if totals.kept > MOST_BYTES:
            raise BadRecording(f"more than {MOST_BYTES} bytes of output")
    elif isinstance(event, End) and event.streams != totals.ends():
        raise BadRecording("streams: the output does not match these totals")
    return event.at


def lines_of(blocks: Iterable[bytes], most: int = MOST_LINE) -> Iterator[bytes]:
    """The lines of a file given in blocks; an endless line is cut off, not collected."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
        if len(rest) > most:
            yield rest
            return
    if rest:
        yield rest
