"""Stars out secrets in windows of text, so that every window of an artifact shows the same.

Secrets are searched for in the window and in as much text on both sides as the longest secret can
take, so that none is partly visible, wherever a window begins or ends. Where a log's cap cut out
its middle, anything that may be the rest of a secret is starred too. The end of a growing log is
held back while it may be the beginning of one.
"""

from __future__ import annotations

from longhouse.kernel.redact import mask
from longhouse.kernel.secret_shapes import LONGEST, open_from, secret_spans, shut_until
from longhouse.store.artifacts.view import ArtifactView, Piece

__all__ = ["bytes_around", "masked"]


def masked(view: ArtifactView, piece: Piece, *, growing: bool) -> tuple[Piece, int]:
    """The piece with secrets starred out, and where the stream ends for readers of text."""
    before, after = bytes_around(view, piece)
    text = (before + piece.data + after).decode("latin-1")
    first = piece.offset - len(before)
    last = first + len(text)
    spans = secret_spans(text)
    if view.gap and first == view.gap.end:
        spans.append((0, shut_until(text)))
    end = view.size
    if view.gap and last == view.gap.at:
        spans.append((open_from(text), len(text)))
    elif growing and last == view.size:
        end = first + open_from(text)
    stop = max(piece.offset, min(piece.next_offset, end))
    whole = mask(text.encode("latin-1"), spans)
    shown = piece._replace(data=whole[piece.offset - first : stop - first], next_offset=stop)
    return shown, end


def bytes_around(view: ArtifactView, piece: Piece) -> tuple[bytes, bytes]:
    """The bytes on both sides of a piece, up to the ends and the gap."""
    gap = view.gap
    floor = gap.end if gap and piece.offset >= gap.end else 0
    begin = max(floor, piece.offset - LONGEST)
    before = view.read(begin, piece.offset - begin).data if begin < piece.offset else b""
    if gap and piece.next_offset == gap.at:
        return before, b""
    return before, view.read(piece.next_offset, LONGEST).data
