"""What a program's bytes show on a screen, and what a screen can report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.redact import secret_spans
from longhouse.terminals import styles
from longhouse.terminals.screen import SCROLLBACK, Cursor, Screen
from longhouse.terminals.sequences import NOTABLE, QUESTIONS, SETTINGS, STRING_CHARS
from longhouse.terminals.styles import Style


def shown(data: bytes, rows: int = 5, cols: int = 10) -> Screen:
    screen = Screen(rows, cols)
    screen.feed(data)
    return screen


def again(screen: Screen) -> Screen:
    """What another terminal shows after it was sent the snapshot."""
    return shown(screen.snapshot(), screen.rows, screen.cols)


@pytest.mark.parametrize(
    "data, text",
    [
        (b"one\r\ntwo", "one\ntwo"),
        (b"0123456789ab", "0123456789\nab"),
        (b"\x1b[?7l0123456789ab", "012345678b"),
        (b"abc\rX", "Xbc"),
        (b"abc\x08\x08X", "aXc"),
        (b"a\tb", "a       b"),
        (b"abc\x1b[2DX", "aXc"),
        (b"\x1b[3;4Hx", "\n\n   x"),
        (b"abcdef\x1b[1;3H\x1b[K", "ab"),
        (b"abcdef\x1b[1;3H\x1b[1K", "   def"),
        (b"abcdef\x1b[1;3H\x1b[2P", "abef"),
        (b"abcdef\x1b[1;3H\x1b[2@", "ab  cdef"),
        (b"abcdef\x1b[1;3H\x1b[2X", "ab  ef"),
        (b"abc\x1b[1;2H\x1b[4hX\x1b[4l", "aXbc"),
        (b"ab\x1b[3b", "abbbb"),
        (b"1\r\n2\r\n3\x1b[1;1H\x1b[L", "\n1\n2\n3"),
        (b"1\r\n2\r\n3\x1b[1;1H\x1b[M", "2\n3"),
        (b"1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\n", "1\n3\n4\n\n5"),
        (b"1\r\n2\x1b[1;1H\x1bM", "\n1\n2"),
        (b"1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6"),
        (b"\x1b(0lqk\x1b(Bq", "┌─┐q"),
        ("日本語".encode(), "日本語"),
        ("日本語日本語".encode(), "日本語日本\n語"),
        ("日本\x1b[1;2Hx".encode(), " x本"),
        ("e\u0301a".encode(), "\u00e9a"),
        (b"ok\xff\xfe!", "ok\ufffd\ufffd!"),
        (b"a\x1b[31;999999999999mb", "ab"),
        (b"a\x1b]0;a title\x07b", "ab"),
        (b"a\x1bPq#0;2;0;0;0\x1b\\b", "ab"),
        (b"a\x1b[12\x18b", "ab"),
        (b"\x1b[20ha\nb", "a\nb"),
        (b"a\x1b[3Bb\x1b[2Ac\x1b[Cd", "a\n  c d\n\n b"),
        (b"\x1b[2;4r\x1b[1;1H\x1b[9Bx\x1b[9Ay", "\n y\n\nx"),
        (b"\x1b[2;4r\x1b[1;1H\x1b[9Ax\x1b[5;1H\x1b[9By", "x\n\n\n\ny"),
        (b"ab\x1b[Ec\x1b[Fd", "db\nc"),
        (b"abc\x1b[2Gx\x1b[9`y", "axc     y"),
        (b"ab\x1b[3dc", "ab\n\n  c"),
        (b"ab\x1b[2ec\x1b[2ad", "ab\n\n  c  d"),
        (b"a\x1b[Ib\x1b[2Zc", "c       b"),
        (b"\x1b[8Ca\x1b[Zc", "        c"),
        (b"abc\x1bH\ra\tX", "abcX"),
        (b"\x1b[9G\x1b[g\rx\ty", "x        y"),
        (b"\x1b[3gx\ty", "x        y"),
        (b"\x1b[7g\x1b[3mx\ty", "x       y"),
        (b"ab\x1bDc\x1bEd", "ab\n  c\nd"),
        (b"1\r\n2\r\n3\x1b[S", "2\n3"),
        (b"1\r\n2\r\n3\x1b[T", "\n1\n2\n3"),
        (b"1\r\n2\x1b[1;2;3;4;5T", "1\n2"),
        (b"1\r\n2\r\n3\x1b[2;2H\x1b[J", "1\n2"),
        (b"1\r\n2\r\n3\x1b[2;2H\x1b[1J", "\n\n3"),
        (b"1\r\n2\x1b[9J", "1\n2"),
        (b"1\r\n2\x1b[9K", "1\n2"),
        (b"\x1b[2;4r\x1b[5;1Hx\x1b[L\x1b[M", "\n\n\n\nx"),
        (b"\x1b[3bx", "x"),
        (b"\x1b[4;2rx", "x"),
        (b"\x1b[2;4r\x1b[?6hx\x1b[9;1Hy\x1b[?6lz", "z\nx\n\ny"),
        (b"ab\x1b[?1048hc\x1b[?1048ld", "abd"),
        (b"ab\x1b[sc\x1b[ud", "abd"),
        (b"ab\x1b7c\x1b8d", "abd"),
        (b"a\x1b[?47hb\x1b[?47l", "a"),
        (b"a\x1b[?1047h\x1b[?1047hb\x1b[?1047l\x1b[?1047l", "a"),
        (b"\x1b[?7l0123456789\x1b[?7h", "0123456789"),
        (b"0123456789\x1b[?7lx", "012345678x"),
        (b"\x1b#8\x1b[2J\x1b#9x", "x"),
        (b"\x0eq\x0fq\x1b)0\x0eq\x0fq", "qq\u2500q"),
        (b"1\r\n2\x1bM\x1bM3", " 3\n1\n2"),
        (b"ab\x1b%Gc\x1b[?9z\x1b[1 zd", "abcd"),
        (b"abcdefghij\x1b[1;1H\x1b[41m\x1b[2P", "cdefghij"),
        (b"\x1b[41m\x1b[1;3H\x1b[2@x", "  x"),
        ("\u0301a".encode(), "a"),
        ("e\x1b[1m\u0301a".encode(), "\u00e9a"),
        ("x\u0336a".encode(), "xa"),
        ("a\ue000b".encode(), "a\ue000b"),
    ],
)
def test_bytes_become_the_text_that_xterm_shows(data: bytes, text: str) -> None:
    assert shown(data).text() == text
    assert again(shown(data)).text() == text


def test_the_alternate_screen_leaves_the_main_one_as_it_was() -> None:
    screen = shown(b"shell\r\n\x1b[?1049h\x1b[Heditor")
    assert (screen.text(), screen.alternate) == ("editor", True)
    other = again(screen)
    assert (other.text(), other.alternate) == ("editor", True)
    for one in (screen, other):
        one.feed(b"\x1b[?1049l$ ")
        assert (one.text(), one.alternate, one.cursor) == ("shell\n$", False, Cursor(1, 2))


def test_a_snapshot_carries_scrollback_modes_styles_and_the_cursor() -> None:
    screen = shown(
        b"".join(b"line %d\r\n" % n for n in range(9))
        + b"\x1b[?1;1000;1006;2004h\x1b=\x1b[?25l\x1b[2 q\x1b[1;38;2;1;2;3mred\x1b[2;4r\x1b[3;5H"
    )
    other = again(screen)
    assert [line.text for line in other.scrollback] == [f"line {n}" for n in range(5)]
    assert other.modes == {1, 7, 1000, 1006, 2004}
    assert (other.keypad, other.cursor_shape, other.cursor) == (True, 2, Cursor(2, 4))
    assert (other.style, other.top, other.bottom) == (screen.style, 1, 3)
    assert other.snapshot() == screen.snapshot()


@pytest.mark.parametrize("cut", [b"\x1b[3", b"\x1b]0;ti", b"\xe6\x97", b"\x1b]0;" + b"x" * 9_000])
def test_a_snapshot_in_the_middle_of_something_goes_on_where_it_was(cut: bytes) -> None:
    rest = {0x1B: b"1mX" if b"[" in cut else b"tle\x07X", 0xE6: b"\xa5X"}[cut[0]]
    screen = shown(b"ab" + cut)
    other = again(screen)
    for one in (screen, other):
        one.feed(rest)
    assert other.text() == screen.text()
    assert other.text().endswith("X")
    assert other.style == screen.style


@pytest.mark.parametrize(
    "asked, answered",
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>0;276;0c"),
        (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"ab\r\nc\x1b[6n", b"\x1b[2;2R"),
        (b"\x1b[?6n", b"\x1b[?1;1;1R"),
        (b"\x1b]10;?\x07", b"\x1b]10;rgb:d4d4/d4d4/d4d4\x07"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
        (b"\x1b]4;196;?\x07", b"\x1b]4;196;rgb:ffff/0000/0000\x07"),
        (b"\x1b[>q", b"\x1bP>|Longhouse\x1b\\"),
        (b"\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
        (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
        (b"\x1b[?31337$p", b"\x1b[?31337;0$y"),
        (b"\x1bP+q544e\x1b\\", b"\x1bP0+r\x1b\\"),
        (b"\x1bP$qm\x1b\\", b"\x1bP0$r\x1b\\"),
        (b"\x1b[18t", b"\x1b[8;5;10t"),
        (b"\x1bZ", b"\x1b[?62;22c"),
        (b"\x1b[?996n", b"\x1b[?997;1n"),
        (b"\x1b[4h\x1b[4$p", b"\x1b[4;1$y"),
        (b"\x1b[2;4r\x1b[?6h\x1b[6n", b"\x1b[1;1R"),
        (b"\x1b]12;?\x07", b"\x1b]12;rgb:d4d4/d4d4/d4d4\x07"),
        (b"\x1b]4;1;?\x07", b"\x1b]4;1;rgb:cdcd/0000/0000\x07"),
        (b"\x1b]4;255;?\x07", b"\x1b]4;255;rgb:eeee/eeee/eeee\x07"),
        (b"\x1b[21t\x1b]2;x\x07", b""),
    ],
)
def test_questions_are_answered_once_and_known_as_such_in_the_bytes(
    asked: bytes, answered: bytes
) -> None:
    screen = shown(asked)
    assert screen.replies() == answered
    assert screen.replies() == b""
    assert bool(QUESTIONS.search(asked)) is bool(answered)


@pytest.mark.parametrize("asked", [b"\x1b[1c", b"\x1b[7n", b"\x1b]4;256;?\x07", b"\x1b]13;?\x07"])
def test_a_question_that_has_no_answer_gets_none(asked: bytes) -> None:
    assert shown(asked).replies() == b""


@pytest.mark.parametrize(
    "numbers, style",
    [
        (b"1;4;7", Style(on=frozenset("147"))),
        (b"1;3;4;22;23;24", Style()),
        (b"4;4:0", Style()),
        (b"4:3", Style(on=frozenset("4"))),
        (b"31;42", Style(fg="31", bg="42")),
        (b"91;107", Style(fg="91", bg="107")),
        (b"48", Style()),
        (b"38;5;196;1", Style(fg="38;5;196", on=frozenset("1"))),
        (b"48:2::1:2:3", Style(bg="48;2;1;2;3")),
        (b"38:5:7", Style(fg="38;5;7")),
        (b"58;5;9;3", Style(on=frozenset("3"))),
        (b"31;38;5;300", Style(fg="31")),
        (b"31;38;9", Style(fg="31")),
        (b"31;42;39;49", Style()),
        (b"1;0", Style()),
        (b"1;", Style()),
        (b"99;108", Style()),
    ],
)
def test_numbers_become_the_look_that_xterm_gives_them(numbers: bytes, style: Style) -> None:
    screen = shown(b"\x1b[" + numbers + b"m")
    assert screen.style == style
    assert again(screen).style == style


def test_a_flood_of_questions_gets_a_bounded_answer() -> None:
    assert len(shown(b"\x1b[c" * 100_000).replies()) <= 10_000


def test_memory_is_bounded_whatever_comes() -> None:
    screen = shown(b"x\r\n" * 5_000)
    assert len(screen.scrollback) == SCROLLBACK
    screen.feed(b"\x1b]0;" + b"x" * 1_000_000)
    assert len(screen.snapshot()) < 50_000
    screen.feed(b"x" * 1_000_000 + b"\x07after")
    assert "after" in screen.text()
    for red in range(256):
        for green in range(0, 256, 8):
            screen.feed(b"\x1b[38;2;%d;%d;0mx\r" % (red, green))
    assert len(screen.styles) < 5_000
    huge = Screen(65_535, 65_535)
    assert (huge.rows, huge.cols) == (500, 1_000)


def test_more_styles_than_there_are_characters_are_shown_plain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(styles, "_MOST_MARKS", 3)
    screen = shown(b"\x1b[31ma\x1b[32mb\x1b[33mc\x1b[31md")
    looks = [screen.styles[mark].fg for mark in screen.main.lines[0].style]
    assert looks == ["31", "32", "", "31"]


def test_a_smaller_screen_keeps_the_cursor_in_sight_and_the_rest_in_scrollback() -> None:
    screen = shown(b"1\r\n2\r\n3\r\n4\r\n5")
    screen.resize(2, 4)
    assert (screen.text(), screen.cursor) == ("4\n5", Cursor(1, 1))
    assert [line.text for line in screen.scrollback] == ["1", "2", "3"]
    screen.resize(4, 10)
    assert (screen.text(), screen.cursor) == ("2\n3\n4\n5", Cursor(3, 1))
    screen.feed(b"\r\nmore")
    assert screen.text() == "3\n4\n5\nmore"


@pytest.mark.parametrize(
    "data, rows, cols, text, cursor",
    [
        (b"0123456789ab\r\n$ ", 5, 20, "0123456789ab\n$", (1, 2)),
        (b"0123456789ab\r\n$ ", 5, 4, "0123\n4567\n89ab\n$", (3, 2)),
        ("a日本語日\r\n$ ".encode(), 5, 4, "a日\n本語\n日\n$", (3, 2)),
        (b"$ 0123456789ab", 5, 20, "$ 01234567\n89ab", (1, 4)),
        (b"one\r\n$ 0123456", 5, 4, "one\n$ 01", (1, 3)),
        (b"1\r\n2\r\n3\r\n0123456789ab\x1b[2;1H", 5, 4, "2\n3\n0123\n4567\n89ab", (0, 0)),
        (b"0123456789", 5, 20, "0123456789", (0, 10)),
        (b"0123456789", 4, 10, "0123456789", (0, 9)),
        (b"\x1b[41m  \x1b[m\r\n", 5, 1, "", (2, 0)),
        ("日a\r\n本b\r\n".encode(), 9, 1, "日\na\n本\nb", (4, 0)),
    ],
    ids=[
        *("wider", "narrower", "wide", "cursor wider", "cursor", "below", "last", "rows", "one"),
        "one and wide",
    ],
)
def test_another_width_wraps_lines_anew_but_for_the_one_of_the_cursor(
    data: bytes, rows: int, cols: int, text: str, cursor: tuple[int, int]
) -> None:
    screen = shown(data)
    screen.resize(rows, cols)
    assert (screen.text(), screen.cursor) == (text, cursor)
    assert again(screen).text() == text


@pytest.mark.parametrize(
    "act, text",
    [
        (b"\x1b[2;1H\x1b[Jnew", "abcdefghij\nnew"),
        (b"\x1b[2;1H\x1b[Knew", "abcdefghij\nnew"),
        (b"\x1b[2;1H\x1b[2Knew", "abcdefghij\nnew"),
        (b"\x1b[2;3H\x1b[Knew", "abcdefghijKLnew"),
        (b"\x1b[2;3H\x1b[1K", "abcdefghij   N"),
        (b"\x1b[2;1H\x1b[Lnew", "abcdefghij\nnew\nKLMN"),
        (b"\x1b[2;1H\x1b[M", "abcdefghij\nlast"),
        (b"\x1b[2;4r\x1b[2;1H\x1bMnew", "abcdefghij\nnew\nKLMN"),
        (b"\x1b[2;4r\x1b[S", "abcdefghij\nlast"),
        (b"\x1b[1;6H\x1b[5P", "abcde     KLMN"),
        (b"\x1b[1;6H\x1b[20X", "abcde     KLMN"),
        (b"\x1b[1;6H\x1b[2P", "abcdehij  KLMN"),
    ],
)
def test_another_width_joins_rows_only_where_one_still_goes_on_in_the_next(
    act: bytes, text: str
) -> None:
    screen = shown(b"abcdefghijKLMN\r\nlast" + act + b"\x1b[r\x1b[5;1H")
    screen.resize(5, 20)
    assert screen.text().removesuffix("\nlast") == text.removesuffix("\nlast")


@pytest.mark.parametrize(
    "act", [b"\x1b[2J", b"\x1b[1;1H\x1b[2K", b"\x1b[1;1H\x1b[M", b"\x1b[1;1H\x1bM"]
)
def test_a_first_row_that_was_replaced_is_not_joined_to_what_was_scrolled_off(act: bytes) -> None:
    screen = shown(b"abcdefghijKLMN\r\n2\r\n3\r\n4\r\n5" + act + b"\x1b[1;1Hnew\x1b[4;1H")
    screen.resize(4, 20)
    assert screen.scrollback[0].text == "abcdefghij"


def test_a_character_after_another_width_goes_where_it_would_have_gone() -> None:
    for rows, cols, text in ((5, 20, "0123456789x"), (4, 10, "0123456789\nx"), (5, 5, "0123x")):
        screen = shown(b"0123456789")
        screen.resize(rows, cols)
        screen.feed(b"x")
        assert screen.text() == text


@given(st.lists(st.text("ab 日", max_size=40), max_size=12), st.integers(2, 60), st.integers(1, 9))
def test_a_terminal_that_was_narrow_for_a_while_has_lost_nothing(
    said: list[str], cols: int, rows: int
) -> None:
    screen = shown("".join(f"{line.rstrip()}|\r\n" for line in said).encode(), 6, 30)
    whole = [line.text for line in [*screen.scrollback, *screen.main.lines]]
    screen.resize(rows, cols)
    assert all(len(line.text) <= cols for line in screen.scrollback)
    screen.resize(6, 30)
    found = [line.text for line in [*screen.scrollback, *screen.main.lines]]
    assert "".join(found) == "".join(whole)
    assert screen.cursor.col == 0


def test_lines_that_would_be_scrolled_off_are_not_made_in_a_narrower_terminal() -> None:
    screen = shown(b"x" * 999 * 1_000 + b"\r\n", 24, 1_000)
    screen.resize(24, 2)
    assert len(screen.scrollback) == SCROLLBACK
    assert [line.text for line in screen.main.lines] == ["xx"] * 23 + [""]


def test_the_main_screen_is_wrapped_anew_while_it_is_hidden() -> None:
    screen = shown(b"0123456789ab\r\n$ \x1b[?1049h\x1b[Heditor of ten")
    screen.resize(5, 6)
    assert screen.text() == "editor\nten"
    screen.feed(b"\x1b[?1049l")
    assert (screen.text(), screen.cursor) == ("012345\n6789ab\n$", Cursor(2, 2))


def test_secrets_are_starred_out_also_where_a_line_wraps() -> None:
    screen = shown(b"token ghp_abcdefghijklmnopqrstuvwxyz0123456789 end", rows=8)
    screen.hide(secret_spans)
    assert "ghp_" not in screen.text()
    assert screen.text().replace("\n", "") == f"token {'*' * 40} end"
    assert b"ghp_" not in screen.snapshot()


def test_a_secret_of_many_lines_is_starred_out_from_scrollback_to_screen() -> None:
    key = ["-----BEGIN PRIVATE KEY-----", *(f"QUJD{n:04}" for n in range(12)), "-----END KEY-----"]
    screen = shown("\r\n".join(["before", *key, "after"]).encode(), rows=4)
    assert screen.scrollback
    screen.hide(secret_spans)
    seen = "\n".join([*(line.text for line in screen.scrollback), screen.text()])
    assert seen.splitlines()[0] == "before"
    assert seen.splitlines()[-1] == "after"
    assert "QUJD" not in seen
    assert b"QUJD" not in screen.snapshot()


@pytest.mark.parametrize("data, col", [(b"\x1b[65535I", 79), (b"\x1b[3I", 24)])
def test_many_tabs_at_once_cost_no_more_than_one(data: bytes, col: int) -> None:
    class Counted(set[int]):
        looks = 0

        def __iter__(self) -> Iterator[int]:
            self.looks += 1
            return super().__iter__()

    screen = Screen(5, 80)
    screen.tabs = tabs = Counted(screen.tabs)
    screen.feed(data)
    assert (screen.x, tabs.looks) == (col, 1)
    screen.feed(b"\x1b[2Z")
    assert (screen.x, tabs.looks) == ({79: 64, 24: 8}[col], 2)
    screen.feed(b"\x1b[65535Z")
    assert (screen.x, tabs.looks) == (0, 3)


def test_blank_lines_in_a_colour_share_their_cells() -> None:
    screen = shown(b"\x1b[44m\x1b[2J")
    assert len({id(line.text) for line in screen.main.lines}) == 1


def test_a_smaller_terminal_keeps_the_screen_that_is_hidden() -> None:
    screen = shown(b"one\r\ntwo\x1b[?1049h\x1b[5;1Hbelow")
    screen.resize(2, 10)
    assert screen.lines() == ["", "below"]
    screen.feed(b"\x1b[?1049l")
    assert (screen.text(), screen.cursor) == ("one\ntwo", Cursor(1, 3))


def test_a_snapshot_of_the_alternate_screen_is_not_drawn_as_the_main_one_was() -> None:
    screen = shown(b"\x1b(0\x1b[?1049h\x1b(Bhello")
    other = again(screen)
    assert other.text() == "hello"
    for one in (screen, other):
        one.feed(b"\x1b[?1049lq")
    assert other.text() == screen.text() == "\u2500"


def test_a_snapshot_behind_the_last_column_is_not_drawn_as_the_cursor_was_saved() -> None:
    screen = shown(b"\x1b(0\x1b7\x1b(B012345678q")
    assert again(screen).lines()[0] == "012345678q"


def test_a_snapshot_leaves_an_alternate_screen_without_taking_back_its_cursor() -> None:
    assert b"\x1b[?1049l" not in shown(b"text").snapshot()
    late = shown(b"\x1b(0\x1b[?1049h")
    late.feed(shown(b"quiet").snapshot())
    assert (late.text(), late.alternate) == ("quiet", False)


LONG = STRING_CHARS + 100


@pytest.mark.parametrize(
    "data, text",
    [
        (b"\x1b]0;" + b"x" * LONG + b"\x1b[31mafter", "after"),
        (b"\x1bP" + b"x" * LONG + b"\x07x\x1b\\after", "after"),
        (b"\x1bP" + b"x" * LONG + b"\x1aafter", "after"),
        (b"\x1b]0;short\x1b[31mafter", "after"),
        (b"\x1b[" + b"1;" * LONG + b"31mafter", "after"),
        (b"\x1b[?" + b" " * LONG + b"0after", "0after"),
        (b"\x1b" + b" " * LONG + b"Fafter", "after"),
        (b"\x1b]10;?" + b"x" * LONG + b"\x07\x1b]11;" + b"?" * LONG + b"\x1b\\after", "after"),
    ],
)
@pytest.mark.parametrize("step", [1_000, 1_001, 4_097])
def test_a_sequence_that_is_too_long_is_left_out_however_it_is_cut(
    data: bytes, text: str, step: int
) -> None:
    whole, cut = shown(data), Screen(5, 10)
    for at in range(0, len(data), step):
        cut.feed(data[at : at + step])
        assert len(cut.snapshot()) < 2 * STRING_CHARS
    assert cut.snapshot() == whole.snapshot()
    assert cut.replies() == whole.replies() == b""
    assert whole.text() == text


def test_what_is_skimmed_still_sets_modes() -> None:
    screen = Screen(5, 10)
    screen.skim(b"lost\x1b[?1049h\x1b[?2004h\x1b[31mlost")
    screen.feed(b"seen")
    assert (screen.text(), screen.alternate, 2004 in screen.modes) == ("seen", True, True)


SEQUENCES = (
    b"\x1b[|\x1b]|\x1bP|\x1b\\|\x07|12;3|H|m|J|K|\x1b[?1049h|\x1b[?1049l|\x1b[?6h|\x1b[?7l|\x1b[2;4r|"
    b"\r\n|\x1b7|\x1b8|\x1b[4h|\x1b(0|\x0e|\x1b[44m|\x1b[7;31m|0123456789|\t|\x1b[3b|\x1bc|\x1b[L|"
    b"\x1b[M|\x1b[P|\x1b[@|\x1b[S|\x1b[T|\x1bM|\x1bH|\xe6\x97\xa5\xe6\x9c\xac|e\xcc\x81"
).split(b"|")
PIECES = st.lists(st.one_of(st.binary(max_size=12), st.sampled_from(SEQUENCES)), max_size=40)


@given(PIECES, st.integers(1, 7))
def test_any_bytes_in_any_pieces_show_the_same_and_can_be_snapshot(
    pieces: list[bytes], step: int
) -> None:
    data = b"".join(pieces)
    whole, cut = Screen(5, 10), Screen(5, 10)
    whole.feed(data)
    for at in range(0, len(data), step):
        cut.feed(data[at : at + step])
    assert cut.snapshot() == whole.snapshot()
    assert again(whole).snapshot() == whole.snapshot()
    assert again(whole).lines() == whole.lines()


@given(st.one_of(st.from_regex(QUESTIONS), st.from_regex(SETTINGS)))
def test_every_question_and_every_setting_is_notable(data: bytes) -> None:
    assert NOTABLE.search(data)
