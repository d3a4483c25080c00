"""Text of others on a terminal: what would steer it is shown, not obeyed.

Whoever writes a job, a message or a log line must not move a reader's cursor, rename the window,
turn the direction of writing or hide what follows.
"""

from __future__ import annotations

import re

__all__ = ["STEERING", "spelled", "tame"]

STEERING = (
    r"\r(?!\n|\Z)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What a terminal obeys, or cannot write; a line may end as on Windows."""
_STEERING = re.compile(STEERING)


def tame(text: str) -> str:
    """The text with every such character spelled out."""
    return _STEERING.sub(lambda found: spelled(found[0]), text)


def spelled(character: str) -> str:
    """A character as JSON spells it."""
    return f"\\u{ord(character):04x}"
