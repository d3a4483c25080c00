"""`system.diagnostics`: problems with the work in focus, and calls that fix them."""

from __future__ import annotations

import pytest

from tests.kit import Lh
from tests.work.kit import new_task


@pytest.mark.proves("MEM-118", "MEM-119")
def test_one_call_checks_focus_reasoning_and_lint_and_what_it_offers_runs(lh: Lh) -> None:
    task = new_task(lh, {"title": "a", "success_criteria": []})
    lh("vcs.checkout", ref="main")
    lh("tasks.focus.set", task=task)
    envelope = lh.envelope("system.diagnostics")
    found = envelope["result"]
    assert found["workspace"] == "acme"
    assert (found["checkout"], found["focus"], found["target"]) == ("main", task, task)
    assert found["reasoning_ref"]["branch"] == f"task/{task}"
    assert found["context_health"] == {"status": "warn", "codes": ["TRACE_ONLY"]}
    assert "MISSING_CRITERIA" in [issue["code"] for issue in found["issues"]]
    assert "tasks.snapshot" in found["golden_path"]
    assert all(cmd in lh.house.registry.commands for cmd in found["golden_path"])
    before = len(found["issues"])
    lh.run_actions(envelope, value="a:core")
    assert len(lh("system.diagnostics")["issues"]) < before
    assert lh("system.diagnostics", plan="PLAN-001")["target"] == "PLAN-001"


@pytest.mark.proves("MEM-119")
def test_without_a_target_it_says_where_to_start(lh: Lh) -> None:
    envelope = lh.envelope("system.diagnostics")
    assert envelope["result"]["target"] is None
    lh.run_actions(envelope, task_title="Ours", content="what we do")
    assert lh("system.diagnostics")["target"] == "TASK-001"
    lh("tasks.focus.clear")
    envelope = lh.envelope("system.diagnostics")
    assert envelope["actions"][-1]["args"]["cmd"] == "tasks.focus.set"
    lh.run_actions(envelope)
    assert lh("system.diagnostics")["target"] == "TASK-001"
    assert lh.refused("system.diagnostics", task="TASK-099")["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-119")
def test_a_focus_on_what_is_gone_can_be_cleared(lh: Lh) -> None:
    from longhouse.memory.room import sql
    from longhouse.store.tx import Call
    from tests.kit import CountedIds

    new_task(lh, "a")
    call = Call(now_ms=1, ids=CountedIds())
    lh.house.db.write("acme", lambda tx: tx.run(sql.focus_set, focus="TASK-099"), call)
    assert lh("tasks.focus.get")["focus"] == "TASK-099"
    for cmd in ("status", "system.diagnostics", "tasks.execute.next"):
        offered = [one["args"].get("cmd") for one in lh.envelope(cmd)["actions"]]
        assert "tasks.focus.clear" in offered, cmd
    envelope = lh.envelope("system.diagnostics")
    assert "FOCUS_MISSING" in envelope["result"]["context_health"]["codes"]
    assert "FOCUS_MISSING" in lh.lines("system.diagnostics")[0]
    lh.run_actions(envelope)
    assert lh("status")["focus"] is None
