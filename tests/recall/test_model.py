"""The index against a slow search over the tables: branches, merges, deletions, and any past."""

from __future__ import annotations

import random
from typing import Any

import pytest

from longhouse.store.recall import index
from longhouse.store.recall.checks import differences
from longhouse.store.recall.rebuilding import rebuild
from tests.kit import Lh
from tests.memory.kit import apply, branch, node, note, write

WORDS = ["alpha", "beta", "gamma", "delta", "omega"]
WIDE = {"limit": 200, "max_chars": 80_000, "budget_profile": "audit"}


class Model:
    """Writes at random; every write is kept in the tables, and read back from them alone."""

    def __init__(self, lh: Lh, seed: int) -> None:
        self.lh = lh
        self.chance = random.Random(seed)
        self.branches = ["main"]
        self.last = note(lh, "alpha beta")

    def write(self, turn: int) -> None:
        where = self.chance.choice(self.branches)
        said = " ".join(self.chance.choices(WORDS, k=2))
        kind = self.chance.randrange(12)
        if kind < 4:
            self.last = note(self.lh, said, where)
        elif kind < 7:
            self.last = apply(self.lh, node(self.chance.choice("ABC"), title=said), branch=where)
        elif kind == 7:
            self._delete_node(where)
        elif kind == 8 and len(self.branches) < 5:
            branch(self.lh, f"idea/{turn}", where)
            self.branches.append(f"idea/{turn}")
        elif kind in (9, 10) and len(self.branches) > 1:
            self._merge()
        elif kind == 11 and len(self.branches) > 2:
            gone = self.branches.pop(self.chance.randrange(1, len(self.branches)))
            if self.lh.envelope("vcs.branch.delete", name=gone, force=True)["error"]:
                self.branches.append(gone)  # another one stands on it

    def _delete_node(self, where: str) -> None:
        nodes = self.lh("graph.query", branch=where, doc="graph", limit=50)["nodes"]
        if nodes:
            gone = self.chance.choice([one["id"] for one in nodes])
            self.last = apply(self.lh, {"op": "node_delete", "id": gone}, branch=where)

    def _merge(self) -> None:
        name = self.chance.choice(self.branches[1:])
        self.lh.envelope("docs.merge", **{"from": name})
        self.lh.envelope("graph.merge", **{"from": name})

    def visible(self, name: str, as_of: int | None) -> dict[int, str]:
        """What a branch shows, by seq: a listing of its documents, not a search."""
        at = {} if as_of is None else {"as_of": as_of}
        found: dict[int, str] = {}
        shown = self.lh.envelope("docs.show", branch=name, doc="notes", **WIDE, **at)
        for one in (shown["result"] or {}).get("entries", ()):
            found[one["seq"]] = one["content"]
        drawn = self.lh.envelope("graph.query", branch=name, doc="graph", **WIDE, **at)
        for one in (drawn["result"] or {}).get("nodes", ()):
            found[one["last_seq"]] = one["title"]
        return found

    def found(self, word: str, **args: Any) -> set[int]:
        result = self.lh("docs.search", text=word, **WIDE, **args)
        return {hit["seq"] for hit in result["hits"]}


@pytest.mark.parametrize("seed", range(4))
def test_the_index_agrees_with_a_slow_search(
    lh: Lh, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FOLD_AT", 5)
    monkeypatch.setattr(index, "_LOOK_EVERY", 3)
    model = Model(lh, seed)
    for turn in range(60):
        model.write(turn)
    pasts = [None, *sorted(model.chance.sample(range(1, model.last), 2))]
    compare(model, pasts)
    assert write(lh, lambda tx: list(differences(tx))) == []
    write(lh, rebuild)
    compare(model, pasts)
    assert write(lh, lambda tx: list(differences(tx))) == []


def compare(model: Model, pasts: list[int | None]) -> None:
    for as_of in pasts:
        at = {} if as_of is None else {"as_of": as_of}
        for name in model.branches:
            try:
                seen = model.visible(name, as_of)
            except AssertionError:
                continue  # the branch did not exist then
            for word in WORDS:
                want = {seq for seq, said in seen.items() if word in said}
                newest = model.found(word, branch=name, order="newest", **at)
                assert newest == want, (name, as_of, word)
                best = model.found(word, branch=name, **at)
                assert best <= want, (name, as_of, word)
                assert things(seen, best) == things(seen, want), (name, as_of, word)


def things(seen: dict[int, str], seqs: set[int]) -> set[str]:
    return {seen[seq] for seq in seqs}
