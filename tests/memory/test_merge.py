"""Merging a graph back: three-way merges, recorded conflicts, lasting decisions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.kit import Lh
from tests.memory.kit import apply, branch, edge, ids, node, state


def merge(lh: Lh, name: str = "idea/a", **args: Any) -> dict[str, Any]:
    return lh("graph.merge", **{"from": name}, **args)


def titles(lh: Lh, branch: str = "main") -> dict[str, str | None]:
    return {n["id"]: n.get("title") for n in lh("graph.query", branch=branch)["nodes"]}


@pytest.fixture
def clash(lh: Lh) -> Lh:
    """A and B on main; the branch and main then disagree about A, and the branch adds C."""
    apply(lh, node("A", title="old"), node("B", title="old"))
    branch(lh, "idea/a", "main")
    apply(lh, node("A", title="theirs"), node("C"), edge("C", "r", "A"), branch="idea/a")
    apply(lh, node("A", title="ours"), node("B", title="main only"))
    return lh


@pytest.mark.proves("MEM-103", "MEM-104", "MEM-107", "MEM-108")
@pytest.mark.parametrize("args", [{"merge_to_base": True}, {"into": "main"}, {}])
def test_a_merge_brings_back_what_the_branch_changed(lh: Lh, args: dict[str, Any]) -> None:
    apply(lh, node("A", title="old"), node("B"), node("D"))
    branch(lh, "idea/a", "main")
    apply(lh, node("D", title="main only"))
    apply(
        lh,
        node("A", title="new", status="open"),
        {"op": "node_delete", "id": "B"},
        edge("A", "r", "D"),
        branch="idea/a",
    )
    done = merge(lh, **args)
    assert done == {
        "from": "idea/a",
        "into": "main",
        "doc": "graph",
        "merged": 3,
        "skipped": 0,
        "conflicts_created": 0,
        "conflict_ids": [],
        "conflicts": [],
        "diff_summary": {
            "nodes_changed": 2,
            "edges_changed": 1,
            "node_fields_changed": 3,
            "edge_fields_changed": 1,
        },
        "pagination": {"cursor": None, "has_more": False, "limit": 200, "count": 3},
        "truncated": False,
    }
    assert titles(lh) == {"A": "new", "D": "main only"}
    again = merge(lh, **args)
    assert (again["merged"], again["skipped"]) == (0, 3)


@pytest.mark.proves("MEM-104")
@pytest.mark.parametrize("args", [{"merge_to_base": True}, {}])
def test_a_merge_to_the_base_goes_to_the_branch_it_came_from(lh: Lh, args: dict[str, Any]) -> None:
    branch(lh, "idea/a", "main")
    branch(lh, "idea/a-b", "idea/a")
    apply(lh, node("A", title="deep"), branch="idea/a-b")
    done = lh("graph.merge", **{"from": "idea/a-b"}, **args)
    assert (done["into"], done["merged"]) == ("idea/a", 1)
    assert [n["id"] for n in lh("graph.query", branch="idea/a")["nodes"]] == ["A"]
    assert lh("graph.query", branch="main")["nodes"] == []


@pytest.mark.proves("MEM-103")
def test_a_large_merge_goes_on_page_by_page(lh: Lh) -> None:
    branch(lh, "idea/a", "main")
    apply(lh, *[node(f"N{n}") for n in range(5)], branch="idea/a")
    cursor, merged = None, 0
    while True:
        page = merge(lh, limit=2, cursor=cursor)
        merged += page["merged"]
        if not page["pagination"]["has_more"]:
            break
        cursor = page["pagination"]["next_cursor"]
    assert merged == 5
    assert len(ids(lh("graph.query", branch="main"))) == 5
    apply(lh, node("S"), branch="idea/a", doc="sketch")
    other = merge(lh, doc="sketch")
    assert (other["doc"], other["merged"]) == ("sketch", 1)
    assert ids(lh("graph.query", branch="main", doc="sketch")) == ["S"]


@pytest.mark.proves("MEM-105")
def test_a_merge_goes_into_the_base_only(lh: Lh) -> None:
    branch(lh, "idea/a", "main")
    branch(lh, "idea/b", "main")
    branch(lh, "idea/a-b", "idea/a")
    before = state(lh)
    for args in (
        {"from": "idea/a-b", "into": "main"},
        {"from": "idea/a", "into": "idea/b"},
        {"from": "main", "into": "idea/a"},
        {"from": "main", "merge_to_base": True},
    ):
        assert lh.refused("graph.merge", **args)["code"] == "MERGE_NOT_SUPPORTED"
    assert lh.refused("graph.merge", **{"from": "nowhere"})["code"] == "UNKNOWN_ID"
    assert state(lh) == before


@pytest.mark.proves("MEM-106", "MEM-109", "MEM-110")
def test_what_both_changed_becomes_one_conflict_and_is_left_alone(clash: Lh) -> None:
    before = state(clash)
    dry = merge(clash, dry_run=True)
    assert state(clash) == before
    assert [(c["key"], c["status"]) for c in dry["conflicts"]] == [("A", "preview")]
    assert dry["conflicts_created"] == 0
    done = merge(clash)
    assert (done["merged"], done["conflicts_created"]) == (2, 1)
    assert done["conflict_ids"] == dry["conflict_ids"]
    assert [(c["key"], c["status"]) for c in done["conflicts"]] == [("A", "open")]
    assert re.fullmatch(r"CONFLICT-[0-9a-f]{32}", done["conflict_ids"][0])
    assert titles(clash)["A"] == "ours"
    apply(clash, node("A", title="ours again"))
    again = merge(clash)
    assert again["conflict_ids"] == done["conflict_ids"]
    assert again["conflicts_created"] == 0
    assert len(clash("graph.conflicts", into="main")["conflicts"]) == 1
    for title in (None, "theirs again"):
        if title is not None:
            apply(clash, node("A", title=title), branch="idea/a")
        before = state(clash)
        dry = merge(clash, dry_run=True)
        assert [c["status"] for c in dry["conflicts"]] == ["preview"]
        assert state(clash) == before, "nothing is ended, either"


@pytest.mark.proves("MEM-111", "MEM-112")
def test_a_conflict_is_listed_and_shown_with_its_three_sides(clash: Lh) -> None:
    (conflict_id,) = merge(clash)["conflict_ids"]
    listed = clash("graph.conflicts", into="main")
    assert (listed["into"], listed["doc"], listed["truncated"]) == ("main", "graph", False)
    (row,) = listed["conflicts"]
    assert (row["conflict_id"], row["kind"], row["key"], row["status"]) == (
        conflict_id,
        "node",
        "A",
        "open",
    )
    assert row["created_at_ms"] == clash.clock.now_ms()
    assert listed["pagination"]["count"] == 1
    shown = clash("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert (shown["from"], shown["into"], shown["doc"]) == ("idea/a", "main", "graph")
    same = ("conflict_id", "kind", "key", "status", "created_at_ms")
    assert [shown[name] for name in same] == [row[name] for name in same]
    assert "resolved_at_ms" not in shown
    assert [shown[side]["title"] for side in ("base", "theirs", "ours")] == [
        "old",
        "theirs",
        "ours",
    ]
    assert clash("open", id=conflict_id)["conflict"] == shown
    apply(clash, node("A", title="ours again"))
    kept = clash("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert kept == shown, "both sides are shown as they met"
    assert clash("graph.conflicts", into="main", status="resolved")["conflicts"] == []
    assert clash("graph.conflicts", into="idea/a")["conflicts"] == []
    unknown = clash.refused("graph.conflict.show", conflict_id="CONFLICT-" + "0" * 32)
    assert unknown["code"] == "UNKNOWN_ID"
    wrong = clash.refused("graph.conflict.show", conflict_id="CONFLICT-1")
    assert wrong["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-109", "MEM-112")
def test_a_conflict_about_an_edge_names_its_three_parts(lh: Lh) -> None:
    apply(lh, node("A"), node("B"), edge("A", "r", "B", meta={"w": 1}))
    branch(lh, "idea/a", "main")
    apply(lh, edge("A", "r", "B", meta={"w": 2}), branch="idea/a")
    apply(lh, edge("A", "r", "B", meta={"w": 3}))
    (conflict_id,) = merge(lh)["conflict_ids"]
    shown = lh("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert (shown["kind"], shown["key"]) == ("edge", {"from": "A", "rel": "r", "to": "B"})
    assert [shown[side]["meta"]["w"] for side in ("base", "theirs", "ours")] == [1, 2, 3]


@pytest.mark.proves("MEM-113", "MEM-114")
def test_use_from_writes_the_branchs_side_once(clash: Lh) -> None:
    (conflict_id,) = merge(clash)["conflict_ids"]
    (held,) = clash("graph.query", branch="main", ids=["A"])["nodes"]
    before = clash("status")["seq"]
    clash.clock.advance(1_000)
    done = clash("graph.conflict.resolve", conflict_id=conflict_id, resolution="use_from")
    assert (done["conflict_id"], done["status"], done["applied"]) == (
        conflict_id,
        "resolved",
        True,
    )
    (written,) = clash("graph.query", branch="main", ids=["A"])["nodes"]
    assert (written["title"], done["ref"]) == ("theirs", f"graph@{written['last_seq']}")
    assert written["last_seq"] > before >= held["last_seq"], (
        "a new version; nothing changes in place"
    )
    assert clash("open", id=f"graph@{held['last_seq']}")["entry"]["title"] == "ours"
    assert clash("open", id=done["ref"])["entry"]["title"] == "theirs"
    shown = clash("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert (shown["status"], shown["resolved_at_ms"]) == ("resolved", clash.clock.now_ms())
    assert clash("graph.conflicts", into="main", status="open")["conflicts"] == []
    past = clash("graph.conflicts", into="main", status="open", as_of=before)["conflicts"]
    assert [c["status"] for c in past] == ["open"]
    again = clash.refused("graph.conflict.resolve", conflict_id=conflict_id, resolution="use_into")
    assert again["code"] == "CONFLICT"
    assert titles(clash)["A"] == "theirs"
    apply(clash, node("A", title="second edit"), branch="idea/a")
    assert (merge(clash)["merged"], titles(clash)["A"]) == (1, "second edit")


@pytest.mark.proves("MEM-113", "MEM-115")
def test_use_into_keeps_the_destination_and_the_conflict_stays_resolved(clash: Lh) -> None:
    (conflict_id,) = merge(clash)["conflict_ids"]
    before = clash("graph.query", branch="main")["nodes"]
    done = clash("graph.conflict.resolve", conflict_id=conflict_id, resolution="use_into")
    assert (done["conflict_id"], done["status"], done["applied"]) == (
        conflict_id,
        "resolved",
        False,
    )
    shown = clash("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert (shown["status"], shown["resolved_at_ms"]) == ("resolved", clash.clock.now_ms())
    assert clash("graph.conflicts", into="main", status="open")["conflicts"] == []
    assert clash("graph.query", branch="main")["nodes"] == before
    again = merge(clash)
    assert (again["conflict_ids"], again["skipped"]) == ([], 3)
    apply(clash, node("A", title="theirs"), branch="idea/a")
    assert merge(clash)["conflict_ids"] == []
    apply(clash, node("A", title="a new idea"), branch="idea/a")
    (other,) = merge(clash)["conflict_ids"]
    assert other != conflict_id


def test_after_a_merge_a_second_edit_of_the_same_key_is_no_conflict(lh: Lh) -> None:
    apply(lh, node("A", title="0"))
    branch(lh, "idea/a", "main")
    for n in range(1, 4):
        apply(lh, node("A", title=str(n)), branch="idea/a")
        done = merge(lh)
        assert (done["merged"], done["conflicts_created"], titles(lh)["A"]) == (1, 0, str(n))


def test_both_sides_saying_the_same_is_no_conflict_now_or_later(clash: Lh) -> None:
    merge(clash)
    apply(clash, node("A", title="theirs"))
    assert merge(clash)["conflict_ids"] == []
    assert clash("graph.conflicts", into="main", status="open")["conflicts"] == []
    apply(clash, node("A", title="next"), branch="idea/a")
    assert merge(clash)["merged"] == 1


def test_a_newer_change_replaces_the_open_conflict_of_its_key(clash: Lh) -> None:
    (old,) = merge(clash)["conflict_ids"]
    apply(clash, node("A", title="theirs, better"), branch="idea/a")
    (new,) = merge(clash)["conflict_ids"]
    assert new != old
    listed = clash("graph.conflicts", into="main", status="open")["conflicts"]
    assert [c["conflict_id"] for c in listed] == [new]
    shown = clash("graph.conflict.show", conflict_id=old)["conflict"]
    assert (shown["status"], shown["resolution"]) == ("resolved", "superseded")


def test_renaming_a_branch_keeps_its_conflicts_and_how_far_it_was_merged(clash: Lh) -> None:
    (conflict_id,) = merge(clash)["conflict_ids"]
    clash("vcs.branch.rename", old="idea/a", new="idea/z")
    again = merge(clash, "idea/z")
    assert (again["conflict_ids"], again["merged"]) == ([conflict_id], 0)
    assert clash("graph.conflict.show", conflict_id=conflict_id)["conflict"]["from"] == "idea/z"
    kept = clash("vcs.branch.delete", name="idea/z", force=True)["kept_as"]
    clash("vcs.branch.delete", name=kept, force=True)
    assert clash("graph.conflicts", into="main")["conflicts"] == []


def test_every_suggested_way_out_of_a_conflict_runs(clash: Lh) -> None:
    (conflict_id,) = merge(clash)["conflict_ids"]
    actions = clash.envelope("graph.conflict.show", conflict_id=conflict_id)["actions"]
    assert [a["action_id"] for a in actions] == ["resolve::use_from", "resolve::use_into"]
    call = actions[0]["args"]
    assert clash(call["cmd"], **call["args"])["status"] == "resolved"


@pytest.mark.proves("MEM-111")
def test_conflicts_are_listed_in_pages_of_one_document(clash: Lh) -> None:
    apply(clash, node("B", title="theirs too"), branch="idea/a")
    merge(clash)
    whole = clash("graph.conflicts", into="main")
    keys = [row["key"] for row in whole["conflicts"]]
    assert sorted(keys) == ["A", "B"]
    first = clash("graph.conflicts", into="main", limit=1)
    assert [row["key"] for row in first["conflicts"]] == keys[:1]
    assert first["pagination"] == {
        "cursor": None,
        "next_cursor": first["conflicts"][0]["seq"],
        "has_more": True,
        "limit": 1,
        "count": 1,
    }
    cursor = first["pagination"]["next_cursor"]
    rest = clash("graph.conflicts", into="main", limit=1, cursor=cursor)
    assert [row["key"] for row in rest["conflicts"]] == keys[1:]
    assert rest["pagination"]["has_more"] is False
    assert clash("graph.conflicts", into="main", doc="sketch")["conflicts"] == []
    small = clash("graph.conflicts", into="main", max_chars=350)
    assert (small["truncated"], len(small["conflicts"])) == (True, 1)


def test_an_edge_can_be_in_conflict_too(lh: Lh) -> None:
    apply(lh, node("A"), node("B"), edge("A", "r", "B"))
    branch(lh, "idea/a", "main")
    apply(lh, edge("A", "r", "B", meta={"w": 1}), branch="idea/a")
    apply(lh, {"op": "edge_delete", "from": "A", "rel": "r", "to": "B"})
    (conflict_id,) = merge(lh)["conflict_ids"]
    shown = lh("graph.conflict.show", conflict_id=conflict_id)["conflict"]
    assert shown["key"] == {"from": "A", "rel": "r", "to": "B"}
    assert shown["ours"]["deleted"] is True
    lh("graph.conflict.resolve", conflict_id=conflict_id, resolution="use_from")
    assert lh("graph.query", branch="main")["edges"][0]["meta"] == {"w": 1}
