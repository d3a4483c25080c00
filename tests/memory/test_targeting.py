"""Which branch and document a command means: explicit, then focus, then checkout."""

from __future__ import annotations

import pytest

from longhouse.memory import standing
from longhouse.memory.types.documents import TargetInfo
from tests.kit import Lh
from tests.memory.kit import branch, contents, focus, node, note, notes, state, write


@pytest.mark.proves("MEM-035", "MEM-037", "MEM-017", "MEM-040")
@pytest.mark.parametrize("target", ["TASK-001", {"id": "TASK-001", "kind": "task"}])
def test_a_target_means_the_notes_of_its_canonical_branch(lh: Lh, target: object) -> None:
    said = {"content": "c", "title": "t", "format": "md", "meta": {"k": 1}}
    entry = lh("vcs.notes.commit", target=target, agent_id="ann", **said)["entry"]
    assert (entry["branch"], entry["doc"]) == ("task/TASK-001", "notes")
    assert said.items() <= entry.items()
    assert contents(lh("docs.show", target=target, doc_kind="notes")) == ["c"]
    assert state(lh)[1][-1]["actor"] == "ann"
    plan = lh("vcs.notes.commit", target="PLAN-002", content="p")["entry"]
    assert plan["branch"] == "plan/PLAN-002"
    for made, id_ in ((entry, "TASK-001"), (plan, "PLAN-002")):
        assert made["branch"] == lh("docs.export", target=id_)["reasoning_ref"]["branch"]


@pytest.mark.proves("MEM-038", "MEM-041")
def test_without_a_target_the_focus_counts_and_then_the_checkout(lh: Lh) -> None:
    note(lh, "n")
    branch(lh, "idea/a")
    lh("vcs.checkout", ref="idea/a")
    assert lh("vcs.notes.commit", content="here")["entry"]["branch"] == "idea/a"
    focus(lh, "TASK-003")
    there = lh("vcs.notes.commit", content="there")["entry"]
    assert (there["branch"], there["doc"]) == ("task/TASK-003", "notes")
    beside = lh("vcs.notes.commit", content="beside", doc="adr")["entry"]
    assert (beside["branch"], beside["doc"]) == ("task/TASK-003", "adr")
    assert contents(lh("docs.show", doc_kind="notes")) == ["there"]
    assert lh("vcs.notes.commit", content="x", branch="main")["entry"]["branch"] == "main"
    elsewhere = lh("vcs.notes.commit", content="y", target="TASK-001")["entry"]
    assert elsewhere["branch"] == "task/TASK-001", "an explicit target wins over any focus"
    focus(lh, None)
    assert contents(lh("docs.show", doc_kind="notes")) == ["n", "here"]


@pytest.mark.proves("MEM-016", "MEM-085", "MEM-091", "MEM-096")
def test_graph_commands_follow_the_same_order(lh: Lh) -> None:
    done = lh("graph.apply", ops=[node("A")])
    assert (done["branch"], done["doc"]) == ("main", "graph")
    done = lh("graph.apply", target="TASK-001", ops=[node("B")])
    assert (done["branch"], done["doc"]) == ("task/TASK-001", "TASK-001-graph")
    for read in ("graph.query", "graph.validate"):
        page = lh(read, target="TASK-001")
        assert (page["branch"], page["doc"]) == ("task/TASK-001", "TASK-001-graph")
    done = lh("graph.apply", branch="task/TASK-001", doc="sketch", ops=[node("C")])
    assert (done["branch"], done["doc"]) == ("task/TASK-001", "sketch")
    focus(lh, "TASK-001")
    assert [n["id"] for n in lh("graph.query")["nodes"]] == ["B"]
    done = lh("graph.apply", ops=[node("D")])
    assert (done["branch"], done["doc"]) == ("task/TASK-001", "TASK-001-graph")
    assert lh("graph.validate")["doc"] == "TASK-001-graph"
    done = lh("graph.apply", doc="sketch", ops=[node("F")])
    assert (done["branch"], done["doc"]) == ("task/TASK-001", "sketch")
    both = {"target": "TASK-001", "branch": "main"}
    assert lh.refused("graph.apply", **both, ops=[node("G")])["code"] == "INVALID_INPUT"
    page = lh("graph.query", branch="main")
    assert (page["doc"], [n["id"] for n in page["nodes"]]) == ("graph", ["A"])
    assert page["pagination"]["limit"] == 50
    branch(lh, "idea/a", "main")
    lh("vcs.checkout", ref="idea/a")
    focus(lh, None)
    done = lh("graph.apply", ops=[node("E")])
    assert (done["branch"], done["doc"]) == ("idea/a", "graph")
    assert [n["id"] for n in lh("graph.query")["nodes"]] == ["E", "A"]
    checked = lh("graph.validate")
    assert (checked["branch"], checked["doc"]) == ("idea/a", "graph")
    assert checked["stats"]["nodes"] == 2


def test_the_room_of_tasks_says_which_targets_exist(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = TargetInfo(id="TASK-001", kind="task", title="T")
    monkeypatch.setattr(
        lh.house.registry, "targets", [lambda _, id_: known if id_ == known.id else None]
    )
    lh("vcs.notes.commit", target="TASK-001", content="c")
    before = state(lh)
    assert lh.refused("vcs.notes.commit", target="TASK-002", content="c")["code"] == "UNKNOWN_ID"
    assert lh.refused("docs.show", target="TASK-002")["code"] == "UNKNOWN_ID"
    assert state(lh) == before
    assert lh("docs.export", target="TASK-001")["target"]["title"] == "T"


@pytest.mark.proves("MEM-184")
def test_branches_commits_and_checkouts_leave_focus_and_tasks_alone(lh: Lh) -> None:
    focus(lh, "TASK-001")
    branch(lh, "idea/a", "main")
    lh("vcs.checkout", ref="idea/a")
    commit = lh("vcs.commit", artifact="a", message="m")["ref"]
    lh("vcs.tag.create", name="t")
    lh("vcs.reset", ref=commit)
    lh("vcs.tag.delete", name="t")
    branch(lh, "idea/b", "main")
    lh("vcs.branch.rename", old="idea/b", new="idea/c")
    lh("vcs.branch.delete", name="idea/c")
    now = write(lh, standing)
    assert (now.focus, now.checkout) == ("TASK-001", "idea/a")
    streams = {row["stream"] for row in state(lh)[1]}
    assert streams == {"memory"}
    assert notes(lh, "task/TASK-001") == []
