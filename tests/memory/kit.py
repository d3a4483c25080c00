"""Short calls to the memory room."""

from __future__ import annotations

from typing import Any

from longhouse.memory import append_entry, ensure_branch, ensure_target, set_focus
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds, Lh


def write(lh: Lh, function: Any, workspace: str = "acme") -> Any:
    """Run a function in a transaction, as another room does inside its own commands."""
    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)
    return lh.house.db.write(workspace, function, call)


def focus(lh: Lh, target: str | None) -> None:
    write(lh, lambda tx: set_focus(tx, target))


def trace(lh: Lh, target: str, event_id: str, content: str, **more: Any) -> Any:
    """Ingest an event into a target's trace, as the work room does."""

    def ingest(tx: Tx) -> Any:
        ref = ensure_target(tx, target)
        branch = ensure_branch(tx, ref.branch)
        return append_entry(
            tx,
            branch,
            ref.trace_doc,
            kind="event",
            content=content,
            source_event_id=event_id,
            **more,
        )

    return write(lh, ingest)


def note(lh: Lh, content: str, branch: str = "main", **more: Any) -> int:
    entry = lh("vcs.notes.commit", content=content, branch=branch, **more)["entry"]
    seq: int = entry["seq"]
    return seq


def branch(lh: Lh, name: str, base: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = lh("vcs.branch.create", name=name, **({"from": base} if base else {}))
    return made["branch"]


def node(id: str, type: str = "hypothesis", **more: Any) -> dict[str, Any]:
    return {"op": "node_upsert", "id": id, "type": type, **more}


def edge(from_: str, rel: str, to: str, **more: Any) -> dict[str, Any]:
    return {"op": "edge_upsert", "from": from_, "rel": rel, "to": to, **more}


def apply(lh: Lh, *ops: dict[str, Any], branch: str = "main", doc: str = "graph") -> int:
    seq: int = lh("graph.apply", ops=list(ops), branch=branch, doc=doc)["last_seq"]
    return seq


def contents(page: dict[str, Any]) -> list[str]:
    return [entry["content"] for entry in page["entries"]]


def notes(lh: Lh, branch: str = "main", **more: Any) -> list[str]:
    return contents(lh("docs.show", branch=branch, doc="notes", **more))


def ids(page: dict[str, Any]) -> list[str]:
    return [found["id"] for found in page["nodes"]]


def state(lh: Lh) -> tuple[int, list[Any]]:
    """What a refused call must not change: the workspace's seq and its log."""
    from longhouse.store.tx import sql

    def look(tx: Tx) -> tuple[int, list[Any]]:
        return tx.last_seq(), tx.all(sql.log_after, after=0, limit=10_000)

    call = Call(now_ms=0, ids=CountedIds())
    return lh.house.db.read("acme", look, call)
