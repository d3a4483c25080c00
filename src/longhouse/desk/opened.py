"""Renders what `open` found as lines: its title, state, text and related records.

Text written by people and agents is quoted with `> `, so that it is not mistaken for a command.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from longhouse.kernel.lines import cell, plain_lines

__all__ = ["OpenedParts", "opened_lines", "opened_parts"]

_WIDE, _NARROW = 400, 120
_TITLES = ("title", "subject", "name", "scope")
_EVENT = ("ref", "kind", "message")
_RECEIPT = ("receipt.text", "exit=receipt.exit_code", "ref")


class _Rows(NamedTuple):
    """One line per item at `path`, with these parts; without parts, all short fields.

    A part is a path, or `name=path` if its value needs a label.
    """

    about: str
    path: str
    parts: tuple[str, ...] = ()


class _Look(NamedTuple):
    """How to render one kind of record: the record, its state, its texts and its rows."""

    record: str
    said: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    rows: tuple[_Rows, ...] = ()


_OF_WORK = _Look(
    "target",
    ("target.status", "target.assignee", "target.priority"),
    ("target.description",),
    (
        _Rows("step", "step_focus", ("path", "title", "step_id")),
        _Rows("done when", "step_focus.success_criteria"),
        _Rows("test", "step_focus.tests"),
        _Rows("blocked", "capsule.radar.blockers"),
        _Rows("next", "capsule.radar.next"),
        _Rows("has step", "steps", ("path", "title", "done=completed", "step_id")),
        _Rows("shown", "proofs", _RECEIPT),
        _Rows("event", "events", ("ref", "type")),
        _Rows("card", "cards", ("id", "type", "title")),
    ),
)
_LOOKS = {
    "task": _OF_WORK,
    "plan": _OF_WORK,
    "step": _Look(
        "step",
        ("task", "path", "step.completed", "lease.holder"),
        (),
        (
            _Rows("done when", "step.detail.success_criteria"),
            _Rows("test", "step.detail.tests"),
            _Rows("blocked", "step.detail.blockers"),
            _Rows("needs", "missing"),
            _Rows("needs proof of", "proof_missing"),
            _Rows("shown", "proofs", _RECEIPT),
        ),
    ),
    "task_event": _Look(
        "event",
        ("event.type", "event.path", "event.ts", "event.actor"),
        (),
        (_Rows("with", "event.payload"), _Rows("receipt", "event.payload.receipts")),
    ),
    "doc_entry": _Look(
        "entry",
        ("entry.kind", "entry.branch", "entry.ts"),
        ("entry.content",),
    ),
    "card": _Look(
        "card",
        ("card.type", "card.status", "card.tags", "head.branch"),
        ("card.text",),
        (
            _Rows("supports", "edges.supports"),
            _Rows("blocks", "edges.blocks"),
            _Rows("supported by", "edges.supported_by"),
            _Rows("blocked by", "edges.blocked_by"),
        ),
    ),
    "anchor": _Look(
        "anchor",
        ("anchor.kind", "anchor.status", "anchor.parent_id"),
        ("anchor.description",),
        (_Rows("card", "cards", ("id", "type", "title")),),
    ),
    "conflict": _Look(
        "conflict",
        ("conflict.key", "conflict.from", "conflict.into", "conflict.doc", "conflict.status"),
        (),
        tuple(
            _Rows(side, f"conflict.{side}", ("title", "text", "deleted=deleted"))
            for side in ("base", "theirs", "ours")
        ),
    ),
    "job": _Look(
        "job",
        ("job.status", "job.task_id", "job.anchor_id", "job.runner"),
        ("prompt", "job.summary"),
        (_Rows("event", "events", _EVENT),),
    ),
    "job_event": _Look(
        "event",
        ("event.kind", "job.id", "job.status"),
        ("event.message",),
        (_Rows("near", "context.events", _EVENT),),
    ),
    "runner": _Look("lease", ("status", "lease.active_job_id", "lease.expires_in_ms")),
    "process": _Look(
        "task",
        (
            "task.status",
            "task.args.command",
            "task.args.argv",
            "task.exit_code",
            "task.cause",
            "task.error",
        ),
        ("tail.stdout", "tail.stderr", "tail.pty"),
        (_Rows("frame", "frames", ("id", "type")),),
    ),
    "subagent": _Look(
        "subagent",
        ("subagent.status", "subagent.dispatch_id", "subagent.depth", "parent"),
        ("subagent.params.instructions", "subagent.message"),
        (_Rows("dispatched", "children"),),
    ),
    "artifact": _Look(
        "artifact",
        ("artifact.media_type", "artifact.size", "artifact.state"),
        ("parts.text",),
    ),
    "message": _Look(
        "message",
        ("message.category", "message.from_agent", "message.to_agent", "message.bead_id"),
        ("message.body",),
    ),
    "reservation": _Look(
        "reservation",
        tuple(f"reservation.{one}" for one in ("agent_id", "bead_id", "state", "expires_at")),
    ),
    "moment": _Look(
        "moment",
        ("moment.label", "moment.actor", "moment.timestamp"),
        ("moment.message.subject", "moment.message.body"),
        (_Rows("with", "moment.event.payload"), _Rows("with", "moment.data")),
    ),
}


class OpenedParts(NamedTuple):
    """What was opened: its title, state, text and related records."""

    title: str
    said: list[str]
    text: list[str]
    rows: list[tuple[str, str]]


def opened_lines(result: dict[str, Any]) -> list[str]:
    """The title, state and ref on the first line; then the text and related records."""
    if (it := opened_parts(result)) is None:
        return plain_lines("open", result)
    ref = result.get("ref") or result.get("id") or ""
    return [
        " | ".join([it.title, *it.said, f"ref={ref}"]),
        *(f"> {line}" for line in it.text),
        *(f"{about} {text}" for about, text in it.rows),
    ]


def opened_parts(result: Mapping[str, Any]) -> OpenedParts | None:
    """The parts of what was opened; None for a kind without a rendering."""
    kind = str(result.get("kind", ""))
    look = _LOOKS.get(kind)
    if look is None:
        return None
    record = result.get(look.record) or {}
    title = next((str(record[name]) for name in _TITLES if record.get(name)), "")
    head = f"{kind} {result.get('ref') or result.get('id') or ''}"
    said = [_part(result, f"{path.rpartition('.')[2]}={path}") for path in look.said]
    rows = (*look.rows, _Rows("cited by", "cited_by", ("ref", "title")))
    return OpenedParts(
        title=f"{head} — {cell(title, _NARROW)}" if title else head,
        said=[one for one in said if one],
        text=[line for path in look.texts for line in _text(result, path)],
        rows=[(one.about, text) for one in rows for text in _lines(result, one)],
    )


def _part(item: Mapping[str, Any], part: str) -> str:
    """One part of a line, `name=value` or the value alone; empty if there is no value."""
    name, _, path = part.rpartition("=")
    found = [str(one).lower() if isinstance(one, bool) else str(one) for one in _at(item, path)]
    said = shlex.join(found) if name == "argv" else ", ".join(found)
    return cell(f"{name}={said}" if name else said, _NARROW) if said else ""


def _text(result: Mapping[str, Any], path: str) -> Iterator[str]:
    for text in _at(result, path):
        yield from (line for line in str(text).splitlines() if line.strip())


def _lines(result: Mapping[str, Any], rows: _Rows) -> Iterator[str]:
    for item in _at(result, rows.path):
        if isinstance(item, Mapping):
            short = (f"{k}={k}" for k, v in item.items() if isinstance(v, str | int))
            item = " ".join(filter(None, (_part(item, part) for part in rows.parts or short)))
        if item:
            yield cell(str(item), _WIDE)


def _at(result: Mapping[str, Any], path: str) -> list[Any]:
    """All values at a path, through lists; absent and null values are skipped."""
    found: list[Any] = [result]
    for name in path.split("."):
        found = [one.get(name) for one in found if isinstance(one, Mapping)]
        found = [one for item in found for one in (item if isinstance(item, list) else [item])]
        found = [one for one in found if one is not None]
    return found
