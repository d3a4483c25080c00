"""Recordings as files: canonical, checked to the last byte, and as asciicasts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.terminals import recording as rec
from longhouse.terminals.asciicast import (
    MOST_CAST_LINE,
    from_asciicast,
    read_either,
    to_asciicast,
)


def made(*events: rec.Event, **header: Any) -> list[rec.Header | rec.Event]:
    """A recording of these events, with matching totals at the end."""
    totals = rec.Totals(header.get("mode", "pty"))
    for event in events:
        if isinstance(event, rec.Output | rec.Gap):
            totals.take(event)
    about: dict[str, Any] = {"mode": "pty", "started_at_ms": 1_000_000, **header}
    head = rec.Header(version=1, **about)
    at = events[-1].at if events else 0
    return [head, *events, rec.End(at=at, status="exited", exit_code=3, streams=totals.ends())]


def file_of(recording: Iterable[rec.Header | rec.Event]) -> bytes:
    return b"".join(map(rec.encoded, recording))


def lines(data: bytes, block: int = 7) -> Iterable[bytes]:
    return rec.lines_of(data[at : at + block] for at in range(0, len(data), block))


def printed(*parts: tuple[int, bytes]) -> list[rec.Event]:
    events: list[rec.Event] = []
    offset = 0
    for at, data in parts:
        events += rec.pieces(at, "pty", offset, data)
        offset += len(data)
    return events


STORY = made(
    *printed((0, b"$ "), (40, b"ls\r\n\x1b[32ma\x1b[0m\r\n")),
    rec.Input(at=50, bytes=9),
    rec.Resize(at=60, rows=30, cols=100),
    rec.Signal(at=70, signal="INT"),
    command="bash",
    title="a session",
)


def test_a_recording_is_read_as_it_was_written() -> None:
    assert list(rec.read(lines(file_of(STORY)))) == STORY


@given(st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=30_000)), max_size=6))
def test_any_output_comes_back_byte_for_byte(parts: list[tuple[int, bytes]]) -> None:
    at, timed = 0, []
    for wait, data in parts:
        at += wait
        timed.append((at, data))
    recording = made(*printed(*timed))
    back = list(rec.read(lines(file_of(recording), 4_096)))
    assert back == recording
    output = [event.data for event in back if isinstance(event, rec.Output)]
    assert b"".join(output) == b"".join(data for _, data in parts)
    assert all(0 < len(data) <= 8_192 for data in output)


def test_text_is_readable_in_the_file_and_characters_are_not_cut() -> None:
    text = "\u6f22" * 6_000
    recording = made(*printed((0, text.encode())))
    assert all(one.text for one in recording if isinstance(one, rec.Output))
    assert "\u6f22\u6f22" in file_of(recording).decode()


GOOD = file_of(STORY)
SPOILT = {
    "an empty file": (b"", "it is empty"),
    "no recording": (b"hello\n", "line 1"),
    "a file that stops": (b"".join(GOOD.splitlines(keepends=True)[:-1]), "before its end"),
    "half a line": (GOOD[:-20], "line 7"),
    "a later version": (GOOD.replace(b'"version":1', b'"version":2', 1), "line 1"),
    "a changed byte": (GOOD.replace(b"$ ", b"# ", 1), "does not match these totals"),
    "a missing line": (
        GOOD.replace(GOOD.splitlines(keepends=True)[1], b""),
        "offset: pty continues",
    ),
    "another stream": (GOOD.replace(b'"pty","offset":0', b'"stdout","offset":0'), "no stream"),
    "time that goes back": (GOOD.replace(b'"at":40', b'"at":99', 1), "ms follows"),
    "an unknown event": (GOOD.replace(b'"type":"signal"', b'"type":"exec"'), "line 6"),
    "an unknown field": (GOOD.replace(b'"at":50', b'"argv":["sh"],"at":50'), "line 4"),
    "a huge size": (GOOD.replace(b'"rows":30', b'"rows":99999999'), "line 5"),
    "something behind the end": (GOOD + b"{}\n", "lines after the end"),
    "a line without end": (GOOD[:200] + b"x" * 99_999, "a line of more than"),
    "deep nesting": (b"[" * 40_000 + b"\n", "line 1"),
    "bytes that are no text": (b"\xff\xfe" * 40 + b"\n", "line 1"),
    "bad base64": (GOOD.replace(b'"text":"$ "', b'"base64":"!!"'), "base64"),
}


@pytest.mark.parametrize("data, said", SPOILT.values(), ids=SPOILT)
def test_a_file_that_is_no_whole_recording_is_refused_with_the_place(
    data: bytes, said: str
) -> None:
    with pytest.raises(rec.BadRecording, match=said):
        list(rec.read(lines(data)))


def test_a_recording_has_an_end_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rec, "MOST_BYTES", 10)
    with pytest.raises(rec.BadRecording, match="more than 10 bytes of output"):
        list(rec.read(lines(GOOD)))
    with pytest.raises(rec.BadRecording, match="more than 2 lines"):
        list(rec.read(lines(GOOD), 2))


def test_an_asciicast_is_what_asciinema_writes_and_reads() -> None:
    head, *events = [json.loads(line) for line in to_asciicast(STORY)]
    assert head == {
        "version": 3,
        "term": {"cols": 80, "rows": 24},
        "timestamp": 1000,
        "command": "bash",
        "title": "a session",
    }
    assert events == [
        [0.0, "o", "$ "],
        [0.04, "o", "ls\r\n\x1b[32ma\x1b[0m\r\n"],
        [0.02, "r", "100x30"],
        [0.01, "x", "3"],
    ]


def test_an_asciicast_of_an_asciicast_is_the_same() -> None:
    split = "gr\u00fcn".encode()
    story = made(*printed((0, split[:3]), (1, split[3:] + b"\xff!"), (999, b"\x00bye")))
    cast = b"".join(to_asciicast(story))
    again = list(from_asciicast(lines(cast)))
    assert list(read_either([cast[:5], cast[5:]])) == again
    assert b"".join(to_asciicast(again)) == cast
    assert list(rec.read(lines(file_of(again)))) == again
    text = b"".join(one.data for one in again if isinstance(one, rec.Output)).decode()
    assert text == "gr\u00fcn\ufffd!\x00bye"


def test_what_was_typed_is_not_taken_from_an_asciicast() -> None:
    head = b'{"version":3,"term":{"cols":80,"rows":24}}\n# a comment\n'
    cast = head + b'[0.1,"i","secret"]\n[0.1,"m","mark"]\n[0.2,"o","hi"]\n[0,"z","?"]\n'
    told = list(from_asciicast(lines(cast)))
    assert b"secret" not in file_of(told)
    assert [type(one).__name__ for one in told] == ["Header", "Output", "End"]
    assert isinstance(told[1], rec.Output)
    assert told[1].at == 400


HEAD = b'{"version":3,"term":{"cols":80,"rows":24}}\n'
BAD_CASTS = {
    "an empty file": (b"", "empty"),
    "an older version": (b'{"version":2,"width":80,"height":24}\n', "asciinema convert"),
    "no size": (b'{"version":3}\n', "term"),
    "a size of nothing": (b'{"version":3,"term":{"cols":0,"rows":24}}\n', "term.cols"),
    "an event that is none": (HEAD + b'{"o":1}\n', "line 2"),
    "time that goes back": (HEAD + b'[-1,"o","a"]\n', "the interval is not between 0 and"),
    "no time at all": (HEAD + b'[NaN,"o","a"]\n', "the interval is not between 0 and"),
    "endless time": (HEAD + b'[1e308,"o","a"]\n', "the interval is not between 0 and"),
    "years": (HEAD + b'[31000000,"o","a"]\n' * 2, "longer than a year"),
    "more digits than a time has": (
        HEAD + b"[" + b"9" * 401 + b',"o","a"]\n',
        "the interval is not between",
    ),
    "half a character in the title": (HEAD[:-2] + b',"title":"\\ud800"}\n', "line 1"),
    "a truth for a time": (HEAD + b'[true,"o","a"]\n', "not a number"),
    "a bad resize": (HEAD + b'[0,"r","80 by 24"]\n', "not a size"),
    "a bad exit code": (HEAD + b'[0,"x","-1"]\n', "not an exit code"),
    "half a line": (HEAD + b'[0,"o","a', "line 2"),
    "half a character": (HEAD + b'[0,"o","\\ud800"]\n', "line 2"),
    "deep nesting": (b"[" * 60_000 + b"\n", "line 1"),
    "no header": (b"[]\n", "header of an asciicast"),
    "a number for a code": (HEAD + b'[0,1,"a"]\n', "code and data must be text"),
    "a number for a title": (HEAD[:-2] + b',"title":7}\n', "title: expected text"),
}


@pytest.mark.parametrize("data, said", BAD_CASTS.values(), ids=BAD_CASTS)
def test_a_file_that_is_no_asciicast_is_refused_with_the_place(data: bytes, said: str) -> None:
    with pytest.raises(rec.BadRecording, match=said):
        list(from_asciicast(lines(data, 4_096)))


def test_an_asciicast_may_say_that_its_time_is_unknown() -> None:
    (header, *_) = from_asciicast(lines(HEAD[:-2] + b',"timestamp":null}\n'))
    assert isinstance(header, rec.Header)
    assert header.started_at_ms == 0


def test_an_asciicast_has_an_end_to_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rec, "MOST_BYTES", 10)
    cast = iter(from_asciicast(lines(HEAD + b'[0,"o","123456"]\n' * 2 + b"never read")))
    assert [type(next(cast)).__name__ for _ in range(2)] == ["Header", "Output"]
    with pytest.raises(rec.BadRecording, match="line 3: more than 10 bytes of output"):
        next(cast)


def test_only_what_ran_in_a_terminal_can_be_an_asciicast() -> None:
    with pytest.raises(rec.BadRecording, match="in a terminal"):
        list(to_asciicast(made(mode="pipes")))


def test_an_asciicast_has_an_end_to_its_lines() -> None:
    with pytest.raises(rec.BadRecording, match="line 3: more than 2 lines"):
        list(from_asciicast(lines(HEAD + b'[0,"o","a"]\n' * 2), 2))
    with pytest.raises(rec.BadRecording, match="line 2: a line of more than"):
        list(from_asciicast([HEAD, b" " * (MOST_CAST_LINE + 1)]))


def test_an_asciicast_leaves_out_what_it_has_no_word_for() -> None:
    shown, cut = printed((0, b"a"), (4, b"\xe2"))
    asked = rec.Signal(at=2, signal="TERM"), rec.Cancel(at=3, reason="enough")
    story = made(shown, rec.Input(at=1, bytes=3), *asked, cut)[:-1]
    story.append(rec.End(at=9, status="cancelled", signal="TERM", streams={}))
    _, *events = [json.loads(line) for line in to_asciicast(story)]
    assert events == [[0.0, "o", "a"], [0.009, "o", "\ufffd"], [0.0, "x", "143"]]


def test_a_task_that_ended_nobody_knows_how_has_no_exit_in_its_asciicast() -> None:
    story = [made()[0], rec.End(at=5, status="failed", cause="host_lost", streams={})]
    assert len(list(to_asciicast(story))) == 1


def test_a_gap_goes_on_where_it_began_and_no_second_one_begins() -> None:
    totals = rec.Totals("pty")
    totals.take(rec.Gap(at=0, stream="pty", offset=0, bytes=4))
    totals.take(rec.Gap(at=0, stream="pty", offset=4, bytes=6))
    assert totals.gaps == {"pty": (0, 10)}
    totals.take(rec.Output.of(0, "pty", 10, b"x"))
    with pytest.raises(rec.BadRecording, match="more than one gap"):
        totals.take(rec.Gap(at=0, stream="pty", offset=11, bytes=1))
    with pytest.raises(rec.BadRecording, match="a line has 1 to"):
        totals.take(rec.Output(at=0, stream="pty", offset=11, text=""))
