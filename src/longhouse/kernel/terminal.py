"""Makes untrusted text safe for a terminal: control characters are shown, not obeyed.

The author of a job, a message or a log line must not be able to move a reader's cursor, rename the
window, reverse the text direction or hide what follows.
"""

from __future__ import annotations

import re

__all__ = ["STEERING", "pictured", "spelled", "tame"]

STEERING = (
    r"\r(?!\n|\Z)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys or cannot display; CRLF line endings are allowed."""
_STEERING = re.compile(STEERING)


def tame(text: str) -> str:
    """The text with every such character escaped."""
    return _STEERING.sub(lambda found: spelled(found[0]), text)


def pictured(text: str) -> str:
    """The text with a visible character in place of each such character.

    A secret that they disguise is hidden first: behind pictures nothing would recognize it.
    """
    if _STEERING.search(text) is None:
        return text
    from longhouse.kernel.redact import redact_text

    return _STEERING.sub(_picture, redact_text(text))


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def spelled(character: str) -> str:
    """A character as a JSON escape."""
    return f"\\u{ord(character):04x}"
