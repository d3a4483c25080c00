"""Converts recordings to asciicast v3, the format of asciinema, and back.

An asciicast holds text, not bytes, so anything that is not UTF-8 becomes U+FFFD; times are kept to
the millisecond. Input (`i`) and markers (`m`) are left out in both directions.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from longhouse.terminals import recording as rec
from longhouse.terminals.recording import (
    MOST_EVENTS,
    MOST_LINE,
    BadRecording,
    Cancel,
    End,
    Event,
    Gap,
    Header,
    Input,
    Output,
    Resize,
    Signal,
    Totals,
    pieces,
)

__all__ = ["AsciicastWriter", "from_asciicast", "read_either", "to_asciicast"]

MOST_CAST_LINE = 64 * MOST_LINE
"""Other programs write as much into one line as was printed at once."""
_MOST_S = 366 * 24 * 3_600
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "TERM": 15}


def read_either(blocks: Iterable[bytes], most: int = MOST_EVENTS) -> Iterator[Header | Event]:
    """Read a recording or an asciicast v3, given as blocks of any size."""
    lines = rec.lines_of(blocks, MOST_CAST_LINE)
    first = next(lines, b"")
    whole = chain([first], lines) if first else lines
    return from_asciicast(whole, most) if _is_asciicast(first) else rec.read(whole, most)


def _is_asciicast(line: bytes) -> bool:
    """Whether this first line looks like that of an asciicast, of any version."""
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict) and "version" in head and "type" not in head


def to_asciicast(recording: Iterable[Header | Event]) -> Iterator[bytes]:
    """The lines of an asciicast; BadRecording for a task without a terminal."""
    writer = AsciicastWriter()
    for one in recording:
        yield from writer.lines(one)


class AsciicastWriter:
    """Writes an asciicast while its recording is read."""

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._before = 0

    def lines(self, one: Header | Event) -> Iterator[bytes]:
        """The asciicast lines for the next line of the recording."""
        match one:
            case Header():
                if one.mode != "pty":
                    raise BadRecording("only a task in a terminal can become an asciicast")
                yield _json(_head(one))
            case Output():
                if shown := self._text.decode(one.data):
                    yield self._line(one, "o", shown)
            case Resize():
                yield self._line(one, "r", f"{one.cols}x{one.rows}")
            case End():
                if rest := self._text.decode(b"", final=True):
                    yield self._line(one, "o", rest)
                code = one.exit_code
                if code is None and one.signal:
                    code = 128 + _SIGNALS.get(one.signal, 0)
                if code is not None:
                    yield self._line(one, "x", str(code))
            case Gap() | Input() | Signal() | Cancel():
                pass

    def _line(self, event: Event, code: str, data: str) -> bytes:
        interval, self._before = (event.at - self._before) / 1000, event.at
        return _json([interval, code, data])


def _head(header: Header) -> dict[str, Any]:
    head: dict[str, Any] = {
        "version": 3,
        "term": {"cols": header.cols, "rows": header.rows},
        "timestamp": header.started_at_ms // 1000,
    }
    if header.command:
        head["command"] = header.command
    if header.title:
        head["title"] = header.title
    return head


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def from_asciicast(lines: Iterable[bytes], most: int = MOST_EVENTS) -> Iterator[Header | Event]:
    """Convert an asciicast v3 to a recording; BadRecording says what is wrong, and where."""
    totals, seconds, code, number = Totals("pty"), 0.0, None, 0
    begun = False
    for number, raw in enumerate(lines, 1):
        try:
            if number > most:
                raise BadRecording(f"more than {most} lines")
            if len(raw) > MOST_CAST_LINE:
                raise BadRecording(f"a line of more than {MOST_CAST_LINE} bytes")
            if not raw.strip() or raw.startswith(b"#"):
                continue
            value = json.loads(raw)
            if not begun:
                begun = True
                yield _header(value)
                continue
            interval, kind, data = _event(value)
            seconds += interval
            if seconds > _MOST_S:
                raise BadRecording("it lasts longer than a year")
            at = round(seconds * 1000)
            if kind == "o":
                for piece in pieces(at, "pty", totals.sizes["pty"], data.encode()):
                    totals.take(piece)
                    if totals.kept > rec.MOST_BYTES:
                        raise BadRecording(f"more than {rec.MOST_BYTES} bytes of output")
                    yield piece
            elif kind == "r":
                cols, rows = _size(data)
                yield Resize(at=at, rows=rows, cols=cols)
            elif kind == "x":
                code = _exit(data)
        except (ValueError, RecursionError) as error:
            raise BadRecording(f"line {number}: {error}") from None
    if not begun:
        raise BadRecording("it is empty")
    at = round(seconds * 1000)
    yield End(at=at, status="exited", exit_code=code, streams=totals.ends())


def _header(value: Any) -> Header:
    if not isinstance(value, dict) or "version" not in value:
        raise BadRecording("expected the header of an asciicast")
    if value["version"] != 3:
        raise BadRecording(
            f"asciicast version {str(value['version'])[:20]}, but only 3 is supported; "
            "convert older ones with: asciinema convert OLD NEW"
        )
    term = value.get("term")
    if not isinstance(term, dict):
        raise BadRecording("term: expected an object with cols and rows")
    stamp = value.get("timestamp")
    return Header(
        version=1,
        mode="pty",
        rows=_number("term.rows", term.get("rows"), 65_535),
        cols=_number("term.cols", term.get("cols"), 65_535),
        command=_text("command", value.get("command"), 40_000),
        title=_text("title", value.get("title"), 200),
        started_at_ms=1000 * _number("timestamp", stamp, 2**40) if stamp else 0,
    )


def _event(value: Any) -> tuple[float, str, str]:
    if not isinstance(value, list) or len(value) != 3:
        raise BadRecording('expected [interval, code, data], such as [0.5, "o", "hi"]')
    interval, code, data = value
    if isinstance(interval, bool) or not isinstance(interval, int | float):
        raise BadRecording("the interval is not a number")
    if not 0 <= interval <= _MOST_S:
        raise BadRecording(f"the interval is not between 0 and {_MOST_S} seconds")
    if not isinstance(code, str) or not isinstance(data, str):
        raise BadRecording("code and data must be text")
    return float(interval), code, data


def _size(data: str) -> tuple[int, int]:
    cols, _, rows = data.partition("x")
    if not (cols.isascii() and cols.isdigit() and rows.isascii() and rows.isdigit()):
        raise BadRecording(f"{data[:20]!r} is not a size such as 80x24")
    return _number("cols", int(cols[:9]), 65_535), _number("rows", int(rows[:9]), 65_535)


def _exit(data: str) -> int:
    if not (data.isascii() and data.isdigit() and len(data) < 10):
        raise BadRecording(f"{data[:20]!r} is not an exit code")
    return int(data)


def _number(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadRecording(f"{name}: expected a number from 1 to {most}")
    return value


def _text(name: str, value: Any, most: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most:
        raise BadRecording(f"{name}: expected text of at most {most} characters")
    value.encode()  # a lone surrogate raises ValueError
    return value
