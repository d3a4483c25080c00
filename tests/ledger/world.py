"""What the examples of the ledger need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from longhouse.ledger.writing import START_EXAMPLE
from tests.kit import Lh


def _started(lh: Lh) -> None:
    lh("jobs.subagent.start", **msgspec.to_builtins(START_EXAMPLE))


def _lapsed(lh: Lh) -> None:
    _started(lh)
    lh.clock.advance(3_600_000)


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "jobs.subagent.finish": _started,
    "jobs.subagent.list": _lapsed,
    "jobs.subagent.renew": _started,
}
