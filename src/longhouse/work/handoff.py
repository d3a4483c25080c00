"""The hand-over of a plan or task in a few lines: done, remaining, risks."""

from __future__ import annotations

from longhouse.work.radar import Scene, steps_of
from longhouse.work.types.entities import Task
from longhouse.work.types.views import Handoff

__all__ = [
    "handoff_of",
]


def handoff_of(scene: Scene, limit: int = 10) -> Handoff:
    """At most `limit` lines of each."""
    target = scene.target
    if not isinstance(target, Task):
        left = [f"Checklist: {item}" for item in target.checklist[target.current :]]
        done = [f"Checklist progress: {target.current}/{len(target.checklist)}"]
        return Handoff(done=done, remaining=left[:limit], risks=scene.radar.verify[:limit])
    closed = target.steps_total - target.steps_open
    remaining = [f"Open steps: {target.steps_open}"]
    if scene.step_focus is not None:
        remaining.append(f"Next open step: {scene.step_focus.path}")
    unproved = [
        f"{row.path} misses proof of {', '.join(row.proof_missing)}"
        for row in steps_of(scene)
        if row.proof_missing
    ]
    blocked = [f"Blocked: {text}" for text in scene.radar.blockers]
    return Handoff(
        done=[f"Completed steps: {closed}/{target.steps_total}"],
        remaining=remaining,
        risks=[*scene.radar.verify, *unproved, *blocked][:limit],
    )
