"""The records that the thinking room's examples need; see tests/contracts/world.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit import Lh


def build(lh: Lh) -> None:
    """Enough cards that every read has something to show and something to cut."""
    where = {"branch": "main", "graph_doc": "graph", "trace_doc": "trace"}

    def card(card_id: str, kind: str, title: str, **more: Any) -> None:
        links = {rel: more.pop(rel) for rel in ("supports", "blocks") if rel in more}
        made = {"id": card_id, "type": kind, "title": title, **more}
        lh("think.card", card=made, **where, **links)

    card("CARD-Q1", "question", "Which requests miss the cache?")
    card("CARD-S1", "question", "Which of them matter?", tags=["subgoal"])
    card("CARD-H1", "hypothesis", "The cache is stale", text="Since Monday. " * 20)
    card("CARD-H2", "hypothesis", "The cache is too small", tags=["a:cache"])
    card(
        "CARD-T1",
        "test",
        "Read after write",
        supports=["CARD-H1"],
        meta={"run": {"cmd": "make bench"}},
    )
    card("CARD-E1", "evidence", "It was old", supports=["CARD-T1"], text="CMD: make bench " * 9)
    card("CARD-E2", "evidence", "It was new", blocks=["CARD-H1"])
    card("CARD-D1", "decision", "Ask the cache first", supports=["CARD-E1"], tags=["pinned"])
    lh(
        "think.anchor.bootstrap",
        anchors=[
            {"id": "a:cache", "title": "Cache", "kind": "component"},
            {"id": "a:core", "title": "Core", "kind": "component"},
            {"id": "a:kernel", "title": "Kernel", "kind": "component", "parent_id": "a:core"},
        ],
    )


def _idea(lh: Lh) -> None:
    lh("think.idea.branch.create", name="idea/cache-first", content="What if?")


def transcript(lh: Lh, *lines: str, root: int = 0, name: str = "session.jsonl") -> Path:
    """A transcript in the folder of a client; without lines, a short session of this project."""
    folder = lh.house.settings.transcripts[root]
    where = str(lh.house.settings.project_root)
    said = lines or (
        codex("session_meta", id="s-1", cwd=where, timestamp="2026-01-01T00:00:00Z"),
        said_in_codex("user", "Why is the cache cold?"),
        said_in_codex("assistant", "## Summary\nThe cache is cold after a deploy."),
    )
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(said) + "\n", encoding="utf-8")
    return path


def codex(kind: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload})


def said_in_codex(role: str, text: str) -> str:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return codex("response_item", type="message", role=role, content=[part])


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "docs.transcripts.digest": transcript,
    "docs.transcripts.open": transcript,
    "docs.transcripts.search": transcript,
    "think.idea.branch.merge": _idea,
}
