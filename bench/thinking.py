"""Thinking: packs cost the same at a thousand cards and at a hundred thousand, and searching
transcripts is compared with grep.

The graphs are filled through memory's own write functions, in large transactions; the benchmark
measures complete calls, as a surface makes them. Transcripts are also searched by `grep -F`; the
figure for both is CPU time.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench._harness import interleave, report, worked
from bench.memory import account, calls, fill, fill_notes
from longhouse.config import load
from longhouse.house import House
from longhouse.memory.branches import ensure_branch
from longhouse.memory.graph.apply import write_versions
from longhouse.store.tx import Tx
from tools.postgres import Postgres

SMALL, LARGE = 1_000, 100_000
EDGES = 3
TYPES = ("hypothesis", "question", "test", "evidence", "decision", "note", "update", "frame")
STATUSES = ("open", "done", "open", "closed", "rejected")
SESSIONS, LINES = 60, 800
QUERY = "a needle in the hay"


def open_house(folder: Path, **flags: str) -> House:
    flags = {"dir": str(folder / "store"), "workspace": "w", **flags}
    return House(load(flags, environ={"HOME": str(folder)}, cwd=folder))


def card(n: int) -> dict[str, Any]:
    """A card; types and statuses alternate, one in a thousand is pinned, one in ten is a draft."""
    tags = ["pinned"] * (n % 1000 == 7) + ["v:draft"] * (n % 10 == 3)
    return {
        "kind": "node",
        "key": f"CARD-{n}",
        "type": TYPES[n % len(TYPES)],
        "title": f"card {n}",
        "text": f"what card {n} has to say, in a line or two of text",
        "status": STATUSES[n % len(STATUSES)],
        "tags": json.dumps(tags) if tags else None,
        "from_id": None,
        "rel": None,
        "to_id": None,
        "meta": None,
        "deleted": 0,
    }


def edge(n: int, step: int) -> dict[str, Any]:
    rel, to = ("supports", "blocks")[n % 7 == 0], f"CARD-{max(n - step, 0)}"
    return {
        **card(n),
        "kind": "edge",
        "key": f"CARD-{n}|{rel}|{to}",
        "type": None,
        "title": None,
        "text": None,
        "status": None,
        "tags": None,
        "from_id": f"CARD-{n}",
        "rel": rel,
        "to_id": to,
    }


def fill_cards(house: House, workspace: str, count: int) -> None:
    """Add cards with three edges each, to their neighbors."""

    def add(tx: Tx, numbers: range) -> None:
        drafts = [
            draft
            for n in numbers
            for draft in (card(n), *(edge(n, step) for step in range(1, EDGES + 1) if n >= step))
        ]
        account(tx, write_versions(tx, ensure_branch(tx, "main"), "graph", drafts), len(drafts))

    fill(house, workspace, count, add)
    fill_notes(house, workspace, count)


def packs(house: House, engine: str) -> None:
    for count in (SMALL, LARGE):
        fill_cards(house, f"c{count}", count)
    for name, cmd, args in (
        ("context-pack", "think.context.pack", {}),
        ("context-pack-smart", "think.context.pack", {"view": "smart"}),
        ("watch", "think.watch", {}),
        ("query", "think.query", {"types": ["test"], "status": "open"}),
    ):
        figures = interleave(
            {
                "few": calls(house, f"c{SMALL}", cmd, **args),
                "many": calls(house, f"c{LARGE}", cmd, **args),
            }
        )
        report(f"thinking-{engine}{name}", figures.ratio("many", "few"), "<=2.0", figures)


def fill_transcripts(root: Path, cwd: str) -> None:
    """Write sessions of about two megabytes, each with one line that contains the query."""
    hay = "The quick brown fox jumps over the lazy dog. " * 50

    def line(kind: str, payload: dict[str, Any]) -> str:
        return json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload})

    root.mkdir(parents=True)
    for session in range(SESSIONS):
        lines = [line("session_meta", {"id": f"s{session}", "cwd": cwd})]
        for n in range(LINES):
            said = f"{hay} {QUERY} {session}" if n == LINES // 2 else f"{hay}{n}"
            content = [{"type": "output_text", "text": said}]
            message = {"type": "message", "role": "assistant", "content": content}
            lines.append(line("response_item", message))
        (root / f"{session:04d}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def transcripts(house: House) -> None:
    root = house.settings.transcripts[0]
    fill_transcripts(root, str(house.settings.project_root))
    asked = {
        "query": QUERY,
        "max_files": 10_000,
        "max_bytes_total": 1 << 36,
        "hits_limit": 500,
        "context_chars": 40,
        "budget_profile": "audit",
    }

    def ours() -> None:
        answer = house.call("docs.transcripts.search", asked)
        assert answer.success, answer.envelope["error"]
        assert answer.envelope["result"]["scanned"]["files"] == SESSIONS

    def grep() -> None:
        words = ["grep", "-rF", "-c", QUERY, str(root)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)

    figures = interleave({"grep": worked(grep), "longhouse": worked(ours)}, rounds=11)
    report("thinking-transcripts", figures.ratio("grep", "longhouse"), ">=0.5", figures)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_house(Path(folder)) as house:
        transcripts(house)
        packs(house, "")
    server = Postgres()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_house(Path(folder), db=server.url()) as house,
        ):
            packs(house, "postgres-")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
