"""Memory: a page costs the same at a thousand and at a million, and little more on deep branches.

The stores are filled through the room's own write functions, in large transactions; the benchmark
measures complete calls, as a surface makes them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench._harness import interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.memory.branches import ensure_branch, ensure_document
from longhouse.memory.graph.apply import write_versions
from longhouse.memory.room import sql
from longhouse.store.recall.folding import append
from longhouse.store.recall.index import Text, bytes_of
from longhouse.store.tx import Call, Tx
from tools.postgres import Postgres

SMALL, MIDDLE = 1_000, 10_000
LARGE = {"": 1_000_000, "postgres-": 200_000}
"""As large as the time limit of a benchmark allows, on each database."""

BATCH = 1_000
DEPTH = 8
CALLS = 20
RARE = 10


def open_house(folder: Path, **flags: str) -> House:
    return House(load({"dir": str(folder), "workspace": "w", **flags}, environ={}, cwd=folder))


def write(house: House, workspace: str, work: Callable[[Tx], Any]) -> Any:
    return house.db.write(workspace, work, called(house))


def called(house: House) -> Call:
    ids, facts = house.dispatcher.ids, house.dispatcher.facts
    return Call(now_ms=time.time_ns() // 1_000_000, ids=ids, facts=facts)


def fill(
    house: House, workspace: str, count: int, add: Callable[[Tx, range], None], batch: int = BATCH
) -> None:
    """Add rows in large transactions, and keep the query planner's statistics current."""
    for turn, start in enumerate(range(0, count, batch)):
        numbers = range(start, min(start + batch, count))
        write(house, workspace, partial(_added, add, numbers))
        if turn & (turn + 1) == 0:
            analyse(house)
    analyse(house)


def _added(add: Callable[[Tx, range], None], numbers: range, tx: Tx) -> None:
    add(tx, numbers)


def analyse(house: House) -> None:
    """Analyze PostgreSQL's tables, as it does on its own within a minute."""
    if not house.db.engine.local:
        with psycopg.connect(house.settings.db, autocommit=True) as db:
            db.execute("ANALYZE")


