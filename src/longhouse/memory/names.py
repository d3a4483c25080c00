"""Rules for names and keys: branches, documents, node ids, types, relations, tags."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from longhouse.kernel.errors import InvalidInput, InvalidName
from longhouse.kernel.refs import NAME, NAME_RULE, RESERVED_NODE_PREFIXES

__all__ = [
    "CANONICAL",
    "check_branch_name",
    "check_key_part",
    "check_label",
    "check_node_id",
    "check_text",
    "document_kind",
    "is_mirror",
    "normal_tags",
    "target_of",
]

NODE_ID_CHARS = 256
LABEL_CHARS = 128
TAG_CHARS = 128
MOST_TAGS = 64

CANONICAL = re.compile(r"(?:task/(?P<task>TASK-[0-9]{3,})|plan/(?P<plan>PLAN-[0-9]{3,}))\Z")
"""The branch of a plan or task, which callers cannot create, rename or delete."""


def target_of(branch: str) -> str | None:
    """The plan or task that a branch belongs to."""
    match = CANONICAL.match(branch) if branch[:5] in ("task/", "plan/") else None
    return match["task"] or match["plan"] if match else None


def is_mirror(node_id: str) -> bool:
    """Whether a node only repeats a task or step, under an id reserved for these."""
    return node_id.startswith(("task:", "step:"))


def check_branch_name(name: str, field: str) -> str:
    """A name for a new branch, or InvalidName."""
    if not NAME.match(name) or name.endswith(("/", ".lock")) or "//" in name or ".." in name:
        raise InvalidName(
            f"{field}: {name[:80]!r} is not a valid branch name",
            recovery=f"{NAME_RULE}, without .. or //, and not ending in / or .lock",
        )
    if CANONICAL.match(name):
        raise InvalidName(
            f"{field}: {name!r} is reserved for the plan or task with that id",
            recovery="choose another name, for example idea/<topic>",
        )
    return name


def document_kind(doc: str) -> str:
    """`notes`, `trace` or `graph`, by the document's name."""
    for kind in ("trace", "graph"):
        if doc == kind or doc.endswith(f"-{kind}"):
            return kind
    return "notes"


def check_node_id(value: str, field: str, *, internal: bool = False) -> str:
    """Check a node id; only `internal` callers may use the reserved prefixes."""
    check_key_part(value, field, NODE_ID_CHARS)
    if not internal and value.startswith(RESERVED_NODE_PREFIXES):
        raise InvalidInput(
            f"{field}: {value[:80]!r} starts with a prefix reserved for tasks and steps",
            recovery="choose an id that does not start with task: or step:",
        )
    return value


def check_label(value: str, field: str) -> str:
    """Check a node's type or an edge's relation."""
    return check_key_part(value, field, LABEL_CHARS)


def check_key_part(value: str, field: str, chars: int) -> str:
    """Refuse control characters, `|`, surrounding whitespace and excess length."""
    if not value or value != value.strip():
        raise InvalidInput(
            f"{field}: expected non-empty text without surrounding whitespace",
            recovery=f"give {field} a short stable name",
        )
    if len(value) > chars:
        raise InvalidInput(
            f"{field}: {len(value)} characters; at most {chars}", recovery=f"shorten {field}"
        )
    if "|" in value:
        raise InvalidInput(
            f"{field}: {value[:80]!r} contains '|', which separates the parts of a key",
            recovery=f"use another character in {field}",
        )
    return _printable(value, field)


def check_text(value: str | None, field: str) -> None:
    """Refuse free text that a database cannot store."""
    if value is not None and ("\x00" in value or not _encodable(value)):
        raise InvalidInput(
            f"{field}: contains a NUL or an unpaired surrogate, which cannot be stored",
            recovery=f"remove it from {field}",
        )


def normal_tags(tags: Iterable[str], field: str) -> list[str]:
    """The tags trimmed, lowercased, deduplicated and sorted."""
    made = {tag.strip().lower() for tag in tags} - {""}
    if len(made) > MOST_TAGS:
        raise InvalidInput(f"{field}: {len(made)} tags; at most {MOST_TAGS}")
    for tag in made:
        if len(tag) > TAG_CHARS:
            raise InvalidInput(f"{field}: a tag has at most {TAG_CHARS} characters")
        _printable(tag, field)
    return sorted(made)


def _printable(value: str, field: str) -> str:
    if not value.isprintable() and any(
        unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in value
    ):
        raise InvalidInput(
            f"{field}: contains a control character",
            recovery=f"use printable characters in {field}",
        )
    return value


def _encodable(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
