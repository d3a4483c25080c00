"""What a room tells the desk about its state: see `Room.advises`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from longhouse.kernel.errors import Suggestion

__all__ = ["Advice"]


class Advice(NamedTuple):
    """`fingerprint` like `jobs(q=2,r=1)`; `shown` joins the fields of `status`; suggestions are
    offered as actions, so each must run as given."""

    fingerprint: str = ""
    shown: Mapping[str, Any] = {}
    suggestions: Sequence[Suggestion] = ()
