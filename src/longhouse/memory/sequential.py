"""Derives a graph of thoughts from the trace entries of one page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longhouse.memory.types.documents import Entry, Sequential

__all__ = ["derive"]

_FORMATS = ("trace_sequential_step", "trace_step")
_SHOWN = (
    "totalThoughts",
    "nextThoughtNeeded",
    "isRevision",
    "revisesThought",
    "branchFromThought",
    "branchId",
    "needsMoreThoughts",
    "confidence",
)


def derive(entries: Iterable[Entry]) -> Sequential | None:
    """One node per thought, edges for branches and revisions, and the thoughts they lack."""
    nodes: dict[int, dict[str, Any]] = {}
    edges: list[dict[str, Any]] = []
    for entry in entries:
        meta = entry.meta or {}
        number = _thought(meta, "thoughtNumber")
        if entry.format not in _FORMATS or number is None:
            continue
        shown = {key: meta[key] for key in _SHOWN if key in meta}
        nodes[number] = {"thoughtNumber": number, "seq": entry.seq, **shown}
        if (start := _thought(meta, "branchFromThought")) is not None:
            edges.append({"rel": "branch", "from": start, "to": number})
        revised = _thought(meta, "revisesThought")
        if meta.get("isRevision") is True and revised is not None:
            edges.append({"rel": "revision", "from": revised, "to": number})
    if not nodes:
        return None
    return Sequential(
        nodes=[nodes[number] for number in sorted(nodes)],
        edges=edges,
        missing=sorted({edge["from"] for edge in edges} - nodes.keys()),
    )


def _thought(meta: dict[str, Any], key: str) -> int | None:
    value = meta.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
