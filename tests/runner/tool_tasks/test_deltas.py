"""How output becomes frames: every byte once, no character split, no secret revealed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhouse.kernel.redact import mask
from longhouse.kernel.tool_tasks import DELTA_BYTES, Stream
from longhouse.runner.tool_tasks.deltas import LogReader, OutputDelta, next_delta

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def log_of(folder: Path, data: bytes, stream: Stream = "stdout") -> LogReader:
    path = folder / f"{stream}.log"
    path.write_bytes(data)
    path.chmod(0o600)
    return LogReader(folder, stream)


def deltas(log: LogReader, stop: int, *, last: bool, inline: int = 1 << 20) -> list[OutputDelta]:
    found: list[OutputDelta] = []
    at = 0
    while (delta := next_delta(log, at, stop, last=last, inline=inline)) is not None:
        assert delta.offset == at
        found.append(delta)
        at += delta.size
        inline -= 0 if delta.chunk is None else delta.size
    return found


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["x", "é", "漢", "🙂", "\n", "plain text ", f" {TOKEN} ", "\0"])),
    st.data(),
)
def test_joined_they_are_the_text_with_its_secrets_starred_out(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], data: st.DataObject
) -> None:
    raw = ("".join(parts) * data.draw(st.integers(1, 300))).encode()
    log = log_of(tmp_path_factory.mktemp("log"), raw)
    found = deltas(log, len(raw), last=True)
    log.close()
    assert sum(delta.size for delta in found) == len(raw)
    assert all(len((delta.chunk or "").encode()) <= 3 * DELTA_BYTES for delta in found)
    assert all(delta.size <= DELTA_BYTES for delta in found if delta.chunk is not None)
    told = "".join(delta.chunk or "" for delta in found)
    if all(delta.chunk is not None for delta in found):
        assert told == mask(raw).decode()
    assert TOKEN not in told


@pytest.mark.parametrize("cut", range(1, len(TOKEN)))
def test_the_beginning_of_a_secret_is_held_back_until_the_rest_is_there(
    tmp_path: Path, cut: int
) -> None:
    raw = f"the token {TOKEN} is secret\n".encode()
    early = len("the token ") + cut
    log = log_of(tmp_path, raw)
    first = deltas(log, early, last=False)
    at = sum(delta.size for delta in first)
    rest = next_delta(log, at, len(raw), last=True, inline=1 << 20)
    log.close()
    assert rest is not None
    told = "".join(delta.chunk or "" for delta in [*first, rest])
    assert told == f"the token {'*' * len(TOKEN)} is secret\n"


def test_each_letter_is_echoed_in_a_terminal_and_a_secret_typed_there_is_not_told(
    tmp_path: Path,
) -> None:
    raw = f"gsAekx {TOKEN} password=hunter2-and-more x\n".encode()
    log = log_of(tmp_path, raw, "pty")
    told, at, echoed = "", 0, []
    for stop in range(1, len(raw) + 1):
        while delta := next_delta(log, at, stop, last=stop == len(raw), inline=1 << 20):
            told += delta.chunk or ""
            at += delta.size
        echoed.append(at == stop)
    log.close()
    assert all(echoed[:10])  # up to the third letter of the token
    assert at == len(raw)
    assert TOKEN[4:] not in told
    assert "hunter2" not in told
    assert told.startswith("gsAekx ghp*")
    assert told.endswith(" x\n")


def test_a_character_that_is_not_complete_waits_for_its_end(tmp_path: Path) -> None:
    raw = "漢字".encode()
    log = log_of(tmp_path, raw)
    for stop in range(1, len(raw)):
        found = deltas(log, stop, last=False)
        assert sum(delta.size for delta in found) == stop // 3 * 3
        assert "\ufffd" not in "".join(delta.chunk or "" for delta in found)
    assert deltas(log, 4, last=True)[-1].chunk == "漢\ufffd"  # cut by its program
    log.close()


@pytest.mark.parametrize("byte", [0x80, 0xF8, 0xFF])
def test_a_byte_that_begins_no_character_waits_for_nothing(tmp_path: Path, byte: int) -> None:
    raw = b"ab. " + bytes([byte])  # after a letter, 0x80 could be a control inside a secret
    found = deltas(log_of(tmp_path, raw), len(raw), last=False)
    assert [delta.chunk for delta in found] == ["ab. \ufffd"]


def test_bytes_that_are_no_text_are_told_by_place_and_length(tmp_path: Path) -> None:
    raw = bytes(range(128, 256)) * 100
    log = log_of(tmp_path, raw)
    found = deltas(log, len(raw), last=True)
    log.close()
    assert sum(delta.size for delta in found) == len(raw)


def test_a_secret_longer_than_a_frame_is_only_referred_to(tmp_path: Path) -> None:
    body = "\n".join("QUJD" * 16 for _ in range(160))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    raw = f"before\n{key}\nafter\n".encode()
    log = log_of(tmp_path, raw)
    found = deltas(log, len(raw), last=True)
    log.close()
    assert len(key) > DELTA_BYTES
    assert [delta.chunk for delta in found] == ["before\n", None, "\nafter\n"]


def test_beyond_the_budget_output_is_referred_to(tmp_path: Path) -> None:
    raw = b"x" * 10_000
    log = log_of(tmp_path, raw)
    first, second = deltas(log, len(raw), last=True, inline=100)
    log.close()
    assert first == OutputDelta("stdout", 0, 100, "x" * 100)
    assert second == OutputDelta("stdout", 100, 9_900)


def test_what_the_cap_took_away_is_never_told_as_zeros(tmp_path: Path) -> None:
    raw = b"head" + b"\0" * 4_000 + b" tail"
    log = log_of(tmp_path, raw)
    gap = tmp_path / "stdout.gap"
    gap.write_bytes(b"4 4004\n")
    gap.chmod(0o600)
    found = deltas(log, len(raw), last=True)
    log.close()
    assert [delta.chunk for delta in found] == ["head", None, " tail"]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("cut", [1, 3, 4, 10, len(TOKEN) - 1])
@pytest.mark.parametrize("pad", [10, DELTA_BYTES - 20])
def test_a_secret_that_the_cap_cut_in_two_is_told_on_neither_side(
    tmp_path: Path, pad: int, cut: int, last: bool
) -> None:
    """The runner was late: what it reads begins or ends in the middle of a token."""
    head, tail = b"h" * pad + b" " + TOKEN[:cut].encode(), TOKEN[cut:].encode() + b" end\n"
    raw = head + b"\0" * 4_000 + tail
    log = log_of(tmp_path, raw)
    gap = tmp_path / "stdout.gap"
    gap.write_bytes(b"%d %d\n" % (len(head), len(head) + 4_000))
    gap.chmod(0o600)
    found = deltas(log, len(raw), last=last)
    log.close()
    told = "".join(delta.chunk or "" for delta in found)
    assert told == "h" * pad + " " + "*" * len(TOKEN) + " end\n"


def test_the_rest_of_a_secret_behind_a_gap_waits_for_its_end(tmp_path: Path) -> None:
    raw = b"head" + b"\0" * 4_000 + TOKEN.encode()
    gap = tmp_path / "stdout.gap"
    gap.write_bytes(b"4 4004\n")
    gap.chmod(0o600)
    log = log_of(tmp_path, raw[:-5])
    assert [delta.chunk for delta in deltas(log, len(raw) - 5, last=False)] == ["head", None]
    log.close()
    log = log_of(tmp_path, raw)
    assert deltas(log, len(raw), last=True)[-1].chunk == "*" * len(TOKEN)
    log.close()