def fill_notes(house: House, workspace: str, count: int) -> None:
    """Add notes; exactly RARE of them, spread evenly, contain the word `needle`."""

    def add(tx: Tx, numbers: range) -> None:
        branch = ensure_branch(tx, "main")
        first = tx.seqs(len(numbers))
        doc_id = ensure_document(tx, branch, "notes", first)
        rows = []
        for at, n in enumerate(numbers):
            word = " needle" if n % (count // RARE) == 0 else ""
            rows.append((first + at, f"note {n} about part{n % 997} and step{n % 89}{word}"))
        tx.many(
            sql.entry_add,
            [
                {
                    "seq": seq,
                    "doc_id": doc_id,
                    "branch_id": branch.branch_id,
                    "ts_ms": tx.now_ms,
                    "kind": "note",
                    "committed": 1,
                    "title": "T",
                    "format": None,
                    "meta": None,
                    "content": text,
                    "source_event_id": None,
                    "origin_seq": None,
                }
                for seq, text in rows
            ],
        )
        append(
            tx,
            ((seq, bytes_of(Text(seq, "note", "T", text, doc_id=doc_id))) for seq, text in rows),
        )
        account(tx, first, len(rows))

    fill(house, workspace, count, add)


def account(tx: Tx, first: int, count: int) -> None:
    """Write one log row for many seqs, so that the log of a filled store is consistent."""
    tx.append("memory", "main", "filled", seq=first + count - 1, span=count)


def draft(n: int, count: int, version: str = "") -> dict[str, Any]:
    """A node; at every size, one in fifty has the rare type, status, tag and word."""
    rare = n % max(count // 200, 5) == 0
    return {
        "kind": "node",
        "key": f"N{n}",
        "type": "rare" if rare else "usual",
        "title": f"node {n} {version}",
        "text": "needle" if rare else "hay",
        "status": "open" if rare else "done",
        "tags": '["rare"]' if rare else '["usual"]',
        "from_id": None,
        "rel": None,
        "to_id": None,
        "meta": None,
        "deleted": 0,
    }


def edge(n: int) -> dict[str, Any]:
    return {
        "kind": "edge",
        "key": f"N{n}|next|N{n + 1}",
        "type": None,
        "title": None,
        "text": None,
        "status": None,
        "tags": None,
        "from_id": f"N{n}",
        "rel": "next",
        "to_id": f"N{n + 1}",
        "meta": None,
        "deleted": 0,
    }


def fill_graph(house: House, workspace: str, count: int) -> None:
    """Add a chain of nodes: half of the entries are nodes, half are edges."""

    def add(tx: Tx, numbers: range) -> None:
        drafts = [d for n in numbers for d in (draft(n, count // 2), edge(n))]
        account(tx, write_versions(tx, ensure_branch(tx, "main"), "graph", drafts), len(drafts))

    fill(house, workspace, count // 2, add)


def _write_on(tx: Tx, name: str, drafts: list[dict[str, Any]]) -> None:
    account(tx, write_versions(tx, ensure_branch(tx, name), "graph", drafts), len(drafts))


def deepen(house: House, workspace: str, count: int) -> None:
    """Stack branches, each with a few notes and nodes, so that a page spans them all."""
    base = "main"
    for depth in range(DEPTH):
        name = f"deep/{depth}"
        args = {"name": name, "from": base, "workspace": workspace}
        assert house.call("vcs.branch.create", args).success
        for _ in range(4):
            house.call("vcs.notes.commit", {"workspace": workspace, "branch": name, "content": "d"})
        add = [draft(n * 7 + depth, count, name) for n in range(4)]
        write(
            house,
            workspace,
            partial(_write_on, name=name, drafts=add),
        )
        base = name


def calls(house: House, workspace: str, cmd: str, **args: Any) -> Callable[[], float]:
    """A contestant: the time of a few identical calls, in seconds."""
    full = {"workspace": workspace, **args}

    def work() -> None:
        for _ in range(CALLS):
            answer = house.call(cmd, full)
            assert answer.success, answer.envelope["error"]

    return timed(work)


def pages(house: House, engine: str) -> None:
    large = LARGE[engine]
    shown = {"branch": "main", "doc": "notes", "limit": 50}
    drawn = {"branch": "main", "doc": "graph", "limit": 50}
    promises = {
        "show": ("docs.show", "n", shown),
        "show-middle": ("docs.show", "n", {**shown, "cursor": "middle"}),
        "log": ("vcs.log", "n", {"ref": "main", "limit": 50}),
        "query": ("graph.query", "g", drawn),
        "query-middle": ("graph.query", "g", {**drawn, "cursor": "middle"}),
        "query-type": ("graph.query", "g", {**drawn, "types": ["rare"]}),
        "query-status": ("graph.query", "g", {**drawn, "status": "open"}),
        "query-tag": ("graph.query", "g", {**drawn, "tags_all": ["rare"]}),
        "query-text": ("graph.query", "g", {**drawn, "text": "needle"}),
    }
    for name, (cmd, kind, args) in promises.items():

        def sized(count: int, args: dict[str, Any] = args) -> dict[str, Any]:
            return {**args, "cursor": count // 2} if args.get("cursor") == "middle" else args

        figures = interleave(
            {
                "few": calls(house, f"{kind}{SMALL}", cmd, **sized(SMALL)),
                "many": calls(house, f"{kind}{large}", cmd, **sized(large)),
            }
        )
        report(f"memory-{engine}{name}", figures.ratio("many", "few"), "<=2.0", figures)


def depths(house: House, engine: str) -> None:
    large = LARGE[engine]
    for name, kind, cmd, args in (
        ("show", "n", "docs.show", {"doc": "notes", "limit": 50}),
        ("log", "n", "vcs.log", {"limit": 50}),
        ("query", "g", "graph.query", {"doc": "graph", "limit": 50}),
        ("query-tag", "g", "graph.query", {"doc": "graph", "limit": 50, "tags_all": ["rare"]}),
    ):
        where = "ref" if cmd == "vcs.log" else "branch"
        figures = interleave(
            {
                "flat": calls(house, f"{kind}{large}", cmd, **args, **{where: "main"}),
                "deep": calls(house, f"{kind}{large}", cmd, **args, **{where: f"deep/{DEPTH - 1}"}),
            }
        )
        report(f"memory-{engine}depth-{name}", figures.ratio("deep", "flat"), "<=4.0", figures)


def search(house: House, engine: str) -> None:
    figures = interleave(
        {
            "few": calls(house, f"n{MIDDLE}", "docs.search", text="needle"),
            "many": calls(house, f"n{LARGE[engine]}", "docs.search", text="needle"),
        }
    )
    report(f"memory-{engine}search", figures.ratio("many", "few"), "<=10.0", figures)


def apply_batch(house: House) -> None:
    """A thousand operations through the command, compared with bare inserts of the same rows."""
    from longhouse.memory.graph.room import sql as graph_sql

    batch = 1_000
    turns = iter(range(10**6))

    def ops(prefix: str) -> list[dict[str, Any]]:
        return [
            {
                "op": "node_upsert",
                "id": f"{prefix}-{n}",
                "type": "test",
                "title": f"node {n}",
                "text": "some text for it",
                "status": "open",
                "tags": ["a", "b"],
            }
            for n in range(batch)
        ]

    def ours() -> float:
        given = {"workspace": "a", "branch": "main", "doc": "graph", "ops": ops(f"o{next(turns)}")}
        started = time.perf_counter()
        assert house.call("graph.apply", given).success
        return time.perf_counter() - started

    def bare() -> float:
        prefix = f"b{next(turns)}"
        versions, tags, words = [], [], []
        with house.db.engine.writer("") as connection:
            connection.begin(write=True)
            ws, at, doc_id = connection.rows(WHERE, {})[0].values()
            for n in range(batch):
                seq = at + 1 + n
                versions.append(
                    {
                        **draft(n, batch),
                        "ws": ws,
                        "seq": seq,
                        "doc_id": doc_id,
                        "ts_ms": 0,
                        "key": f"{prefix}-{n}",
                        "tags": '["a","b"]',
                        "until": 2**62,
                        "live": 1,
                        "text": "some text for it",
                        "title": f"node {n}",
                        "type": "test",
                        "status": "open",
                    }
                )
                tags += [{"ws": ws, "doc_id": doc_id, "seq": seq, "tag": tag} for tag in "ab"]
                text = f"§{doc_id} {prefix} {n} node some text for it"
                words.append({"ws": ws, "seq": seq, "words": text})
            started = time.perf_counter()
            connection.many(graph_sql.version_add, versions)
            connection.many(graph_sql.tag_add, tags)
            connection.many(WORDS, words)
            connection.rows(STORE, {"ws": ws, "seq": at + batch})
            connection.commit()
            return time.perf_counter() - started

    from longhouse.store.queries import Query

    where = """SELECT w.ws, w.seq, d.doc_id FROM workspaces w JOIN documents d ON d.ws = w.ws
               WHERE w.name = 'a'"""
    store = "UPDATE workspaces SET seq = :seq WHERE ws = :ws"
    words = """INSERT INTO bare_words (rowid, words)
               VALUES (:ws * 1099511627776 + :seq, :words)"""
    WHERE, STORE = Query("where", where, where), Query("store", store, store)  # noqa: N806
    WORDS = Query("words", words, words)  # noqa: N806
    full_text = """CREATE VIRTUAL TABLE bare_words USING fts5 (
        words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')"""
    with house.db.engine.writer("") as connection:
        connection.run(Query("full_text", full_text, full_text), {})
    ours()
    figures = interleave({"bare": bare, "apply": ours}, rounds=9)
    report("memory-apply", figures.ratio("apply", "bare"), "<=3.0", figures)


def sizes(house: House, engine: str) -> None:
    """The cost of pages and searches in small and in large stores."""
    large = LARGE[engine]
    for count in (SMALL, MIDDLE, large):
        fill_notes(house, f"n{count}", count)
    for count in (SMALL, large):
        fill_graph(house, f"g{count}", count)
    for kind in "ng":
        deepen(house, f"{kind}{large}", large)
    analyse(house)
    pages(house, engine)
    depths(house, engine)
    search(house, engine)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_house(Path(folder)) as house:
        apply_batch(house)
        sizes(house, "")
    server = Postgres()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_house(Path(folder), db=server.url()) as house,
        ):
            sizes(house, "postgres-")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
