"""Ranges of bytes, characters and lines, against a simple model: the whole stream in memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longhouse.store.artifacts import view as module
from longhouse.store.artifacts.growing import Gap
from longhouse.store.artifacts.text import split_start, whole
from longhouse.store.artifacts.view import ArtifactView

TEXTS = st.text(alphabet="aé‰😀\n", max_size=80).map(str.encode)
STREAMS = st.one_of(TEXTS, st.binary(max_size=80))


@st.composite
def views(
    draw: st.DrawFn, streams: st.SearchStrategy[bytes] = STREAMS
) -> tuple[ArtifactView, bytes]:
    """A view with or without a gap, with the stream it should show."""
    stream = draw(streams)
    if not draw(st.booleans()) or len(stream) < 3:
        return ArtifactView(lambda o, n: stream[o : o + n], len(stream)), stream
    at = draw(st.integers(0, len(stream) - 1))
    end = draw(st.integers(at, len(stream)))
    gap = Gap(at, end - at, stream[at:end].count(b"\n"))
    if draw(st.booleans()):
        return ArtifactView(lambda o, n: stream[o : o + n], len(stream), gap, compact=False), stream
    stored = stream[:at] + stream[end:]
    return ArtifactView(lambda o, n: stored[o : o + n], len(stream), gap), stream


@given(views(), st.integers(0, 90), st.integers(1, 90))
def test_a_read_gives_bytes_of_the_stream_and_skips_only_the_gap(
    made: tuple[ArtifactView, bytes], offset: int, length: int
) -> None:
    view, stream = made
    piece = view.read(offset, length)
    assert piece.data == stream[piece.offset : piece.next_offset]
    gap = view.gap
    if gap and gap.at <= offset < gap.end:
        assert piece.offset == gap.end
    elif offset < len(stream):
        assert piece.offset == offset
        assert piece.data
    assert not gap or piece.next_offset <= gap.at or piece.offset >= gap.end


@given(views(), st.integers(1, 9))
def test_paging_by_text_gives_every_stored_byte_once(
    made: tuple[ArtifactView, bytes], step: int
) -> None:
    view, stream = made
    seen, offset = b"", 0
    while offset < view.size:
        piece = view.text(offset, step)
        assert piece.next_offset > offset
        seen, offset = seen + piece.data, piece.next_offset
    gap = view.gap or Gap(0, 0, 0)
    assert seen == stream[: gap.at] + stream[gap.end :]


@given(TEXTS, st.integers(0, 90), st.integers(1, 9))
def test_a_text_range_never_splits_a_character(stream: bytes, offset: int, step: int) -> None:
    view = ArtifactView(lambda o, n: stream[o : o + n], len(stream))
    view.text(offset, step).data.decode()
    view.tail(step).data.decode()


@given(st.text(alphabet="aé‰😀", max_size=20).map(str.encode), st.integers(0, 60))
def test_a_cut_text_is_whole_on_both_sides_of_the_cut(data: bytes, cut: int) -> None:
    before, after = data[:cut], data[cut:]
    before[: whole(before)].decode()
    after[split_start(before, after) :].decode()


@given(st.binary(max_size=6))
def test_bytes_that_never_become_a_character_are_not_held_back(data: bytes) -> None:
    held = data[whole(data) :]
    assert len(held) <= 3
    tails = [bytes([first, *[0x80] * more]) for first in (0x80, 0x90, 0xA0) for more in range(3)]
    assert not held or any(_decodes(held + tail) for tail in tails)


@given(views(TEXTS), st.integers(1, 12), st.integers(1, 5), st.integers(1, 4))
def test_lines_are_those_of_the_stream(
    made: tuple[ArtifactView, bytes], first: int, count: int, block: int
) -> None:
    view, stream = made
    before, module._BLOCK = module._BLOCK, block
    try:
        piece = view.lines(first, count, 1000)
    finally:
        module._BLOCK = before
    assert piece.first_line is not None
    lines = stream.splitlines(keepends=True)
    if not view.gap:
        assert piece.data == b"".join(lines[first - 1 : first - 1 + count])
    assert piece.first_line == 1 + stream[: piece.offset].count(b"\n")
    assert piece.data.count(b"\n") <= count
    starts = [0, *(at + 1 for at, byte in enumerate(stream) if byte == 0x0A)]
    start = starts[first - 1] if first <= len(starts) else len(stream)
    if view.gap and view.gap.at <= start < view.gap.end:
        assert (piece.offset, piece.skipped) == (view.gap.end, view.gap.bytes)
    else:
        assert piece.offset == start


@given(views(TEXTS), st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(4, 12))
def test_lines_take_no_more_bytes_than_are_allowed(
    made: tuple[ArtifactView, bytes], first: int, count: int, block: int, most: int
) -> None:
    view, _ = made
    before, module._BLOCK = module._BLOCK, block
    try:
        piece, last = view.lines(first, count, most), view.last_lines(count, most)
    finally:
        module._BLOCK = before
    assert len(piece.data) <= most
    assert len(last.data) <= most
    assert piece.data or first > 1 or not view.read(0, 1).data


def test_a_line_in_the_gap_is_said_to_be_skipped() -> None:
    stream = b"a\nb\nc\nd\n"
    stored, gap = stream[:2] + stream[6:], Gap(2, 4, 2)
    view = ArtifactView(lambda o, n: stored[o : o + n], len(stream), gap)
    told = [view.lines(line, 1, 100) for line in range(1, 6)]
    assert [piece.data for piece in told] == [b"a\n", b"d\n", b"d\n", b"d\n", b""]
    assert [piece.first_line for piece in told] == [1, 4, 4, 4, 5]
    assert [piece.skipped for piece in told] == [0, 4, 4, 4, 0]


@given(
    st.binary(max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8),
    st.integers(0, 10),
)
def test_reads_near_each_other_give_the_same_bytes_as_reads_apart(
    stream: bytes, asked: list[tuple[int, int]], around: int
) -> None:
    reads: list[tuple[int, int]] = []

    def pread(offset: int, length: int) -> bytes:
        reads.append((offset, length))
        assert 0 <= offset <= offset + length <= len(stream)
        return stream[offset : offset + length]

    before = module._BLOCK, module._AROUND
    module._BLOCK, module._AROUND = 16, around
    try:
        read = module.nearby(pread, 0, len(stream))
        for offset, length in asked:
            if offset + length <= len(stream):
                assert read(offset, length) == stream[offset : offset + length]
                done = len(reads)
                assert read(offset, length) == stream[offset : offset + length]
                assert length > 16 or len(reads) == done, "answered from what was read"
    finally:
        module._BLOCK, module._AROUND = before


@given(TEXTS, st.integers(1, 12), st.integers(1, 9))
def test_the_last_lines_are_those_of_the_stream(stream: bytes, count: int, block: int) -> None:
    view = ArtifactView(lambda o, n: stream[o : o + n], len(stream))
    before, module._BLOCK = module._BLOCK, block
    try:
        piece = view.last_lines(count, 1000)
    finally:
        module._BLOCK = before
    assert piece.data == b"".join(stream.splitlines(keepends=True)[-count:])


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
