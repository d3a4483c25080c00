"""A block of postings: the seqs of documents in ascending order, and a byte for each.

Seqs are stored as differences, in the narrowest width that holds all of them.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate

__all__ = ["BLOCK", "packed", "unpacked"]

BLOCK = 512
_CODES = "BHIQ"


def packed(seqs: Sequence[int], said: bytes) -> bytes:
    """The block of these documents; its key is the first seq."""
    steps = [0, *(b - a for a, b in zip(seqs, seqs[1:], strict=False))]
    widest = max(steps)
    code = next(at for at, c in enumerate(_CODES) if widest < 1 << 8 * array(c).itemsize)
    made = array(_CODES[code], steps)
    if sys.byteorder == "big":
        made.byteswap()
    return bytes([code]) + made.tobytes() + said


def unpacked(first: int, block: bytes) -> tuple[list[int], bytes]:
    """The seqs of a block that starts at `first`, and their bytes."""
    steps = array(_CODES[block[0]])
    count = (len(block) - 1) // (steps.itemsize + 1)
    end = 1 + count * steps.itemsize
    steps.frombytes(block[1:end])
    if sys.byteorder == "big":
        steps.byteswap()
    steps[0] = 0
    return list(accumulate(steps[1:], initial=first)), block[end:]
