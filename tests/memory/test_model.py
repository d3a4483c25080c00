"""The room against a small model, over random histories: branches, notes, graphs, merges."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.kit import Lh
from tests.memory.model import Entry, Model, State, Version

NODES = ["A", "B", "C", "D"]
RELS, TYPES = ["supports", "blocks"], ["hypothesis", "test"]
TAGS, STATUS = ["red", "blue"], ["open", "done"]
WORDS, PLAIN_NAMES = ["alpha", "beta", "gamma"], [f"idea/{n}" for n in range(6)]

nodes = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES), "title": st.sampled_from(WORDS)},
    optional={
        "status": st.sampled_from(STATUS),
        "tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2, unique=True).map(sorted),
        "meta": st.fixed_dictionaries({"n": st.integers(0, 2)}),
    },
)
picks = st.integers(0, 10**6)


def said(row: dict[str, Any]) -> State:
    """A node or edge of an answer, as its operation gave it."""
    if row["deleted"]:
        return None
    return {k: v for k, v in row.items() if k not in ("id", "deleted", "last_seq", "last_ts_ms")}


def key_of(row: dict[str, Any]) -> str:
    return row["id"] if "id" in row else f"{row['from']}|{row['rel']}|{row['to']}"


class MemoryMachine(RuleBasedStateMachine):
    """Every rule does one thing to the house and to the model, then compares what it touched."""

    def __init__(self, lh: Lh, workspace: str) -> None:
        super().__init__()
        self.workspace = workspace
        self.lh = lh
        self.model = Model()
        self.past: list[int] = []
        self.call("vcs.checkout", ref="main")
        self.model.add_branch("main", None, 0)

    def call(self, cmd: str, **args: Any) -> dict[str, Any]:
        return self.lh(cmd, workspace=self.workspace, **args)

    def pick(self, n: int) -> str:
        names = self.model.names()
        return names[n % len(names)]

    # what may happen

    @rule(n=picks, words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2))
    def note(self, n: int, words: list[str]) -> None:
        name = self.pick(n)
        content = " ".join(words)
        entry = self.call("vcs.notes.commit", branch=name, content=content)["entry"]
        assert entry["branch"] == name
        seq = entry["seq"]
        self.model.entries.append(Entry(self.model.named(name).number, seq, content, seq))

    @rule(n=picks, name=st.sampled_from(PLAIN_NAMES))
    def branch(self, n: int, name: str) -> None:
        base = self.pick(n)
        if name in self.model.names():
            error = self.lh.refused(
                "vcs.branch.create", workspace=self.workspace, name=name, **{"from": base}
            )
            assert error["code"] == "CONFLICT"
            return
        made = self.call("vcs.branch.create", name=name, **{"from": base})["branch"]
        assert made["base_branch"] == base
        self.model.add_branch(name, base, made["base_seq"])

    @rule(n=picks, new=st.sampled_from(PLAIN_NAMES))
    def rename(self, n: int, new: str) -> None:
        old = self.pick(n)
        if old == "main" or new in self.model.names():
            return
        self.call("vcs.branch.rename", old=old, new=new)
        self.model.rename(old, new)

    @rule(n=picks)
    def delete(self, n: int) -> None:
        name = self.pick(n)
        if name == "main" or self.model.has_derived(name):
            error = self.lh.refused("vcs.branch.delete", workspace=self.workspace, name=name)
            assert error["code"] == "CONFLICT"
            return
        if kept := self.call("vcs.branch.delete", name=name, force=True).get("kept_as"):
            self.call("vcs.branch.delete", name=kept, force=True)
        self.model.delete(name)

    @rule(n=picks, ops=st.lists(st.tuples(st.sampled_from(NODES), nodes), min_size=1, max_size=3))
    def write_nodes(self, n: int, ops: list[tuple[str, dict[str, Any]]]) -> None:
        self.apply(
            n, [(key, state, {"op": "node_upsert", "id": key, **state}) for key, state in ops]
        )

    @rule(n=picks, ends=st.tuples(*[st.sampled_from(NODES)] * 2), rel=st.sampled_from(RELS))
    def write_edge(self, n: int, ends: tuple[str, str], rel: str) -> None:
        edge = {"from": ends[0], "rel": rel, "to": ends[1]}
        self.apply(n, [(f"{ends[0]}|{rel}|{ends[1]}", edge, {"op": "edge_upsert", **edge})])

    @rule(n=picks, k=picks)
    def erase(self, n: int, k: int) -> None:
        alive = self.model.alive(self.pick(n))
        if not alive:
            return
        key = sorted(alive)[k % len(alive)]
        parts = key.split("|")
        op = (
            {"op": "node_delete", "id": key}
            if len(parts) == 1
            else {"op": "edge_delete", "from": parts[0], "rel": parts[1], "to": parts[2]}
        )
        self.apply(n, [(key, None, op)])

    def apply(self, n: int, ops: list[tuple[str, State, dict[str, Any]]]) -> None:
        name = self.pick(n)
        done = self.call("graph.apply", branch=name, doc="graph", ops=[op for _, _, op in ops])
        first = done["last_seq"] - len(ops) + 1
        number = self.model.named(name).number
        for at, (key, state, _) in enumerate(ops):
            self.model.versions.append(Version(number, first + at, key, state))

    @rule(n=picks, m=picks, limit=st.sampled_from([1, 2, 200]))
    def merge_notes(self, n: int, m: int, limit: int) -> None:
        origin, into = self.pick(n), self.pick(m)
        there = self.model.shown(into)
        seen = {e.seq for e in there} | {e.root for e in there}
        fresh = [e for e in self.model.shown(origin) if e.root not in seen]
        merged, cursor = 0, None
        while True:
            page = self.call(
                "docs.merge", into=into, limit=limit, cursor=cursor, **{"from": origin}
            )
            merged += page["merged"]
            if not page["pagination"]["has_more"]:
                break
            cursor = page["pagination"]["next_cursor"]
        assert merged == len({e.root for e in fresh})
        number = self.model.named(into).number
        known = {e.seq for e in self.model.entries}
        for row in self.pages("docs.show", "entries", "seq", branch=into, doc="notes"):
            if row["seq"] not in known:
                root = next(e.root for e in fresh if row["source_event_id"].endswith(f":{e.seq}"))
                self.model.entries.append(Entry(number, row["seq"], row["content"], root))

    @rule(n=picks, limit=st.sampled_from([1, 3, 200]), dry=st.booleans())
    def merge_graph(self, n: int, limit: int, dry: bool) -> None:
        name = self.pick(n)
        branch = self.model.named(name)
        if branch.base is None:
            error = self.lh.refused(
                "graph.merge", workspace=self.workspace, merge_to_base=True, **{"from": name}
            )
            assert error["code"] == "MERGE_NOT_SUPPORTED"
            return
        into = self.model.branches[branch.base]
        written, clashes, agreed = self.three_ways(name, into.name)
        merged, ids, cursor = 0, list[str](), None
        while True:
            page = self.call(
                "graph.merge",
                limit=limit,
                cursor=cursor,
                dry_run=dry,
                merge_to_base=True,
                **{"from": name},
            )
            merged += page["merged"]
            ids += page["conflict_ids"]
            if not page["pagination"]["has_more"]:
                break
            cursor = page["pagination"]["next_cursor"]
        assert merged == len(written)
        assert len(ids) == len(clashes)
        if dry:
            return
        fresh = {key_of(r): r for r in self.everything(into.name)}
        for version in [*agreed, *written]:
            self.settle(branch.number, version)
        for version in written:
            row = fresh.get(version.key) or self.house_version(into.name, version.key) or {}
            seq = row["last_seq"]
            self.model.versions.append(Version(into.number, seq, version.key, version.state))
        for conflict_id, version in zip(ids, clashes, strict=True):
            assert conflict_id not in self.model.decided
            self.forget(branch.number, version.key)
            self.model.conflicts[conflict_id] = version

    def three_ways(
        self, name: str, into: str
    ) -> tuple[list[Version], list[Version], list[Version]]:
        """What a merge writes, what it leaves in conflict, and what both sides agree on."""
        written: list[Version] = []
        clashes: list[Version] = []
        agreed: list[Version] = []
        for theirs in self.model.changed_on(name):
            base = self.model.base_state(name, theirs.key)
            ours = self.model.state(into, theirs.key)
            if theirs.state == base:
                continue
            if theirs.state == ours:
                agreed.append(theirs)
            else:
                (written if base == ours else clashes).append(theirs)
        return written, clashes, agreed

    def settle(self, branch: int, version: Version) -> None:
        """Advance the key's base and close its conflicts."""
        self.model.bases[branch, version.key] = version.state
        self.forget(branch, version.key)

    def forget(self, branch: int, key: str) -> None:
        for known in [
            i for i, v in self.model.conflicts.items() if (v.branch, v.key) == (branch, key)
        ]:
            del self.model.conflicts[known]

    @precondition(lambda self: self.model.conflicts)
    @rule(n=picks, use=st.sampled_from(["use_from", "use_into"]))
    def resolve(self, n: int, use: str) -> None:
        ids = sorted(self.model.conflicts)
        conflict_id = ids[n % len(ids)]
        theirs = self.model.conflicts.pop(conflict_id)
        branch = self.model.branches[theirs.branch]
        assert branch.base is not None
        into = self.model.branches[branch.base]
        done = self.call("graph.conflict.resolve", conflict_id=conflict_id, resolution=use)
        assert done["applied"] == (use == "use_from")
        self.model.bases[branch.number, theirs.key] = theirs.state
        self.model.decided[conflict_id] = use
        if use == "use_from":
            seq = int(done["ref"].partition("@")[2])
            self.model.versions.append(Version(into.number, seq, theirs.key, theirs.state))

    @rule()
    def remember(self) -> None:
        self.past.append(self.call("status")["seq"])

    # what must be true

    def pages(self, cmd: str, rows: str, key: str, **args: Any) -> list[dict[str, Any]]:
        """All rows, read in small pages whose seqs must strictly descend."""
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self.call(cmd, cursor=cursor, limit=2, **args)
            seqs = [row[key] for row in page[rows]]
            newest_first = list(reversed(seqs)) if cmd.startswith("docs.") else seqs
            assert newest_first == sorted(seqs, reverse=True)
            assert cursor is None or all(seq < cursor for seq in seqs)
            found += reversed(page[rows]) if cmd.startswith("docs.") else page[rows]
            if not page["pagination"]["has_more"]:
                return found
            cursor = page["pagination"]["next_cursor"]

    def everything(self, name: str) -> list[dict[str, Any]]:
        """A branch's nodes and edges, including tombstones: its diff from nothing."""
        nodes = self.call("graph.query", branch=name, doc="graph", limit=200)
        found = [*nodes["nodes"], *nodes["edges"]]
        known = {key_of(row) for row in found}
        hidden = [k for k, v in self.model.graph(name).items() if k not in known]
        for key in hidden:
            row = self.house_version(name, key)
            if row is not None:
                found.append(row)
        return found

    def house_version(self, name: str, key: str) -> dict[str, Any] | None:
        """A key that a query does not list: deleted, or an edge between nodes that are gone."""
        from longhouse.memory.branches import view_of
        from longhouse.memory.graph import rows, visible
        from longhouse.store.tx import Call
        from tests.kit import CountedIds

        def look(tx: Any) -> dict[str, Any] | None:
            return rows.shown(visible(tx, view_of(tx, name, "graph"), [key]).get(key))

        return self.lh.house.db.read(self.workspace, look, Call(now_ms=0, ids=CountedIds()))

    @rule(n=picks)
    def the_log_is_what_the_model_shows(self, n: int) -> None:
        name = self.pick(n)
        rows = self.pages("docs.show", "entries", "seq", branch=name, doc="notes")
        want = sorted(self.model.shown(name), key=lambda e: -e.seq)
        assert [(r["seq"], r["content"]) for r in rows] == [(e.seq, e.content) for e in want]
        commits = self.pages("vcs.log", "commits", "seq", ref=name)
        assert [c["seq"] for c in commits] == [e.seq for e in want]

    @rule(n=picks, kind=st.sampled_from(["none", "type", "status", "tag", "any", "text", "ids"]))
    def the_graph_is_what_the_model_shows(self, n: int, kind: str) -> None:
        name = self.pick(n)
        self.compare_graph(name, kind, None)

    @precondition(lambda self: self.past)
    @rule(n=picks, p=picks, kind=st.sampled_from(["none", "type", "tag", "text"]))
    def the_past_stays(self, n: int, p: int, kind: str) -> None:
        name, as_of = self.pick(n), self.past[p % len(self.past)]
        self.compare_graph(name, kind, as_of)
        rows = self.pages("docs.show", "entries", "seq", branch=name, doc="notes", as_of=as_of)
        assert {r["seq"] for r in rows} == {e.seq for e in self.model.shown(name, as_of)}

    def compare_graph(self, name: str, kind: str, as_of: int | None) -> None:
        filters: dict[str, dict[str, Any]] = {
            "none": {},
            "type": {"types": ["test"]},
            "status": {"status": "open"},
            "tag": {"tags_all": ["red"]},
            "any": {"tags_any": ["red", "blue"]},
            "text": {"text": "ALPHA"},
            "ids": {"ids": ["A", "C"]},
        }
        takes = {
            "none": lambda *_: True,
            "type": lambda _, said: said["type"] == "test",
            "status": lambda _, said: said.get("status") == "open",
            "tag": lambda _, said: "red" in said.get("tags", []),
            "any": lambda _, said: bool(said.get("tags")),
            "text": lambda _, said: said["title"] == "alpha",
            "ids": lambda key, _: key in ("A", "C"),
        }[kind]
        rows = self.pages(
            "graph.query",
            "nodes",
            "last_seq",
            branch=name,
            doc="graph",
            as_of=as_of,
            **filters[kind],
        )
        alive = self.model.alive(name, 2**62 if as_of is None else as_of)
        want = {k: (v.seq, v.state) for k, v in alive.items() if "|" not in k and takes(k, v.state)}
        assert {r["id"]: (r["last_seq"], said(r)) for r in rows} == want
        assert len(rows) == len(want)
        page = self.call(
            "graph.query", branch=name, doc="graph", limit=200, as_of=as_of, **filters[kind]
        )
        edges = {
            k: (v.seq, v.state)
            for k, v in alive.items()
            if "|" in k and k.split("|")[0] in want and k.split("|")[2] in want
        }
        assert {key_of(e): (e["last_seq"], said(e)) for e in page["edges"]} == edges

    @rule(n=picks, m=picks)
    def a_diff_is_what_differs(self, n: int, m: int) -> None:
        one, other = self.pick(n), self.pick(m)
        seen = {e.seq for e in self.model.shown(one)}
        want = {e.seq for e in self.model.shown(other)} - seen
        rows = self.pages("docs.diff", "entries", "seq", to=other, **{"from": one})
        assert {r["seq"] for r in rows} == want
        changes = self.pages("graph.diff", "changes", "seq", to=other, **{"from": one})
        differs = {
            key: version.seq
            for key, version in self.model.graph(other).items()
            if version.state != self.model.state(one, key)
        }
        assert {
            c.get("id") or "|".join(c["key"].values()): c["to"]["last_seq"] for c in changes
        } == differs

    @rule(n=picks)
    def dangling_edges_are_found(self, n: int) -> None:
        alive = self.model.alive(self.pick(n))
        dangling = {
            k for k in alive if "|" in k and not {k.split("|")[0], k.split("|")[2]} <= alive.keys()
        }
        checked = self.call("graph.validate", branch=self.pick(n), doc="graph")
        assert {"|".join(e["key"].values()) for e in checked["errors"]} == dangling
        assert checked["ok"] == (not dangling)
        edges = sum("|" in key for key in alive)
        assert checked["stats"] == {"nodes": len(alive) - edges, "edges": edges}

    @rule(n=picks)
    def open_conflicts_are_listed(self, n: int) -> None:
        name = self.pick(n)
        rows = self.pages("graph.conflicts", "conflicts", "seq", into=name, status="open")
        number = self.model.named(name).number
        want = {
            i
            for i, v in self.model.conflicts.items()
            if self.model.branches[v.branch].base == number
        }
        assert {r["conflict_id"] for r in rows} == want

    @rule(word=st.sampled_from(WORDS))
    def words_are_found(self, word: str) -> None:
        rows = self.pages_found(word)
        notes = {e.seq for e in self.model.entries if word in e.content.split()}
        newest: dict[tuple[int, str], Version] = {}
        for version in sorted(self.model.versions, key=lambda v: v.seq):
            newest[version.branch, version.key] = version
        found = {v.seq for v in newest.values() if v.state and v.state.get("title") == word}
        assert [r["seq"] for r in rows] == sorted(notes | found, reverse=True)

    def pages_found(self, word: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self.call("docs.search", text=word, cursor=cursor, limit=2, order="newest")
            found += page["hits"]
            if not page["pagination"]["has_more"]:
                return found
            cursor = page["pagination"]["next_cursor"]


class MergeMachine(RuleBasedStateMachine):
    """The same house and model; nearly every step edits, merges or resolves the same keys."""

    def __init__(self, lh: Lh, workspace: str) -> None:
        super().__init__()
        self.all = MemoryMachine(lh, workspace)
        self.all.write_nodes(0, [("A", {"type": "test", "title": "alpha"})])
        self.all.branch(self.at("main"), "idea/0")
        self.all.branch(self.at("idea/0"), "idea/1")

    def at(self, name: str) -> int:
        return self.all.model.names().index(name)

    @rule(
        name=st.sampled_from(["main", "idea/0", "idea/1"]),
        key=st.sampled_from(["A", "B"]),
        title=st.sampled_from(WORDS),
    )
    def edit(self, name: str, key: str, title: str) -> None:
        self.all.write_nodes(self.at(name), [(key, {"type": "test", "title": title})])

    @rule(name=st.sampled_from(["idea/0", "idea/1"]), dry=st.sampled_from([False, False, True]))
    def merge(self, name: str, dry: bool) -> None:
        self.all.merge_graph(self.at(name), 200, dry)

    @rule(
        name=st.sampled_from(["idea/0", "idea/1"]),
        key=st.sampled_from(["A", "B"]),
        titles=st.permutations(WORDS),
        gone=st.booleans(),
    )
    def clash(self, name: str, key: str, titles: list[str], gone: bool) -> None:
        """Both sides change one key, then the branch is merged back."""
        base = self.all.model.named(name).base
        assert base is not None
        self.edit(self.all.model.branches[base].name, key, titles[0])
        self.edit(name, key, titles[1])
        if gone:
            self.all.apply(self.at(name), [(key, None, {"op": "node_delete", "id": key})])
        self.merge(name, False)

    @rule(n=picks, use=st.sampled_from(["use_from", "use_into"]), again=st.booleans())
    def decide(self, n: int, use: str, again: bool) -> None:
        """Resolve a conflict, if there is one; merging again must not bring it back."""
        if not self.all.model.conflicts:
            return
        self.all.resolve(n, use)
        for name in ("idea/0", "idea/1") if again else ():
            self.merge(name, False)

    @rule(name=st.sampled_from(["main", "idea/0"]))
    def compare(self, name: str) -> None:
        self.all.open_conflicts_are_listed(self.at(name))
        self.all.compare_graph(name, "none", None)


def run(lh: Lh, machine: Any, examples: int, steps: int) -> None:
    """Many short histories, each in its own workspace; fewer where calls are slow."""
    if lh.house.db.engine.name == "postgres":
        examples //= 5
    count = iter(range(10**6))
    run_state_machine_as_test(
        lambda: machine(lh, f"w{next(count)}"),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.proves("MEM-021", "MEM-044", "MEM-069", "MEM-078", "MEM-090", "MEM-093")
def test_the_room_behaves_like_its_model_over_random_histories(lh: Lh) -> None:
    run(lh, MemoryMachine, 40, 50)


@pytest.mark.proves("MEM-108", "MEM-109", "MEM-110", "MEM-114", "MEM-115")
def test_merges_and_decisions_behave_like_their_model(lh: Lh) -> None:
    run(lh, MergeMachine, 40, 30)
