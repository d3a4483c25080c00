"""Output of `longhouse task`: lists, one task with its history, its tree, its next step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import ago, fields, flat, table
from longhouse.surfaces.cli.speaking import next_lines

__all__ = ["bar", "list_lines", "next_step_lines", "pack_lines", "tree_lines"]

BAR = 20


def list_lines(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    rows = [
        {
            **task,
            "done": f"{task['steps_total'] - task['steps_open']}/{task['steps_total']}",
            "plan": task["plan_id"],
            "who": task.get("assignee", "-"),
            "updated": ago(task["updated_at_ms"]),
        }
        for task in result["tasks"]
    ]
    yield from table(rows, ("id", "status", "priority", "done", "plan", "who", "updated", "title"))
    if not rows:
        yield "no tasks"
    if cursor := result["tasks_pagination"].get("next_cursor"):
        yield cli.out.style(f"more: --after {cursor}", "dim")


def pack_lines(cli: Cli, found: dict[str, Any]) -> Iterator[str]:
    it, radar, signals = found["target"], found["radar"], found["signals"]
    yield cli.out.style(flat(f"{it['id']}  {it['title']}"), "bold")
    yield from fields(
        [
            ("status", it["status"]),
            ("priority", it["priority"]),
            ("plan", it.get("plan_id")),
            ("assignee", it.get("assignee")),
            ("tags", ", ".join(it.get("tags", []))),
            ("why", radar.get("why")),
            ("progress", bar(it) if it["kind"] == "task" else None),
            ("next", "; ".join(radar["next"])),
            ("verify", "; ".join(radar["verify"])),
            ("blocked", "; ".join(radar["blockers"])),
            ("notes", f"{found['reasoning_ref']['branch']} {found['reasoning_ref']['notes_doc']}"),
        ]
    )
    for name, rows in (
        ("decisions", [f"{d['ref']}  {d.get('title') or d['id']}" for d in signals["decisions"]]),
        (
            "evidence",
            [
                f"{e['ref']}  {e['path']}  {e['receipt']['kind']}: {e['receipt']['text']}"
                for e in signals["evidence"]
            ],
        ),
        (
            "events",
            [
                f"{e['ref']}  {e['type']} {e.get('path', '')}".rstrip()
                for e in found["timeline"][:10]
            ],
        ),
    ):
        if rows:
            yield name
            yield from (f"  {flat(row)}" for row in rows)


def bar(task: dict[str, Any]) -> str:
    """`███████░░░  2/3 steps`"""
    total, closed = task["steps_total"], task["steps_total"] - task["steps_open"]
    if not total:
        return "no steps"
    full = BAR * closed // total
    return f"{'█' * full}{'░' * (BAR - full)}  {closed}/{total} steps"


def tree_lines(cli: Cli, found: dict[str, Any]) -> Iterator[str]:
    it = found["target"]
    progress = f"  {bar(it)}" if it["kind"] == "task" else ""
    yield f"{cli.out.style(it['id'], 'bold')}  {flat(it['title'])} ({it['status']}){progress}"
    for task in found.get("tasks", []):
        closed = task["status"] in ("DONE", "CANCELED")
        mark = cli.out.style("✓", "green") if closed else "○"
        yield f"  {mark} {task['id']}  {flat(task['title'])} ({task['status']})  {bar(task)}"
    at = found.get("step_focus", {}).get("path")
    for step in found.get("steps", []):
        depth = step["path"].count(".") + 1
        mark = cli.out.style("✓", "green") if step["completed"] else "○"
        if step.get("blocked") and not step["completed"]:
            mark = cli.out.style("✗", "red")
        said = flat(step["title"])
        if proof := step.get("proof_missing"):
            said += cli.out.style(f"  needs proof of {', '.join(proof)}", "yellow")
        here = cli.out.style("  ← next", "blue") if step["path"] == at else ""
        yield f"{'  ' * depth}{mark} {step['path']}  {said}{here}"


def next_step_lines(
    cli: Cli, found: dict[str, Any], actions: list[dict[str, Any]]
) -> Iterator[str]:
    it, step = found["target"], found.get("step_focus")
    yield f"{cli.out.style(it['id'], 'bold')}  {flat(it['title'])} ({it['status']})"
    if step:
        lease = step.get("lease") or {}
        yield from fields(
            [
                ("step", f"{step['path']}  {step['title']}"),
                ("do", step.get("next_action")),
                ("done when", "; ".join(step.get("success_criteria", []))),
                ("confirm", ", ".join(step.get("missing", []))),
                ("prove", ", ".join(step.get("proof_missing", []))),
                ("held by", lease.get("holder")),
            ]
        )
        yield from next_lines(cli, actions)
    elif it["status"] not in ("DONE", "CANCELED"):
        yield from fields([("next", "; ".join(found["radar"]["next"]))])
    if job := found.get("job"):
        yield from fields([("job", f"{job['id']} {job['status']}: {job['title']}")])
