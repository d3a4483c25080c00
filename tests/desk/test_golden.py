"""The exact lines of the desk's views, for a small project at a fixed time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.desk.project import planted
from tests.kit import Lh

GOLDEN = Path(__file__).parent / "golden"
VIEWS = ("full", "smart", "explore", "audit", "focus_only")
SAID: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"resume_{view}": ("tasks.resume.super", {"view": view}) for view in VIEWS},
    "resume_tiny": ("tasks.resume.super", {"max_chars": 300}),
    "snapshot": ("tasks.snapshot", {}),
    "snapshot_delta": ("tasks.snapshot", {"delta": True, "since": 142, "read_only": True}),
    "snapshot_of_the_plan": ("tasks.snapshot", {"plan": "PLAN-001"}),
    "status": ("status", {}),
    "open_task": ("open", {"id": "TASK-007"}),
    "open_step": ("open", {"id": "STEP-00000007"}),
    "open_job": ("open", {"id": "JOB-005"}),
    "open_message": ("open", {"id": "msg_159"}),
    "execute_next": ("tasks.execute.next", {}),
}


def test_every_view_says_what_its_golden_file_says(lh: Lh) -> None:
    project = planted(lh, tasks=10)
    draft = {"id": "CARD-D9", "type": "question", "title": "A draft?", "tags": ["v:draft"]}
    lh("think.card", card=draft, target=project.task)
    said = {
        name: lh.lines(cmd, **args, **({} if cmd == "open" else project.me))
        for name, (cmd, args) in SAID.items()
    }
    kept = {path.stem: path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt")}
    assert {name: "\n".join(lines) + "\n" for name, lines in said.items()} == kept


def test_every_ref_that_a_view_shows_can_be_opened(lh: Lh) -> None:
    project = planted(lh, tasks=10)
    resumed = lh("tasks.resume.super", task=project.task, view="audit", **project.me)
    seen = lh("tasks.snapshot", delta=True, since=0, read_only=True, **project.me)
    looked = lh("status", view="full", **project.me)
    shown = [*resumed["facts"], *seen["delta"]["changes"], *seen["held"], *looked["held"]]
    refs = {one["ref"] for one in shown if one.get("ref")} | {looked["job"]["ref"]}
    assert len(refs) > 20
    closed = {ref: lh.envelope("open", id=ref)["error"] for ref in sorted(refs)}
    assert {ref: error["message"] for ref, error in closed.items() if error} == {}
