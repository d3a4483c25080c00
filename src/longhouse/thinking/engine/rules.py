"""The table of signals, in the order in which the engine looks for them.

The thresholds beside each rule are these and no others; `docs/thinking.md` lists them with the step
that clears each signal, and there is one test per code.
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
