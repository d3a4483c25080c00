"""What a session may use, and what it has used."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["DEFAULT_DEPTH", "Limits", "Usage"]

DEFAULT_DEPTH = 3


@dataclass(slots=True, frozen=True)
class Limits:
    """What a session and everything below it may use; None means no limit of its own."""

    seconds: float | None = None
    turns: int | None = None
    tokens: int | None = None
    children: int | None = None
    depth: int | None = None
    """How many levels of children may be nested; for a root session, None means 3."""

    def __post_init__(self) -> None:
        if self.seconds is not None and not (self.seconds > 0 and math.isfinite(self.seconds)):
            raise ValueError(f"seconds must be a positive number or None; got {self.seconds!r}")
        for name in ("turns", "tokens", "children", "depth"):
            allowed = getattr(self, name)
            if allowed is not None and allowed < 0:
                raise ValueError(f"{name} must be 0 or more, or None; got {allowed!r}")


@dataclass(slots=True, frozen=True)
class Usage:
    """What a session and everything below it have used."""

    turns: int = 0
    tokens: int = 0
    children: int = 0
