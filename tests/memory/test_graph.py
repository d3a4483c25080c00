"""The typed graph: versions, tombstones, strict keys, bounded queries, validation, diffs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.memory import ensure_branch
from longhouse.memory.graph import apply_ops
from longhouse.memory.types.graph import NodeUpsert
from tests.kit import Lh
from tests.memory.kit import apply, branch, edge, ids, node, note, state, write


def cut(from_: str, rel: str, to: str) -> dict[str, Any]:
    return {"op": "edge_delete", "from": from_, "rel": rel, "to": to}


@pytest.mark.proves("MEM-086", "MEM-087", "MEM-076", "MEM-077")
def test_each_operation_is_a_version_of_its_own(lh: Lh) -> None:
    done = lh("graph.apply", ops=[node("A"), node("B"), edge("A", "supports", "B"), node("A", "x")])
    assert done["applied"] == {
        "nodes_upserted": 3,
        "nodes_deleted": 0,
        "edges_upserted": 1,
        "edges_deleted": 0,
    }
    assert (done["branch"], done["doc"]) == ("main", "graph")
    assert done["last_ts_ms"] == lh.clock.now_ms()
    last = done["last_seq"]
    page = lh("graph.query")
    assert [(n["id"], n["type"], n["last_seq"]) for n in page["nodes"]] == [
        ("A", "x", last),
        ("B", "hypothesis", last - 2),
    ]
    ops = [cut("A", "supports", "B"), {"op": "node_delete", "id": "B"}]
    gone = lh("graph.apply", ops=ops)
    assert gone["applied"]["nodes_deleted"] == gone["applied"]["edges_deleted"] == 1
    assert gone["last_seq"] == last + 2
    for at, kind in ((last + 1, "edge"), (last + 2, "node")):
        tombstone = lh("open", id=f"graph@{at}")["entry"]
        assert (tombstone["kind"], tombstone["meta"]["deleted"]) == (kind, True)
    assert lh("open", id=f"graph@{last - 3}")["entry"]["meta"]["type"] == "hypothesis"
    assert ids(lh("graph.query")) == ["A"]


def test_a_batch_is_one_event_that_tells_where_and_how_much(lh: Lh) -> None:
    last = apply(lh, node("A"), node("B"), edge("A", "supports", "B"))
    event = state(lh)[1][-1]
    assert (event["stream"], event["subject"], event["kind"]) == ("memory", "graph", "graph")
    assert event["seq"] == last
    assert json.loads(event["data"]) == {
        "branch": "main",
        "first_seq": last - 2,
        "nodes_upserted": 2,
        "nodes_deleted": 0,
        "edges_upserted": 1,
        "edges_deleted": 0,
    }


@pytest.mark.proves("MEM-086")
def test_an_operation_sets_every_field_it_names_and_no_other(lh: Lh) -> None:
    fields = {"title": "T", "text": "X", "status": "open", "tags": ["blue"], "meta": {"k": 1}}
    kept = ("id", "type", *fields)

    def shown() -> dict[str, Any]:
        (found,) = lh("graph.query", ids=["A"])["nodes"]
        return {name: found[name] for name in kept if name in found}

    apply(lh, node("A", "test", **fields), node("B"))
    assert shown() == {"id": "A", "type": "test", **fields}
    apply(lh, edge("A", "tests", "B", meta={"w": 2}), edge("B", "blocks", "A"))
    edges = lh("graph.query", ids=["A", "B"])["edges"]
    assert sorted((e["from"], e["rel"], e["to"], str(e.get("meta"))) for e in edges) == [
        ("A", "tests", "B", "{'w': 2}"),
        ("B", "blocks", "A", "None"),
    ]
    apply(lh, cut("A", "tests", "B"))
    assert [e["rel"] for e in lh("graph.query", ids=["A", "B"])["edges"]] == ["blocks"]
    apply(lh, {"op": "node_delete", "id": "A"})
    assert ids(lh("graph.query")) == ["B"]


@pytest.mark.proves("MEM-079", "MEM-080", "MEM-083", "MEM-092")
def test_nodes_and_edges_have_their_fields_and_tags_are_normal(lh: Lh) -> None:
    seq = apply(
        lh,
        node(
            "A",
            "test",
            title="T",
            text="X",
            status="open",
            tags=[" Red", "blue", "RED", "Über"],
            meta={"k": [1]},
        ),
        node("B"),
        edge("A", "tests", "B", meta={"w": 2}),
    )
    page = lh("graph.query", branch="main", doc="graph")
    assert page.keys() == {"branch", "doc", "nodes", "edges", "pagination", "truncated"}
    assert (page["branch"], page["doc"]) == ("main", "graph")
    ts = lh.clock.now_ms()
    assert page["nodes"] == [
        {"id": "B", "type": "hypothesis", "deleted": False, "last_seq": seq - 1, "last_ts_ms": ts},
        {
            "id": "A",
            "type": "test",
            "title": "T",
            "text": "X",
            "status": "open",
            "tags": ["blue", "red", "über"],
            "meta": {"k": [1]},
            "deleted": False,
            "last_seq": seq - 2,
            "last_ts_ms": ts,
        },
    ]
    assert page["edges"] == [
        {
            "from": "A",
            "rel": "tests",
            "to": "B",
            "meta": {"w": 2},
            "deleted": False,
            "last_seq": seq,
            "last_ts_ms": ts,
        },
    ]
    assert page["truncated"] is False
    assert page["pagination"] == {
        "cursor": None,
        "has_more": False,
        "limit": 50,
        "count": 2,
        "as_of": seq,
    }
    first = lh("graph.query", limit=1)["pagination"]
    assert first == {
        "cursor": None,
        "next_cursor": seq - 1,
        "has_more": True,
        "limit": 1,
        "count": 1,
        "as_of": seq,
    }
    rest = lh("graph.query", limit=1, cursor=first["next_cursor"])
    assert ids(rest) == ["A"]
    assert rest["pagination"] == {**page["pagination"], "cursor": seq - 1, "limit": 1, "count": 1}


EMPTY = "expected non-empty text"
CONTROL = "contains a control character"
RESERVED = "contains '|'"
KEPT = "starts with a prefix reserved for tasks and steps"
IDS = [
    ("", EMPTY),
    (" A", EMPTY),
    ("A|B", RESERVED),
    ("A\nB", CONTROL),
    ("A" * 257, "257 characters; at most 256"),
]
LABELS = [
    ("", EMPTY),
    ("x|y", RESERVED),
    ("x\ty", CONTROL),
    ("x\x7fy", CONTROL),
    ("x" * 129, "129 characters; at most 128"),
]


def wrong_operations() -> Iterator[tuple[dict[str, Any], str, str]]:
    """Refused operations, with the field and the words of the refusal."""
    for id_, why in IDS:
        yield node(id_), "id", why
        yield {"op": "node_delete", "id": id_}, "id", why
        for made in (edge, cut):
            yield made(id_, "r", "B"), "from", why
            yield made("A", "r", id_), "to", why
    for label, why in LABELS:
        yield node("A", label), "type", why
        for made in (edge, cut):
            yield made("A", label, "B"), "rel", why
    for kept in ("task:TASK-001", "step:STEP-1"):
        yield node(kept), "id", KEPT
        yield {"op": "node_delete", "id": kept}, "id", KEPT
    yield node("A", tags=["a\x07"]), "tags", CONTROL
    yield node("A", text="a\x00"), "text", "without NUL characters"
    yield {"op": "node_upsert", "id": "A"}, "type", "expected"
    yield (
        {"op": "node_upsert", "id": "A", "type": "t", "colour": "red"},
        "colour",
        "unknown argument",
    )
    yield {"op": "paint", "id": "A"}, "op", "expected"


GONE = [
    ({"op": "node_delete", "id": "never-there"}, "there is no node 'never-there' to delete"),
    (cut("A", "r", "never"), "there is no edge 'A|r|never' to delete"),
]


@pytest.mark.proves("MEM-081", "MEM-082", "MEM-084", "MEM-088", "MEM-089")
def test_one_wrong_operation_refuses_the_whole_batch(lh: Lh) -> None:
    apply(lh, node("A"))
    before = state(lh)

    def refused(wrong: dict[str, Any], code: str) -> str:
        error = lh.refused("graph.apply", ops=[node("GOOD"), wrong, node("LAST")], branch="main")
        assert error["code"] == code, wrong
        return str(error["message"])

    for wrong, field, why in wrong_operations():
        said = refused(wrong, "INVALID_INPUT")
        assert (said.startswith(f"ops[1].{field}: "), why in said) == (True, True), said
    for wrong, why in GONE:
        assert refused(wrong, "UNKNOWN_ID") == f"ops[1]: {why}"
    assert state(lh) == before
    assert ids(lh("graph.query")) == ["A"]


@pytest.mark.proves("MEM-081", "MEM-082")
def test_ids_types_and_relations_are_free_up_to_their_bounds(lh: Lh) -> None:
    id_, label = "ü:1/2 " + "x" * 250, "Größe / 1:2 " + "x" * 116
    assert (len(id_), len(label)) == (256, 128)
    apply(lh, node(id_, label), edge(id_, label, id_))
    page = lh("graph.query")
    assert [(n["id"], n["type"]) for n in page["nodes"]] == [(id_, label)]
    assert [(e["from"], e["rel"], e["to"]) for e in page["edges"]] == [(id_, label, id_)]


@pytest.mark.proves("MEM-084")
def test_other_rooms_may_write_the_ids_kept_for_them(lh: Lh) -> None:
    def project(tx: Any) -> Any:
        op = NodeUpsert(id="task:TASK-001", type="task", status="open")
        return apply_ops(
            tx, ensure_branch(tx, "main"), "graph", [op], internal=True, only_changes=True
        )

    assert write(lh, project).applied.nodes_upserted == 1
    assert write(lh, project).last_seq is None
    assert ids(lh("graph.query", types=["task"])) == ["task:TASK-001"]
    apply(lh, node("A"), edge("A", "about", "task:TASK-001"))
    assert lh("graph.validate")["ok"] is True


def fill(lh: Lh) -> None:
    apply(
        lh,
        node("A", "hypothesis", status="open", tags=["red"], title="Cache is stale"),
        node("B", "test", status="open", tags=["red", "blue"], text="read after write"),
        node("C", "test", status="done", tags=["blue"], title="Größe prüfen"),
        node("D", "decision", title="Use a cache key"),
    )


@pytest.mark.proves("MEM-090")
@pytest.mark.parametrize(
    "filters, want",
    [
        ({}, "DCBA"),
        ({"ids": ["A", "D", "nope"]}, "DA"),
        ({"types": ["test"]}, "CB"),
        ({"types": ["test", "decision"]}, "DCB"),
        ({"status": "open"}, "BA"),
        ({"status": ["open", "done"]}, "CBA"),
        ({"tags_any": ["RED", "blue"]}, "CBA"),
        ({"tags_all": ["red", "blue"]}, "B"),
        ({"text": "cache"}, "DA"),
        ({"text": "CACHE key"}, "D"),
        ({"text": "cach*"}, "DA"),
        ({"text": "GRÖSSE"}, "C"),
        ({"text": "größe"}, "C"),
        ({"text": "write", "types": ["test"], "tags_all": ["blue"]}, "B"),
        ({"types": ["decision"], "status": "open"}, ""),
        ({"ids": []}, ""),
    ],
)
def test_a_query_takes_what_every_filter_takes(lh: Lh, filters: dict[str, Any], want: str) -> None:
    fill(lh)
    now = lh("status")["seq"]
    assert "".join(ids(lh("graph.query", **filters))) == want
    branch(lh, "idea/a", "main")
    apply(lh, *[node(i, "gone", title="gone") for i in "ABCD"])
    for args in ({"branch": "idea/a"}, {"branch": "main", "as_of": now}):
        assert "".join(ids(lh("graph.query", **filters, **args))) == want


@pytest.mark.proves("MEM-091", "MEM-094")
def test_edges_between_returned_nodes_come_along_up_to_their_limit(lh: Lh) -> None:
    fill(lh)
    apply(lh, edge("A", "r", "B"), edge("B", "r", "C"), edge("C", "r", "D"), edge("A", "r", "Z"))

    def edges(**args: Any) -> list[str]:
        return [e["from"] + e["to"] for e in lh("graph.query", **args)["edges"]]

    assert edges() == ["CD", "BC", "AB"]
    assert edges(types=["test"]) == ["BC"]
    assert edges(edges_limit=2) == ["CD", "BC"]
    assert edges(include_edges=False) == []
    apply(lh, *[edge("A", f"r{n}", "B") for n in range(205)])
    assert len(edges()) == 200


@pytest.mark.proves("MEM-093")
def test_page_two_never_shows_an_older_version_of_a_node_already_shown(lh: Lh) -> None:
    for n in range(6):
        apply(lh, node(f"N{n}", title="old"))
    first = lh("graph.query", limit=2)
    assert ids(first) == ["N5", "N4"]
    apply(lh, node("N5", title="new"), node("N1", title="new"))
    page = first["pagination"]
    rest = lh("graph.query", limit=50, cursor=page["next_cursor"])
    assert ids(rest) == ["N3", "N2", "N0"]
    kept = lh("graph.query", limit=50, cursor=page["next_cursor"], as_of=page["as_of"])
    assert ids(kept) == ["N3", "N2", "N1", "N0"]
    assert {n["title"] for n in kept["nodes"]} == {"old"}
    some = lh("graph.query", ids=["N0", "N2", "N4"], limit=2)
    assert (ids(some), some["pagination"]["has_more"]) == (["N4", "N2"], True)
    last = lh("graph.query", ids=["N0", "N2", "N4"], cursor=some["pagination"]["next_cursor"])
    assert (ids(last), last["pagination"]["has_more"]) == (["N0"], False)


@pytest.mark.proves("MEM-095")
def test_a_budget_drops_older_nodes_first_and_says_so(lh: Lh) -> None:
    for n in range(30):
        apply(lh, node(f"N{n:02}", text="x" * 100), edge(f"N{n:02}", "r", f"N{n:02}"))
    page = lh("graph.query", max_chars=2_000)
    assert page["truncated"] is True
    assert page["budget"]["used_chars"] <= 2_000
    shown = ids(page)
    assert shown == [f"N{n:02}" for n in range(29, 29 - len(shown), -1)]
    assert [e["from"] for e in page["edges"]] == shown[: len(page["edges"])]
    assert page["pagination"]["next_cursor"] == page["nodes"][-1]["last_seq"]
    rest = lh("graph.query", cursor=page["pagination"]["next_cursor"], include_edges=False)
    assert ids(rest)[0] == f"N{29 - len(shown):02}"


def test_what_a_view_hides_can_still_be_retrieved(lh: Lh) -> None:
    seq = apply(lh, node("A", tags=["v:draft"], title="draft"))
    apply(lh, {"op": "node_delete", "id": "A"})
    assert ids(lh("graph.query")) == []
    assert lh("open", id=f"graph@{seq}")["entry"]["title"] == "draft"
    assert ids(lh("graph.query", as_of=seq)) == ["A"]


@pytest.mark.proves("MEM-096", "MEM-097", "MEM-098")
def test_validation_finds_edges_that_lead_nowhere(lh: Lh) -> None:
    apply(lh, node("A"), node("B"), edge("A", "r", "B"), edge("A", "r", "Z"))
    checked = lh("graph.validate", branch="main", doc="graph")
    assert checked.keys() == {"branch", "doc", "ok", "stats", "errors", "has_more", "truncated"}
    assert (checked["branch"], checked["doc"], checked["ok"]) == ("main", "graph", False)
    assert checked["stats"] == {"nodes": 2, "edges": 2}
    assert [(e["code"], e["missing"]) for e in checked["errors"]] == [
        ("EDGE_ENDPOINT_MISSING", ["Z"])
    ]
    branch(lh, "idea/a")
    apply(lh, {"op": "node_delete", "id": "B"}, branch="idea/a")
    assert len(lh("graph.validate", branch="idea/a")["errors"]) == 2
    assert len(lh("graph.validate", branch="main")["errors"]) == 1
    apply(lh, edge("Y", "r", "B"), branch="idea/a")
    lost = lh("graph.validate", branch="idea/a")["errors"]
    assert sorted(e["missing"] for e in lost) == [["B"], ["Y", "B"], ["Z"]]
    apply(lh, *[edge("A", f"r{n}", "Z") for n in range(60)])
    many = lh("graph.validate")
    assert (len(many["errors"]), many["has_more"]) == (50, True)
    assert len(lh("graph.validate", max_errors=3)["errors"]) == 3


@pytest.mark.proves("MEM-099", "MEM-100", "MEM-101", "MEM-102")
def test_a_diff_shows_states_of_the_other_branch(lh: Lh) -> None:
    apply(lh, node("A"), node("B"), node("C"), edge("A", "r", "B"))
    branch(lh, "idea/a", "main")
    apply(lh, edge("A", "r", "B"), node("C"), branch="idea/a")
    same = lh("graph.diff", **{"from": "main"}, to="idea/a")
    assert (same["doc"], same["changes"]) == ("graph", [])
    last = apply(
        lh,
        node("A", title="new"),
        {"op": "node_delete", "id": "B"},
        edge("A", "r", "C"),
        branch="idea/a",
    )
    page = lh("graph.diff", **{"from": "main"}, to="idea/a", limit=2)
    assert page.keys() == {"from", "to", "doc", "changes", "pagination", "truncated"}
    assert (page["from"], page["to"]) == ("main", "idea/a")
    assert [c["seq"] for c in page["changes"]] == [last, last - 1]
    added, removed = page["changes"]
    key = {"from": "A", "rel": "r", "to": "C"}
    version = {"deleted": False, "last_seq": last, "last_ts_ms": lh.clock.now_ms()}
    assert added == {"kind": "edge", "seq": last, "key": key, "to": {**key, **version}}
    assert (removed["kind"], removed["id"], removed["to"]["deleted"]) == ("node", "B", True)
    assert page["pagination"] == {
        "cursor": None,
        "next_cursor": last - 1,
        "has_more": True,
        "limit": 2,
        "count": 2,
    }
    rest = lh(
        "graph.diff", **{"from": "main"}, to="idea/a", cursor=page["pagination"]["next_cursor"]
    )
    assert [(c["id"], c["to"]["title"]) for c in rest["changes"]] == [("A", "new")]
    assert rest["pagination"]["has_more"] is False
    apply(lh, node("S"), branch="idea/a", doc="sketch")
    other = lh("graph.diff", **{"from": "main"}, to="idea/a", doc="sketch")
    assert (other["doc"], [c["id"] for c in other["changes"]]) == ("sketch", ["S"])
    small = lh("graph.diff", **{"from": "main"}, to="idea/a", max_chars=400)
    assert small["truncated"]
    assert len(small["changes"]) < 3
    back = lh("graph.diff", **{"from": "idea/a"}, to="main")
    assert [(c["id"], c["to"]["deleted"]) for c in back["changes"]] == [("B", False), ("A", False)]


@pytest.mark.proves("MEM-101", "MEM-102")
def test_what_only_the_other_branch_changed_is_paged_by_seq_too(lh: Lh) -> None:
    apply(lh, node("A"), node("B"), edge("A", "r", "B"))
    branch(lh, "idea/a", "main")
    removed = {"op": "edge_delete", "from": "A", "rel": "r", "to": "B"}
    apply(lh, node("B", title="new"), node("A", title="new"), removed, branch="idea/a")
    (gone, *_) = lh("graph.diff", **{"from": "main"}, to="idea/a")["changes"]
    assert (gone["kind"], gone["key"]["rel"], gone["to"]["deleted"]) == ("edge", "r", True)
    seen: list[tuple[str, bool]] = []
    cursor = None
    for _ in range(3):
        page = lh("graph.diff", **{"from": "idea/a"}, to="main", limit=1, cursor=cursor)
        (change,), pages = page["changes"], page["pagination"]
        seen.append((change.get("id", "the edge"), pages["has_more"]))
        cursor = pages.get("next_cursor")
    assert seen == [("the edge", True), ("B", True), ("A", False)], "the newest of `to` first"


@pytest.mark.proves("MEM-078")
def test_a_branch_sees_its_snapshot_whatever_its_base_does_later(lh: Lh) -> None:
    apply(lh, node("A", title="one"), node("B", title="one", tags=["t"]))
    branch(lh, "idea/a", "main")
    for n in range(5):
        apply(lh, node("A", title=f"later {n}"), node("B", title="later"), node(f"M{n}"))
    branch(lh, "idea/b", "main")
    apply(lh, node("A", title="last"), {"op": "node_delete", "id": "B"})
    titles = {
        name: {n["id"]: n.get("title") for n in lh("graph.query", branch=name)["nodes"]}
        for name in ("idea/a", "idea/b", "main")
    }
    assert titles["idea/a"] == {"A": "one", "B": "one"}
    assert titles["idea/b"]["A"] == "later 4"
    assert titles["idea/b"]["B"] == "later"
    assert titles["main"]["A"] == "last"
    assert "B" not in titles["main"]
    assert ids(lh("graph.query", branch="idea/a", tags_all=["t"])) == ["B"]
    assert ids(lh("graph.query", branch="idea/b", tags_all=["t"])) == []


def test_a_crowded_node_costs_no_more_than_its_pairs(lh: Lh) -> None:
    lh("graph.apply", ops=[node("HUB"), *[edge("HUB", "has", f"X{n}") for n in range(2_500)]])
    apply(lh, node("X7"))
    page = lh("graph.query")
    assert [(e["from"], e["to"]) for e in page["edges"]] == [("HUB", "X7")]


def test_notes_and_graph_of_one_name_live_side_by_side(lh: Lh) -> None:
    note(lh, "n")
    apply(lh, node("A"), doc="notes")
    assert ids(lh("graph.query", branch="main", doc="notes")) == ["A"]
