"""The small world in which guesses are made: tasks, a job, processes, an agent, a branch."""

from __future__ import annotations

from tests.kit import Lh

__all__ = ["build"]


def build(lh: Lh) -> None:
    steps = [{"title": f"Step {n}", "success_criteria": ["it works"]} for n in range(3)]
    lh("tasks.macro.start", task_title="Cache", steps=steps)
    lh("tasks.plan.create", title="Docs", parent="PLAN-001")
    lh("jobs.create", title="Look", prompt="Look.")
    lh("tool.policy_allow", tool="exec", pattern="sleep **")
    for name in ("db", "web"):
        lh("tool.task_spawn", tool="exec", args={"argv": ["sleep", "9"]}, name=name)
    lh("agents.register", name="ada")
    lh("vcs.branch.create", name="idea")
    lh("think.card", card={"id": "CARD-H1", "type": "hypothesis", "title": "Stale"})
    lh("think.card", card={"id": "CARD-T1", "type": "test", "title": "Measure"})
