"""Named keys become the bytes that a terminal sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.terminals.keys import KEYS, bytes_of, key_bytes


@pytest.mark.parametrize(
    "word, sent",
    [
        ("Enter", b"\r"),
        ("Tab", b"\t"),
        ("S-Tab", b"\x1b[Z"),
        ("Escape", b"\x1b"),
        ("Space", b" "),
        ("BSpace", b"\x7f"),
        ("Up", b"\x1b[A"),
        ("Down", b"\x1b[B"),
        ("Right", b"\x1b[C"),
        ("Left", b"\x1b[D"),
        ("Home", b"\x1b[H"),
        ("End", b"\x1b[F"),
        ("PageUp", b"\x1b[5~"),
        ("PgDn", b"\x1b[6~"),
        ("Delete", b"\x1b[3~"),
        ("F1", b"\x1bOP"),
        ("F5", b"\x1b[15~"),
        ("F12", b"\x1b[24~"),
        ("C-c", b"\x03"),
        ("C-C", b"\x03"),
        ("C-]", b"\x1d"),
        ("C-\\", b"\x1c"),
        ("C-Space", b"\x00"),
        ("C-?", b"\x7f"),
        ("M-x", b"\x1bx"),
        ("M-ä", b"\x1b\xc3\xa4"),
        ("C-M-a", b"\x1b\x01"),
        ("M-Enter", b"\x1b\r"),
        ("C-Left", b"\x1b[1;5D"),
        ("S-F1", b"\x1b[1;2P"),
        ("C-S-Delete", b"\x1b[3;6~"),
    ],
)
def test_a_key_is_sent_as_xterm_sends_it(word: str, sent: bytes) -> None:
    assert bytes_of([word]) == sent


@pytest.mark.parametrize(
    "word", ["", "enter", "C-", "C-3PO", "C-é", "S-x", "M-", "F13", "Up ", "-"]
)
def test_a_word_that_names_no_key_is_typed_as_text(word: str) -> None:
    assert key_bytes(word) is None
    assert bytes_of([word]) == word.encode()


def test_words_are_typed_in_order_with_nothing_between_them() -> None:
    assert bytes_of(["print(1)", "Enter", "grün", "C-d"]) == "print(1)\rgrün\x04".encode()


def test_arrows_follow_the_mode_that_the_program_asked_for() -> None:
    assert bytes_of(["Up", "Home"], application=True) == b"\x1bOA\x1bOH"
    assert bytes_of(["C-Up", "F1", "PageUp"], application=True) == b"\x1b[1;5A\x1bOP\x1b[5~"


def test_every_listed_name_is_a_key() -> None:
    assert all(key_bytes(name) for name in KEYS)


@given(st.lists(st.text(max_size=12)))
def test_any_words_can_be_typed(words: list[str]) -> None:
    typed = bytes_of(word for word in words if word.isprintable())
    assert isinstance(typed, bytes)
