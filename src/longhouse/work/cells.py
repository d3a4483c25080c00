"""A text as a part of a line: ` | ` stands between parts, so no part holds a bar of its own."""

from __future__ import annotations

from longhouse.kernel.lines import clip

__all__ = ["cell"]


def cell(text: str, chars: int) -> str:
    """On one line, at most `chars` of it."""
    return clip(text, chars).replace("|", "¦")
