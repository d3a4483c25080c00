"""What a room contributes to `status` and to suggested actions: see `Room.advises`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from longhouse.kernel.errors import Suggestion

__all__ = ["Advice"]


class Advice(NamedTuple):
    """One room's part of `status`.

    `fingerprint` is short, like `jobs(q=2,r=1)`. `shown` is merged into the fields of `status`.
    Suggestions become actions, so each must run as given or name what is missing.
    """

    fingerprint: str = ""
    shown: Mapping[str, Any] = {}
    suggestions: Sequence[Suggestion] = ()
