"""Searching a block gives the same results as Python does, with and without the C library."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.thinking.transcripts import buffer as module
from longhouse.thinking.transcripts.buffer import Buffer
from longhouse.thinking.transcripts.reading import BytesLeft, FoundLine, lines_with

few = st.binary(max_size=200).map(lambda raw: bytes(b"ab\n"[byte % 3] for byte in raw))


def expected(text: bytes, needle: bytes) -> list[FoundLine]:
    found, at = [], 0
    for number, line in enumerate(text.split(b"\n"), 1):
        if needle in line and at < len(text):
            found.append(FoundLine(at, line, number))
        at += len(line) + 1
    return found


@given(text=few, needle=st.sampled_from([b"", b"a", b"ab", b"abba", b"z"]), size=st.integers(1, 40))
def test_lines_are_found_and_numbered_as_by_hand(text: bytes, needle: bytes, size: int) -> None:
    found = list(lines_with(io.BytesIO(text), len(text), needle, BytesLeft(1 << 20), Buffer(size)))
    assert found == expected(text, needle)


def test_without_the_c_library_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"one\ntwo needle\n" + b"x" * 50 + b"\nneedle\n"
    whole = list(lines_with(io.BytesIO(text), len(text), b"needle", BytesLeft(1 << 20), Buffer(16)))
    monkeypatch.setattr(module, "_MEMMEM", None)
    again = list(lines_with(io.BytesIO(text), len(text), b"needle", BytesLeft(1 << 20), Buffer(16)))
    assert [one.number for one in whole] == [2, 4]
    assert again == whole


def test_many_short_lines_are_numbered_right() -> None:
    text = b"x\n" * 50_000 + b"needle\n"
    (found,) = lines_with(io.BytesIO(text), len(text), b"needle", BytesLeft(1 << 20))
    assert (found.number, found.byte) == (50_001, 100_000)
