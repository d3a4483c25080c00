"""Nothing a program prints makes a viewer's terminal answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.terminals.passive import Passive

ASKING = {
    "who are you": b"\x1b[c",
    "who are you, more": b"\x1b[>c\x1b[=c\x1b[0c",
    "who are you, old": b"\x1bZ",
    "answer back": b"\x05",
    "where is the cursor": b"\x1b[6n\x1b[?6n",
    "how are you": b"\x1b[5n",
    "which terminal": b"\x1b[>q\x1b[>0q",
    "which mode": b"\x1b[?2026$p\x1b[4$p",
    "which keys": b"\x1b[?u\x1b[?4m",
    "which size": b"\x1b[14t\x1b[18t\x1b[21t",
    "which colour": b"\x1b]10;?\x07\x1b]11;?\x1b\\\x1b]4;1;red;2;?\x07",
    "what is in the clipboard": b"\x1b]52;c;?\x07",
    "which setting": b"\x1bP$qm\x1b\\",
    "which capability": b"\x1bP+q544e\x1b\\",
    "which checksum": b"\x1b[1;1;1;1;1;1*y",
    "which graphics": b"\x1b_Gi=1,a=q;AAAA\x1b\\\x1b[?1;1;0S",
    "tell me of every size": b"\x1b[?2048h",
    "tell me of every size, with zeros before": b"\x1b[?02048h\x1b[?25;02031h",
    "become another terminal": b"\x1b[?2l\x1b[?2:1h",
    "lock the keyboard": b"\x1b[2h\x1b[4;02h",
    "wait for the program": b"\x1b[?1001h",
    "keep a mode and set it later": b"\x1b[?2048s\x1b[?2048r",
    "read characters as controls": b"\x1b%@\x1b G\x1bn\x1b~",
    "print the screen": b"\x1b[5i",
    "eight bits": b"\xc2\x9b\xc2\x9d\xc2\x85",
    "with a bell in the middle": b"\x1b[6\x07n",
    "begun twice": b"\x1b[6\x1b[6n",
    "after a string that was cut off": b"\x1b]0;title\x1b[6n",
    "set the title": b"\x1b]0;a title?\x07\x1b]1;icon\x07\x1b]2;window\x1b\\",
    "name the folder of new windows": b"\x1b]7;file://host/tmp\x07",
    "link to a file": b"\x1b]8;;file:///etc/passwd\x1b\\",
    "link to a program": b"\x1b]8;id=1;vscode://x\x07\x1b]8;; FILE:///x\x07\x1b]8;;/etc\x07",
}
SHOWN = [
    b"plain text\r\n",
    "gr\u00fcn \u6f22 \N{GRINNING FACE}".encode(),
    b"\x1b[1;38;5;196mred\x1b[0m",
    b"\x1b[2J\x1b[10;20H\x1b[K\x1b[3A",
    b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1002;1006h",
    b"\x1b]8;id=1;HTTP://example.org/a;b\x07",
    b"\x1b]8;;https://example.org/?a=b\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b]11;rgb:00/00/00\x07",
    b"\x1b(B\x1b=\x1b7\x1b8\x1bM\x1bc",
    b"\x1b)0\x0e\x1b#8\x1bD\x1bE\x1bH\x1b\\\x1b[4h\x1b[20h\x1b[4;20l",
    b"\x1b[22;0;0t\x1b[4 q\x1b[!p\x1b[>4;2m",
    b"\x1b[?1l\x1b>\x1b[r\x1b[0m\x1b[<u",
]


def shown(data: bytes, step: int | None = None) -> bytes:
    passive = Passive()
    step = step or max(1, len(data))
    return b"".join(passive.feed(data[at : at + step]) for at in range(0, len(data), step))


@pytest.mark.parametrize("step", [None, 1, 3])
@pytest.mark.parametrize("asked", ASKING.values(), ids=ASKING)
def test_no_question_reaches_the_terminal_however_it_is_cut(asked: bytes, step: int | None) -> None:
    assert shown(b"a" + asked + b"b", step) == b"ab"


@pytest.mark.parametrize("step", [None, 1, 3])
@pytest.mark.parametrize("data", SHOWN)
def test_what_only_shows_something_passes_unchanged(data: bytes, step: int | None) -> None:
    assert shown(data, step) == data


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert shown(b"a\xff\x9b6nb") == "a\ufffd\ufffd6nb".encode()


def test_a_sequence_that_never_ends_takes_no_memory_and_shows_nothing() -> None:
    passive = Passive()
    assert passive.feed(b"\x1b]0;") == b""
    for _ in range(100):
        assert passive.feed(b"x" * 10_000) == b""
    assert len(passive._begun) < 5_000
    assert passive.feed(b"\x07after") == b"after"


def test_an_escape_that_never_ends_takes_no_memory_and_shows_nothing() -> None:
    passive = Passive()
    passive.feed(b"\x1b" + b" " * 400_000)
    assert len(passive._begun) < 5_000
    assert passive.feed(b"Fafter") == b"after"


def test_modes_are_undone_also_where_zeros_were_written_before_them() -> None:
    passive = Passive()
    passive.feed(b"\x1b[?025l\x1b[?01006h\x1b[20h")
    assert passive.undo == b"\x1b[?25h\x1b[?1006l\x1b[4;20l"


@given(st.lists(st.sampled_from([*ASKING.values(), *SHOWN, b"\x1b", b"[", b"]", b"\x9b", b"6n"])))
def test_what_came_out_once_comes_out_of_a_second_look_unchanged(parts: list[bytes]) -> None:
    once = shown(b"".join(parts))
    assert shown(once) == once


def test_what_a_program_set_is_undone_and_nothing_else() -> None:
    passive = Passive()
    passive.feed(b"only text\r\n")
    assert passive.undo == b""
    passive.feed(
        b"\x1b[?25l\x1b[?1002;1006h\x1b[?1049h\x1b[?2004h\x1b[?2004l\x1b=\x1b[2;9r\x1b[31m"
    )
    undone = passive.undo
    assert undone.startswith(b"\x1b[?1049l")
    for part in (b"\x1b[?25h", b"\x1b[?1002l", b"\x1b[?1006l", b"\x1b>", b"\x1b[r", b"\x1b[0m"):
        assert part in undone
    assert b"2004" not in undone
    passive.feed(undone)
    assert b"?" not in passive.undo
