"""The grammar of names and stable references that agents paste between calls."""

from __future__ import annotations

import re

from longhouse.kernel.errors import InvalidName

__all__ = ["NAME", "NAME_RULE", "RESERVED_NODE_PREFIXES", "check_workspace", "seq_ref"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\Z")
NAME_RULE = "use up to 128 of A-Z a-z 0-9 . _ / -, starting with a letter or digit"
"""What `NAME` allows, as a recovery."""

RESERVED_NODE_PREFIXES = ("task:", "step:")


def check_workspace(name: str) -> str:
    """Return the name, or raise InvalidName saying what is allowed."""
    if not NAME.match(name):
        raise InvalidName(
            f"workspace: {name[:80]!r} is not a valid workspace name",
            recovery=NAME_RULE,
        )
    return name


def seq_ref(subject: str, seq: int) -> str:
    """`JOB-007@45`, `notes@123`: a subject and the seq of one of its records."""
    return f"{subject}@{seq}"
