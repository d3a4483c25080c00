"""A block of postings: the seqs of documents in ascending order, and a byte for each.

Seqs are stored as differences, in the narrowest width that holds all of them.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub

__all__ = ["BLOCK", "packed", "single", "unpacked"]

BLOCK = 300
"""So many that a row of SQLite fits into a quarter of a page: a larger one wastes another page."""
_CODES = "BHIQ"


def packed(seqs: Sequence[int], said: bytes) -> bytes:
    """The block of these documents; its key is the first seq."""
    steps = [0, *map(sub, seqs[1:], seqs)]
    widest = max(steps)
    code = 0 if widest < 1 << 8 else 1 if widest < 1 << 16 else 2 if widest < 1 << 32 else 3
    made = array(_CODES[code], steps)
    if sys.byteorder == "big":
        made.byteswap()
    return bytes([code]) + made.tobytes() + said


def single(said: int) -> bytes:
    """The block of one document."""
    return bytes((0, 0, said))


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
