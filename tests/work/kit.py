"""Helpers that bring plans and tasks into the state a test needs."""

from __future__ import annotations

from typing import Any

from tests.kit import Lh

__all__ = ["close", "new_task", "paths", "step", "titles", "trace"]


def step(title: str, *below: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A step to add, with its substeps."""
    made = {"title": title, "success_criteria": [f"{title} is done"], **more}
    return {**made, "steps": list(below)} if below else made


def new_task(lh: Lh, *steps: str | dict[str, Any], **more: Any) -> str:
    """A task with these steps."""
    wanted = [step(one) if isinstance(one, str) else one for one in steps]
    title = more.pop("title", "Index the search")
    made = lh("tasks.plan.create", title=title, kind="task", steps=wanted, **more)
    return str(made["id"])


def close(lh: Lh, task: str, path: str | None = None, **more: Any) -> dict[str, Any]:
    """Confirm and close a step; by default the first open one."""
    where = {"path": path} if path else {}
    return lh("tasks.step.close", task=task, checkpoints="gate", view="full", **where, **more)


def paths(lh: Lh, task: str) -> list[str]:
    """The paths of the open steps, in reading order."""
    return [row["path"] for row in lh("tasks.radar", task=task)["steps"] if not row["completed"]]


def titles(lh: Lh, task: str) -> dict[str, str]:
    """The title at each path."""
    return {row["path"]: row["title"] for row in lh("tasks.radar", task=task)["steps"]}


def trace(lh: Lh, task: str) -> list[dict[str, Any]]:
    """The entries of its trace, oldest first."""
    entries = lh("docs.show", target=task, doc_kind="trace", limit=200)["entries"]
    return list(entries)
