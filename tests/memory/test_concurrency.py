"""Many writers and readers at once: nothing lost, nothing shown twice or in an older state."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from longhouse.house import House
from tests.kit import Lh
from tests.memory.kit import apply, branch, edge, node, note


@pytest.mark.proves("MEM-044", "MEM-076", "MEM-093")
def test_pages_hold_while_others_write(new_house: Callable[..., House], lh: Lh) -> None:
    """Two servers on one store: four threads write through one, and the other is read."""
    for n in range(40):
        apply(lh, node(f"N{n:02}", title="0"))
        note(lh, f"n{n}")
    reader = Lh(new_house(), lh.clock)
    writers = 4
    rounds = 15

    def write(worker: int) -> list[int]:
        seqs = []
        for n in range(rounds):
            key = f"N{(worker * 7 + n) % 40:02}"
            seqs.append(apply(lh, node(key, title=f"{worker}.{n}"), edge(key, "r", "N00")))
            seqs.append(note(lh, f"w{worker}.{n}"))
        return seqs

    def read(_: int) -> tuple[int, dict[str, int]]:
        page = reader("graph.query", branch="main", limit=7, include_edges=False)
        as_of = page["pagination"]["as_of"]
        seen: dict[str, int] = {}
        while True:
            for found in page["nodes"]:
                assert found["id"] not in seen
                seen[found["id"]] = found["last_seq"]
            if not page["pagination"]["has_more"]:
                return as_of, seen
            page = reader(
                "graph.query",
                branch="main",
                limit=7,
                include_edges=False,
                as_of=as_of,
                cursor=page["pagination"]["next_cursor"],
            )

    with ThreadPoolExecutor(writers + 2) as pool:
        written = [pool.submit(write, worker) for worker in range(writers)]
        reads = [pool.submit(read, n) for n in range(8)]
        for done in reads:
            as_of, seen = done.result()
            assert len(seen) == 40
            assert all(seq <= as_of for seq in seen.values())
        seqs = [seq for done in written for seq in done.result()]
    assert len(set(seqs)) == len(seqs) == writers * rounds * 2
    contents = [e["content"] for e in all_notes(reader)]
    assert len(contents) == len(set(contents)) == 40 + writers * rounds


def all_notes(lh: Lh) -> list[dict]:
    found: list[dict] = []
    cursor = None
    while True:
        page = lh("docs.show", branch="main", doc="notes", limit=30, cursor=cursor)
        found = page["entries"] + found
        if not page["pagination"]["has_more"]:
            return found
        cursor = page["pagination"]["next_cursor"]


def test_a_race_of_merges_and_decisions_has_one_winner(
    new_house: Callable[..., House], lh: Lh
) -> None:
    other = Lh(new_house(), lh.clock)
    apply(lh, node("A", title="old"))
    branch(lh, "idea/a", "main")
    apply(lh, node("A", title="theirs"), *[node(f"N{n}") for n in range(20)], branch="idea/a")
    apply(lh, node("A", title="ours"))
    with ThreadPoolExecutor(6) as pool:
        merges = list(
            pool.map(lambda n: (lh, other)[n % 2]("graph.merge", **{"from": "idea/a"}), range(6))
        )
    assert sum(m["merged"] for m in merges) == 20
    assert sum(m["conflicts_created"] for m in merges) == 1
    (conflict_id,) = {i for m in merges for i in m["conflict_ids"]}
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda n: (lh, other)[n % 2].envelope(
                    "graph.conflict.resolve",
                    conflict_id=conflict_id,
                    resolution=("use_from", "use_into")[n % 2],
                )["success"],
                range(6),
            )
        )
    assert sum(answers) == 1


def test_a_branch_name_is_taken_once_by_racing_writers(
    new_house: Callable[..., House], lh: Lh
) -> None:
    other = Lh(new_house(), lh.clock)
    note(lh, "n")
    with ThreadPoolExecutor(6) as pool:
        made = list(
            pool.map(
                lambda n: (lh, other)[n % 2].envelope("vcs.branch.create", name="idea/a")[
                    "success"
                ],
                range(6),
            )
        )
    assert sum(made) == 1
