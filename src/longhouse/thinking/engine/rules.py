"""The engine's rules, in the order in which they run.

`docs/thinking.md` lists each signal with its threshold and the step that clears it, and there is
one test per code.
"""

from __future__ import annotations

from longhouse.thinking.engine.claims import (
    contradicted,
    shaken,
    tradeoff,
    unopposed,
    unpublished,
    untested,
)
from longhouse.thinking.engine.proofs import runnable, stuck, unsure, weak

__all__ = ["RULES"]

RULES = (
    unpublished,
    untested,
    contradicted,
    weak,
    unsure,
    shaken,
    tradeoff,
    runnable,
    stuck,
    unopposed,
)
