"""Traces: adding steps and numbered thoughts, reading them, and validating their sequence."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.memory import append_entry, derive, ensure_branch, page_of, view_of
from longhouse.memory.types.documents import Entry
from longhouse.store.tx import Tx
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.types.traces import (
    AddStep,
    AddThought,
    Hydrate,
    TraceAdded,
    TraceError,
    TraceSlice,
    TraceValid,
    ValidateTrace,
)

__all__ = ["shortened"]

_NUMBERS = ("thoughtNumber", "totalThoughts", "revisesThought", "branchFromThought")
_SEQUENTIAL = (*_NUMBERS, "branchId", "isRevision", "nextThoughtNeeded", "needsMoreThoughts")
_MOST_WARNINGS = 2


@room.command(
    "think.trace.step",
    also="trace step think.trace.add",
    writes=True,
    additive=True,
    example=AddStep(step="Read the profile", message="Most time is in the search page."),
    trim=[Clip("entry.content", 400), Drop("entry.meta")],
)
def add_step(tx: Tx, req: AddStep) -> TraceAdded:
    """Append a step to a trace; `meta` may carry sequential metadata."""
    extra = {
        "mode": req.mode,
        "supports": req.supports,
        "blocks": req.blocks,
        "base": req.base,
        "checkpoint_every": req.checkpoint_every,
    }
    meta = {**(req.meta or {}), **{k: v for k, v in extra.items() if v is not None}}
    for code, said in _gaps(meta)[:_MOST_WARNINGS]:
        tx.warn(code, said, "use think.trace.sequential.step for thoughts in sequence")
    return _add(tx, place_of(tx, req), "trace_step", req.message, req.step, meta)


@room.command(
    "think.trace.sequential.step",
    also="sequential sequentialthinking thought think think.sequential.thinking",
    writes=True,
    additive=True,
    example=AddThought(
        thought="The index is missing.", thoughtNumber=1, totalThoughts=3, nextThoughtNeeded=True
    ),
    trim=[Clip("entry.content", 400), Drop("entry.meta")],
)
def add_thought(tx: Tx, req: AddThought) -> TraceAdded:
    """Append a numbered thought; it may revise or branch from an earlier one."""
    own = msgspec.to_builtins(req)
    kept = {key: own[key] for key in (*_SEQUENTIAL, "confidence", "goal") if key in own}
    meta = {**(req.meta or {}), **kept, "nextThoughtNeeded": req.nextThoughtNeeded}
    title = f"Thought {req.thoughtNumber}/{req.totalThoughts}"
    return _add(tx, place_of(tx, req), "trace_sequential_step", title, req.thought, meta)


def _add(
    tx: Tx, place: Place, format: str, title: str | None, content: str, meta: dict[str, Any]
) -> TraceAdded:
    entry = append_entry(
        tx,
        ensure_branch(tx, place.branch),
        place.trace_doc,
        kind="note",
        format=format,
        title=title,
        content=content,
        meta=meta or None,
    ).entry
    return TraceAdded(
        branch=place.branch, doc=place.trace_doc, seq=entry.seq, ref=entry.ref, entry=entry
    )


def _gaps(meta: dict[str, Any]) -> list[tuple[str, str]]:
    """Gaps in sequential metadata; they cause warnings, never a refusal."""
    given = [key for key in _SEQUENTIAL if key in meta]
    found = []
    if given and "thoughtNumber" not in meta:
        found.append(("TRACE_SEQ_META_NO_NUMBER", f"{given[0]} without thoughtNumber"))
    if meta.get("isRevision") is True and "revisesThought" not in meta:
        found.append(("TRACE_SEQ_META_NO_REVISED", "isRevision without revisesThought"))
    if "revisesThought" in meta and meta.get("isRevision") is not True:
        found.append(("TRACE_SEQ_META_NO_REVISION", "revisesThought without isRevision=true"))
    if "branchId" in meta and "branchFromThought" not in meta:
        found.append(("TRACE_SEQ_META_NO_ORIGIN", "branchId without branchFromThought"))
    found += [
        ("TRACE_SEQ_META_NOT_A_NUMBER", f"{key} is not a whole number")
        for key in _NUMBERS
        if key in meta and (type(meta[key]) is not int or meta[key] < 1)
    ]
    return found


@room.command(
    "think.trace.hydrate",
    example=Hydrate(limit_steps=50),
    trim=[
        Drop("sequential"),
        Pop("entries", oldest="first", leave=1, cursor="seq"),
        Clip("entries.content", 400),
        Drop("entries.meta"),
        Clip("entries.content", 80),
    ],
)
def hydrate(tx: Tx, req: Hydrate) -> TraceSlice:
    """Read the newest steps of a trace, in ascending order."""
    place = place_of(tx, req)
    view = view_of(tx, place.branch, place.trace_doc)
    entries, page = page_of(tx, view, cursor=req.cursor, limit=req.limit_steps)
    return TraceSlice(
        branch=place.branch,
        doc=place.trace_doc,
        entries=shortened(entries, req.statement_max_bytes),
        sequential=derive(entries),
        pagination=page,
    )


def shortened(entries: list[Entry], max_bytes: int | None) -> list[Entry]:
    """The entries with content cut to `max_bytes`; a character is never split."""
    if max_bytes is None:
        return entries
    return [
        msgspec.structs.replace(
            entry, content=entry.content.encode()[:max_bytes].decode(errors="ignore")
        )
        for entry in entries
    ]


@room.command(
    "think.trace.validate",
    example=ValidateTrace(),
    trim=[Pop("errors", leave=1), Clip("errors.message", 80)],
)
def validate(tx: Tx, req: ValidateTrace) -> TraceValid:
    """Find thoughts that are out of order, incomplete, or refer to a missing thought."""
    place = place_of(tx, req)
    view = view_of(tx, place.branch, place.trace_doc)
    entries, page = page_of(tx, view, cursor=None, limit=req.limit)
    thoughts = [entry for entry in entries if entry.format == "trace_sequential_step"]
    errors = _faults(thoughts, whole=not page.has_more)
    return TraceValid(
        branch=place.branch,
        doc=place.trace_doc,
        ok=not errors,
        checked=len(thoughts),
        has_more=page.has_more,
        errors=errors[: req.max_errors],
        has_more_errors=len(errors) > req.max_errors,
    )


def _faults(thoughts: list[Entry], *, whole: bool) -> list[TraceError]:
    """Faults in trace order; unless `whole`, a reference may point before the slice."""
    errors: list[TraceError] = []
    seen: set[int] = set()
    last: dict[str, int] = {}
    for entry in thoughts:
        meta = entry.meta or {}
        number = meta.get("thoughtNumber")

        def fault(code: str, message: str, ref: str = entry.ref) -> None:
            errors.append(TraceError(code=code, ref=ref, message=message))

        required = ("thoughtNumber", "totalThoughts", "nextThoughtNeeded")
        for key in required:
            if key not in meta:
                fault("MISSING_FIELD", f"{key} is missing")
        if type(number) is not int:
            continue
        for key in ("revisesThought", "branchFromThought"):
            origin = meta.get(key)
            if type(origin) is int and origin not in seen and (whole or origin >= number):
                fault("UNKNOWN_THOUGHT", f"{key}={origin} names no earlier thought")
        if meta.get("isRevision") is True and "revisesThought" not in meta:
            fault("MISSING_FIELD", "revisesThought is missing for a revision")
        branch = str(meta.get("branchId") or "")
        if meta.get("isRevision") is not True:
            before = last.get(branch)
            if before is not None and number <= before:
                fault("OUT_OF_ORDER", f"thought {number} comes after thought {before}")
            last[branch] = number
        total = meta.get("totalThoughts")
        if type(total) is int and number > total and meta.get("needsMoreThoughts") is not True:
            fault("NUMBER_OVER_TOTAL", f"thought {number} of {total}")
        seen.add(number)
    return errors
