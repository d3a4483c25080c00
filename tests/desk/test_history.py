"""`workspace.history` finds what happened, however long ago, a bounded stretch at a time."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.desk import history
from longhouse.kernel.registry import Role
from tests.kit import Lh


def found(lh: Lh, **args: Any) -> list[str]:
    rows = lh("workspace.history", **args)["rows"]
    return [f"{row['subject']} {row['kind']}" for row in rows]


def happened(lh: Lh) -> None:
    lh("jobs.create", title="Lint", prompt="x", agent_id="ada")
    lh("jobs.cancel", job="JOB-001", reason="No.", agent_id="linus")
    lh.clock.advance(60_000)
    lh("tasks.plan.create", kind="task", title="Parser", steps=["a"], agent_id="ada")


def test_events_are_found_by_who_what_kind_stream_and_time(lh: Lh) -> None:
    happened(lh)
    assert found(lh, subject="job-001") == ["JOB-001 canceled", "JOB-001 created"]
    assert found(lh, actor="LIN") == ["JOB-001 canceled"]
    assert found(lh, kind="steps added") == found(lh, kind="steps_added")
    assert found(lh, kind="steps added") == ["TASK-001 steps_added"]
    assert found(lh, stream="jobs", actor="ada") == ["JOB-001 created"]
    late = found(lh, since_ms=lh.clock.now_ms())
    assert "TASK-001 task_created" in late
    assert "JOB-001 canceled" not in late
    assert found(lh, actor="100%") == []


def test_a_long_log_is_searched_a_stretch_at_a_time(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "STRETCH", 4)
    happened(lh)
    for number in range(10):
        lh("vcs.notes.commit", content=f"note {number}")
    seen, before, calls = [], None, 0
    while True:
        page = lh("workspace.history", kind="cancel", **({"before": before} if before else {}))
        calls += 1
        seen += [row["kind"] for row in page["rows"]]
        if not page["has_more"]:
            break
        assert page["next_before"] < (before or 10**9)
        before = page["next_before"]
    assert seen == ["canceled"]
    assert calls > 3
    newest = lh("workspace.history", limit=2)
    assert newest["count"] == 2
    older = lh("workspace.history", limit=2, before=newest["next_before"])
    assert older["rows"][0]["seq"] == newest["rows"][-1]["seq"] - 1


def test_a_viewer_reads_it_and_secrets_are_masked(lh: Lh) -> None:
    secret = "ghp_" + "a1B2" * 9
    lh("jobs.create", title=f"Use {secret}", prompt="x")
    answer = lh.house.dispatcher.call("workspace.history", {}, lh.as_role(Role.VIEWER))
    assert answer.success
    assert secret not in str(answer.envelope)
