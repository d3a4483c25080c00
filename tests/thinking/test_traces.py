"""Traces: steps, numbered thoughts, and faults in their order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.thinking.kit import task


def thought(lh: Lh, number: int, **more: Any) -> dict[str, Any]:
    return lh(
        "think.trace.sequential.step",
        **{
            "thought": f"thought {number}",
            "thoughtNumber": number,
            "totalThoughts": 9,
            "nextThoughtNeeded": True,
            **more,
        },
    )


@pytest.mark.proves("MEM-269", "MEM-276")
def test_a_step_is_an_entry_and_may_carry_a_sequence(lh: Lh) -> None:
    meta = {"thoughtNumber": 2, "branchFromThought": 1, "branchId": "b", "isRevision": False}
    answer = lh.envelope("think.trace.step", step="Read the profile", message="slow", meta=meta)
    assert answer["warnings"] == [], "nothing is missing"
    made = answer["result"]
    assert made["entry"]["format"] == "trace_step"
    assert made["entry"]["meta"] == meta
    assert lh("open", id=made["ref"])["entry"]["content"] == "Read the profile"
    lh("think.trace.step", step="no sequence")
    numbered = lh("think.trace.step", step="only a number", meta={"thoughtNumber": 3})
    lh("vcs.notes.commit", branch="main", doc="trace", content="a note", meta=meta)
    revision = {"thoughtNumber": 4, "isRevision": True, "revisesThought": 2}
    last = lh("think.trace.step", step="Read it again", meta=revision)
    sequential = lh("think.trace.hydrate")["sequential"]
    seqs = [made["seq"], numbered["seq"], last["seq"]]
    assert [node["seq"] for node in sequential["nodes"]] == seqs
    assert sequential["nodes"][0]["branchId"] == "b"
    assert sequential["edges"] == [
        {"rel": "branch", "from": 1, "to": 2},
        {"rel": "revision", "from": 2, "to": 4},
    ]


@pytest.mark.proves("MEM-270", "MEM-271")
@pytest.mark.parametrize(
    "meta",
    [
        {"branchFromThought": 1},
        {"thoughtNumber": 1, "isRevision": True},
        {"thoughtNumber": "one", "branchId": "b", "isRevision": True, "totalThoughts": None},
    ],
)
def test_an_incomplete_sequence_warns_a_little_and_is_written(lh: Lh, meta: dict[str, Any]) -> None:
    answer = lh.envelope("think.trace.step", step="x", meta=meta)
    assert answer["success"]
    codes = [one["code"] for one in answer["warnings"]]
    assert 1 <= len(codes) <= 2
    assert all(code.startswith("TRACE_SEQ_META_") for code in codes)
    assert len(lh("think.trace.hydrate")["entries"]) == 1


@pytest.mark.proves("MEM-272", "MEM-276", "MEM-277", "MEM-278", "MEM-279")
def test_thoughts_become_a_graph_of_the_slice_that_is_shown(lh: Lh) -> None:
    first = thought(lh, 1)
    thought(lh, 2, branchFromThought=1, branchId="b")
    second = thought(lh, 2, branchFromThought=1, branchId="c", revisesThought=1)
    order = {"isRevision": True, "revisesThought": 1, "needsMoreThoughts": True}
    last = thought(lh, 3, **order)
    assert last["entry"]["format"] == "trace_sequential_step"
    assert last["entry"]["content"] == "thought 3"
    counted = {"thoughtNumber": 3, "totalThoughts": 9, "nextThoughtNeeded": True}
    assert last["entry"]["meta"] == {**counted, **order}
    whole = lh("think.trace.hydrate")["sequential"]
    assert [(node["thoughtNumber"], node["seq"]) for node in whole["nodes"]] == [
        (1, first["seq"]),
        (2, second["seq"]),
        (3, last["seq"]),
    ], "one node per number"
    assert whole["edges"] == [
        {"rel": "branch", "from": 1, "to": 2},
        {"rel": "branch", "from": 1, "to": 2},
        {"rel": "revision", "from": 1, "to": 3},
    ]
    assert whole["missing"] == []
    part = lh("think.trace.hydrate", limit_steps=2)["sequential"]
    assert [node["thoughtNumber"] for node in part["nodes"]] == [2, 3]
    assert part["missing"] == [1]
    newest = lh("think.trace.hydrate", limit_steps=1)["sequential"]
    assert (newest["edges"], newest["missing"]) == (whole["edges"][-1:], [1])
    cut = lh("think.trace.hydrate", max_chars=700)
    assert len(cut["entries"]) < 4
    kept = {entry["seq"] for entry in cut["entries"]}
    assert {node["seq"] for node in (cut.get("sequential") or {"nodes": []})["nodes"]} <= kept


@pytest.mark.proves("MEM-273")
def test_a_hydrated_trace_is_bounded_and_pages(lh: Lh) -> None:
    for number in range(1, 6):
        thought(lh, number, thought="ä" * 40)
    first = lh("think.trace.hydrate", limit_steps=2, statement_max_bytes=17)
    assert [entry["meta"]["thoughtNumber"] for entry in first["entries"]] == [4, 5]
    assert first["entries"][0]["content"] == "ä" * 8, "a character is never split"
    more = lh("think.trace.hydrate", limit_steps=9, cursor=first["pagination"]["next_cursor"])
    assert [entry["meta"]["thoughtNumber"] for entry in more["entries"]] == [1, 2, 3]


@pytest.mark.proves("MEM-274")
def test_a_trace_is_checked_for_order_and_for_what_is_missing(lh: Lh) -> None:
    thought(lh, 1)
    thought(lh, 2)
    assert lh("think.trace.validate") == {
        "branch": "main",
        "doc": "trace",
        "ok": True,
        "checked": 2,
        "has_more": False,
        "errors": [],
        "has_more_errors": False,
        "truncated": False,
    }
    wrong = {
        "OUT_OF_ORDER": thought(lh, 2),
        "UNKNOWN_THOUGHT": thought(lh, 4, branchFromThought=7, branchId="b"),
        "NUMBER_OVER_TOTAL": thought(lh, 6, totalThoughts=5),
        "MISSING_FIELD": thought(lh, 7, isRevision=True),
    }
    half = {"branch": "main", "doc": "trace", "format": "trace_sequential_step"}
    bare = lh("vcs.notes.commit", content="no numbers", **half)["entry"]
    checked = lh("think.trace.validate")
    counted = ("thoughtNumber", "totalThoughts", "nextThoughtNeeded")
    assert checked["ok"] is False
    assert [(one["code"], one["ref"]) for one in checked["errors"]] == [
        *((code, made["ref"]) for code, made in wrong.items()),
        *[("MISSING_FIELD", f"trace@{bare['seq']}")] * 3,
    ]
    for name, one in zip(counted, checked["errors"][-3:], strict=True):
        assert name in one["message"]
    for one in checked["errors"]:
        assert lh("open", id=one["ref"])


def test_a_thought_may_revise_or_branch_from_any_earlier_one(lh: Lh) -> None:
    thought(lh, 1)
    thought(lh, 2, isRevision=True, revisesThought=1)
    thought(lh, 3, branchFromThought=2, branchId="b")
    assert lh("think.trace.validate")["errors"] == []
    thought(lh, 4, isRevision=True, revisesThought=4)
    (wrong,) = lh("think.trace.validate")["errors"]
    assert (wrong["code"], "revisesThought=4" in wrong["message"]) == ("UNKNOWN_THOUGHT", True)


@pytest.mark.proves("MEM-275")
def test_a_trace_belongs_to_a_target_or_is_named(lh: Lh) -> None:
    made = task(lh)
    own = {"target": made["id"]}
    assert thought(lh, 1, **own)["ref"].startswith(f"{made['id']}-trace@")
    thought(lh, 2, ref="main", doc="mine")
    lh("think.trace.step", step="three", doc="mine")
    for where, said in ((own, "thought 1"), ({"ref": "main", "doc": "mine"}, "thought 2")):
        assert said in [one["content"] for one in lh("think.trace.hydrate", **where)["entries"]]
        assert lh("think.trace.validate", **where)["checked"] == 1
    assert lh("think.trace.hydrate", doc="mine")["entries"][-1]["content"] == "three"
