"""A resume at length: the lines that follow the facts, for as long as there is room.

Facts are short, and only the first few of each kind are told. What they cut is said in full here,
then the steps, what else was written about it, and what happened last. A budget cuts from the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from longhouse.kernel.lines import cell

__all__ = ["lines_at_length"]

_MOST = 1_500


class _Said(NamedTuple):
    """One thing to say: what about, in which words, and where it stands."""

    about: str
    text: str | None
    ref: str | None = None


def lines_at_length(result: dict[str, Any]) -> list[str]:
    """Lines about everything that the facts of a resume leave out or cut."""
    told = [one["text"] for one in result["facts"]]
    lines = []
    for one in _everything(result):
        text = cell(one.text or "", _MOST)
        if not text or any(text in before for before in told):
            continue
        told.append(text)
        lines.append(" | ".join([f"{one.about} {text}", *([one.ref] if one.ref else [])]))
    return lines


def _everything(result: dict[str, Any]) -> Iterator[_Said]:
    records = result["records"]
    target = result["target"]
    for name in ("description", "contract", "context"):
        yield _Said("why", target.get(name))
    for one in records.get("mail", ()):
        yield _Said(one["category"], f"{one['subject']}: {one['body']}", one["message_id"])
    for job in records.get("jobs", ()):
        if job.get("question"):
            yield _Said("question", job["question"]["text"], job["question"]["ref"])
    yield from _cards("decision", records.get("decisions", ()))
    yield from _steps(records.get("steps", ()))
    yield from (_Said("todo", text) for text in target.get("checklist", ()))
    yield from _entries("note", reversed(records.get("notes", ())))
    yield from _cards("", records.get("cards", ()))
    yield from _entries("trace", reversed(records.get("trace", ())))
    for event in records.get("timeline", ()):
        said = [event["type"], event.get("path"), *_words(event.get("payload"))]
        when = event["ts"][:16].replace("T", " ") + " UTC"
        text = " ".join(part for part in (*said, event.get("actor")) if part)
        yield _Said(f"at {when}", text, event["ref"])


def _cards(about: str, cards: Iterable[dict[str, Any]]) -> Iterator[_Said]:
    for card in cards:
        said = ": ".join(part for part in (card.get("title"), card.get("text")) if part)
        yield _Said(about or f"{card.get('status', '')} {card['type']}".strip(), said, card["id"])


def _steps(steps: Iterable[dict[str, Any]]) -> Iterator[_Said]:
    for step in steps:
        state = "done" if step["completed"] else "blocked" if step.get("blocked") else "open"
        needs = [f"needs {' '.join(step['missing'])}"] if step.get("missing") else []
        said = "; ".join([f"{state}: {step['title']}", *needs])
        yield _Said(f"step {step['path']}", said, step["step_id"])


def _entries(about: str, entries: Iterable[dict[str, Any]]) -> Iterator[_Said]:
    """What people wrote; entries that repeat an event or a receipt are told with those."""
    for one in entries:
        if one["kind"] == "event" or one["content"].startswith("Evidence captured"):
            continue
        said = ": ".join(part for part in (one.get("title"), one["content"]) if part)
        yield _Said(about, said, f"{one['doc']}@{one['seq']}")


def _words(value: Any) -> Iterator[str]:
    """The texts in a payload, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
