"""Entity, event, trace, graph and notes are written together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.house import registry
from longhouse.store.tx import Call
from longhouse.work import events
from tests.contracts.world import build_world, example_args, fingerprint, prepare, rows_of
from tests.faults import faults
from tests.kit import CountedIds, Lh
from tests.work.kit import close, new_task, step, trace

MUTATIONS: list[tuple[str, dict[str, Any]]] = [
    ("tasks.plan.decompose", {"steps": [step("c", step("c1"))]}),
    ("tasks.define", {"title": "A"}),
    ("tasks.note", {"note": "It is the index."}),
    ("tasks.block", {"reason": "No access"}),
    ("tasks.patch", {"ops": [{"op": "set", "field": "next_action", "value": "Go"}]}),
    ("tasks.evidence.capture", {"checks": ["CMD: make (exit 0)"], "checkpoint": "tests"}),
    ("tasks.verify", {"checkpoints": "gate"}),
    ("tasks.step.lease.claim", {"agent_id": "otter"}),
    ("tasks.step.lease.renew", {"agent_id": "otter"}),
    ("tasks.step.lease.release", {"agent_id": "otter"}),
    ("tasks.done", {}),
    ("tasks.step.close", {"checkpoints": "gate", "view": "full"}),
    ("tasks.progress", {"path": "s:0", "completed": False}),
    ("tasks.progress", {"path": "s:0", "completed": True, "force": True, "reason": "Seen"}),
    ("tasks.edit", {"title": "Another title", "tags": ["a:core"]}),
    ("tasks.complete", {"status": "PARKED", "parked_for_s": 60}),
    ("tasks.delete", {"path": "s:1"}),
]
"""Every command that changes a task, in an order in which each succeeds."""


def events_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return result.get("events") or [result["event"]]


@pytest.mark.proves("MEM-018", "MEM-136")
def test_every_change_is_in_delta_and_trace_whatever_is_checked_out(lh: Lh) -> None:
    lh("vcs.branch.create", name="idea/other")
    lh("vcs.checkout", ref="idea/other")
    task = new_task(lh, "a", "b")
    lh("vcs.checkout", ref="idea/other")
    branch = lh("tasks.radar", task=task)["reasoning_ref"]["branch"]
    for cmd, args in MUTATIONS:
        revision = lh("tasks.radar", task=task)["target"]["revision"]
        result = lh(cmd, task=task, **args)
        if ".lease." not in cmd:
            assert lh("tasks.radar", task=task)["target"]["revision"] == revision + 1, cmd
        told = [e["event_id"] for e in lh("tasks.delta", limit=200)["events"]]
        traced = {entry["meta"]["event_id"]: entry for entry in trace(lh, task)}
        for event in events_of(result):
            assert event["event_id"] in told, cmd
            entry = traced[event["event_id"]]
            assert (entry["branch"], entry["doc"]) == (branch, f"{task}-trace")
            assert entry["meta"]["type"] == entry["title"] == event["type"]
            assert entry["meta"]["path"] == event.get("path")
    assert len(traced) == len(
        [e for e in lh("tasks.delta", limit=200)["events"] if e["task"] == task]
    )
    assert lh("docs.show", branch="idea/other", doc="notes")["entries"] == []
    gone = lh("tasks.delete", task=task)
    last = lh("docs.show", branch=branch, doc=f"{task}-trace")["entries"][-1]
    assert last["meta"]["event_id"] == gone["event"]["event_id"]


@pytest.mark.proves("MEM-136")
def test_every_change_of_a_plan_is_in_delta_and_trace(lh: Lh) -> None:
    lh("tasks.plan.create", title="P")
    for cmd, args in (
        ("tasks.plan", {"steps": ["one"]}),
        ("tasks.contract", {"current": "Be fast"}),
        ("tasks.edit", {"title": "Q"}),
        ("tasks.complete", {"status": "ACTIVE"}),
    ):
        event = lh(cmd, plan="PLAN-001", **args)["event"]
        assert trace(lh, "PLAN-001")[-1]["source_event_id"] == event["event_id"]
    assert lh("tasks.radar", plan="PLAN-001")["reasoning_ref"]["branch"] == "plan/PLAN-001"


def test_a_focus_is_told_by_what_it_leaves_and_what_it_takes_up(lh: Lh) -> None:
    one, two = new_task(lh, "a"), new_task(lh, "b")
    for args in ({"task": one}, {"task": one}, {"task": two}):
        lh("tasks.focus.set", **args)
    lh("tasks.focus.clear")
    told = [e for e in lh("tasks.delta", limit=200)["events"] if e["type"].startswith("focus")]
    moves = [(e["task"], e["type"], e.get("payload", {})) for e in told]
    assert moves == [
        (one, "focus_set", {}),
        (one, "focus_left", {"for": two}),
        (two, "focus_set", {"previous": one}),
        (two, "focus_left", {}),
    ]
    for task in (one, two):
        own = [e for e in told if e["task"] == task]
        traced = [entry["source_event_id"] for entry in trace(lh, task)]
        assert traced[-2:] == [e["event_id"] for e in own]
        history = lh("tasks.history", task=task)["operations"]
        assert [e["event_id"] for e in history[:2]] == [e["event_id"] for e in own[::-1]]
        thread = lh("agents.conversation", bead_id=task)["thread"]
        assert [row["kind"] for row in thread][-2:] == ["focus_set", "focus_left"]


WRITES = [one.cmd for one in registry() if one.writes and one.cmd.startswith("tasks.")]


@pytest.mark.proves("MEM-136")
def test_a_change_of_focus_is_told_by_what_it_leaves_and_what_it_takes(lh: Lh) -> None:
    first, second = new_task(lh, "a"), new_task(lh, "b")
    for args in ({"task": first}, {"task": second}, {}):
        lh("tasks.focus.set" if args else "tasks.focus.clear", **args)
        told = [e for e in lh("tasks.delta", limit=200)["events"] if e["type"].startswith("focus_")]
        newest = told[-1]
        assert newest["task"] == args.get("task", second)
        traced = {entry["source_event_id"] for task in (first, second) for entry in trace(lh, task)}
        assert {event["event_id"] for event in told} <= traced


@pytest.mark.proves("MEM-136")
@pytest.mark.parametrize("cmd", [cmd for cmd in WRITES if ".focus." not in cmd])
def test_no_command_changes_work_without_telling(lh: Lh, cmd: str) -> None:
    build_world(lh)
    prepare(lh, cmd)
    before = lh("tasks.delta", limit=200)["events"]
    args = example_args(lh, lh.house.registry.get(cmd))
    if cmd in ("tasks.macro.fanout.jobs", "tasks.macro.merge.report"):
        args["task"] = "TASK-001"  # without one they serve no task that could tell
    lh(cmd, **args)
    told = lh("tasks.delta", limit=200)["events"][len(before) :]
    assert told
    for event in told:
        target = event.get("task") or event["plan"]
        traced = {entry["source_event_id"] for entry in trace(lh, target)}
        assert event["event_id"] in traced, event["type"]


@pytest.mark.proves("MEM-019")
def test_branches_and_checkouts_change_no_row_of_work(lh: Lh) -> None:
    task = new_task(lh, "a", "b")
    lh("tasks.step.lease.claim", task=task, agent_id="otter")
    close(lh, task, agent_id="otter")
    work = ("plans", "tasks", "task_traits", "work_counts", "task_dependencies", "steps")
    tables = (*work, "step_proofs", "step_leases")
    lh("tasks.focus.clear")

    def work_now() -> Any:
        told = lh("tasks.delta", limit=200)["events"]
        return rows_of(lh, *tables), told, lh("tasks.focus.get").get("focus")

    before = work_now()
    own = lh("tasks.radar", task=task)["reasoning_ref"]["branch"]
    lh("vcs.checkout", ref=own)
    lh("vcs.branch.create", name="idea/x", **{"from": own})
    lh("vcs.checkout", ref="idea/x")
    lh("vcs.notes.commit", content="only here", branch="idea/x")
    lh("vcs.branch.rename", old="idea/x", new="idea/y")
    lh("vcs.checkout", ref="main")
    lh("vcs.branch.delete", name="idea/y", force=True)
    assert work_now() == before
    assert [e["content"] for e in trace(lh, task) if "only here" in (e["content"] or "")] == []


@pytest.mark.proves("MEM-137")
def test_the_same_event_is_ingested_once(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    task = new_task(lh, "a")
    lh("tasks.note", task=task, note="once")
    before = fingerprint(lh)["doc_entries"]
    known = lh("tasks.delta", limit=200)["events"][-1]["event_id"]
    monkeypatch.setattr(events, "event_id", lambda _: known)
    call = Call(now_ms=1, ids=CountedIds(), facts=lh.house.facts)
    lh.house.db.write(
        "acme", lambda tx: events.happened(tx, task, "step_noted", {}, note="twice"), call
    )
    assert fingerprint(lh)["doc_entries"] == before
    notes = lh("docs.show", target=task, doc_kind="notes")["entries"]
    assert [n["content"] for n in notes] == ["once"]


def test_a_note_is_mirrored_with_where_it_belongs(lh: Lh) -> None:
    task = new_task(lh, "a")
    event = lh("tasks.note", task=task, note="It is the index.")["event"]
    (note,) = lh("docs.show", target=task, doc_kind="notes")["entries"]
    assert (note["content"], note["title"]) == ("It is the index.", f"{task} s:0")
    where = {"task_id": task, "step_id": "STEP-00000001", "path": "s:0"}
    assert note["meta"] == {
        **where,
        "step": where,
        "event_id": event["event_id"],
        "source": "tasks_note",
        "note_seq": event["seq"],
    }


def graph(lh: Lh, task: str) -> tuple[dict[str, Any], set[tuple[str, str, str]]]:
    found = lh("graph.query", target=task, limit=200)
    nodes = {n["id"]: (n["type"], n.get("status"), n.get("title")) for n in found["nodes"]}
    return nodes, {(e["from"], e["rel"], e["to"]) for e in found["edges"]}


def test_the_graph_shows_task_and_steps_and_removals_leave_tombstones(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1")), "b")
    close(lh, task)
    nodes, edges = graph(lh, task)
    assert nodes == {
        f"task:{task}": ("task", "open", "Index the search"),
        "step:STEP-00000001": ("step", "open", "a"),
        "step:STEP-00000002": ("step", "done", "a1"),
        "step:STEP-00000003": ("step", "open", "b"),
    }
    assert edges == {
        (f"task:{task}", "contains", "step:STEP-00000001"),
        ("step:STEP-00000001", "contains", "step:STEP-00000002"),
        (f"task:{task}", "contains", "step:STEP-00000003"),
    }
    lh("tasks.delete", task=task, path="s:0")
    nodes, edges = graph(lh, task)
    assert nodes.keys() == {f"task:{task}", "step:STEP-00000003"}
    assert edges == {(f"task:{task}", "contains", "step:STEP-00000003")}
    lh("tasks.delete", task=task)
    found = lh("graph.query", branch=f"task/{task}", doc=f"{task}-graph", limit=200)
    assert (found["nodes"], found["edges"]) == ([], [])
    valid = lh("graph.validate", branch=f"task/{task}", doc=f"{task}-graph")
    assert valid["errors"] == []


TABLES = (
    "plans",
    "tasks",
    "task_traits",
    "work_counts",
    "task_dependencies",
    "steps",
    "step_proofs",
    "step_leases",
    "log",
    "doc_entries",
    "graph_versions",
    "branches",
    "counters",
    "workspaces",
    "targeting",
)


CHANGES: dict[str, dict[str, Any]] = {
    "tasks.plan.create": {"title": "T", "parent": "New plan", "steps": [step("x", step("y"))]},
    "tasks.step.close": {"task": "TASK-001", "checkpoints": "gate"},
    "tasks.note": {"task": "TASK-001", "note": "x"},
    "tasks.evidence.capture": {
        "task": "TASK-001",
        "checks": ["CMD: m (exit 0)"],
        "checkpoint": ["tests", "docs"],
    },
    "tasks.complete": {"task": "TASK-002"},
    "tasks.edit": {"task": "TASK-001", "depends_on": ["TASK-002"], "tags": ["x"]},
    "tasks.step.lease.claim": {"task": "TASK-001", "agent_id": "otter"},
    "tasks.batch": {
        "operations": [
            {"cmd": "tasks.note", "args": {"task": "TASK-001", "note": "n"}},
            {"cmd": "tasks.delete", "args": {"task": "TASK-003"}},
        ]
    },
    "tasks.delete": {"task": "TASK-001", "path": "s:0"},
}


@pytest.mark.proves("MEM-136")
@pytest.mark.parametrize("cmd", CHANGES)
def test_a_crash_between_any_two_statements_leaves_all_or_nothing(lh: Lh, cmd: str) -> None:
    new_task(lh, step("a", step("a1")), "b")
    new_task(lh)
    new_task(lh, "c")
    lh("tasks.focus.set", task="TASK-003")
    before = rows_of(lh, *TABLES)
    fail_at = 0
    while True:
        fail_at += 1
        with faults(lh.house, fail_at) as writers:
            answer = lh.house.call(cmd, CHANGES[cmd])
        if answer.success:
            break
        assert answer.code == "INTERNAL_ERROR"
        assert rows_of(lh, *TABLES) == before, f"{cmd} left a part behind at {fail_at}"
    assert fail_at == writers[-1].count + 1, "a crash was tried at every statement"
    assert sum(writer.commits for writer in writers) == 1
    assert rows_of(lh, *TABLES) != before


def test_a_step_close_is_one_durable_commit(lh: Lh) -> None:
    task = new_task(lh, "a")
    with faults(lh.house, None) as writers:
        close(lh, task)
    assert [writer.commits for writer in writers] == [1]
