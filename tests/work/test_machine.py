"""The state machine of tasks and steps against a small model, in any order, on both databases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from longhouse.store.tx import Call
from longhouse.work.projections import differences
from tests.kit import CountedIds, Lh

AGENTS = ("otter", "otter", "otter", "heron")
"""Mostly one agent; otherwise most calls would only find a held step."""
STATUSES = ("TODO", "ACTIVE", "PARKED", "DONE", "CANCELED")
CLOSED = ("DONE", "CANCELED")
picks = st.integers(0, 10**6)


@dataclass
class ModelStep:
    id: str
    parent: ModelStep | None
    proof: bool
    completed: bool = False
    confirmed: bool = False
    proved: bool = False
    holder: str | None = None
    children: list[ModelStep] = field(default_factory=list)

    def open_below(self) -> bool:
        return any(not child.completed or child.open_below() for child in self.children)


@dataclass
class ModelTask:
    id: str
    status: str = "TODO"
    revision: int = 1
    roots: list[ModelStep] = field(default_factory=list)
    waits: set[str] = field(default_factory=set)

    def steps(self) -> list[ModelStep]:
        """In working order."""
        found: list[ModelStep] = []

        def walk(step: ModelStep) -> None:
            for child in step.children:
                walk(child)
            found.append(step)

        for root in self.roots:
            walk(root)
        return found


class WorkMachine(RuleBasedStateMachine):
    """Every rule makes one call and predicts its outcome."""

    def __init__(self, lh: Lh, workspace: str) -> None:
        super().__init__()
        self.lh = lh
        self.workspace = workspace
        self.tasks: dict[str, ModelTask] = {}

    def call(self, cmd: str, **args: Any) -> dict[str, Any]:
        return self.lh.envelope(cmd, workspace=self.workspace, **args)

    def ok(self, cmd: str, **args: Any) -> dict[str, Any]:
        envelope = self.call(cmd, **args)
        assert envelope["success"], envelope["error"]
        result: dict[str, Any] = envelope["result"]
        return result

    def expect(self, code: str | None, cmd: str, **args: Any) -> dict[str, Any] | None:
        envelope = self.call(cmd, **args)
        found = envelope["error"] and envelope["error"]["code"]
        assert found == code, (cmd, args, envelope["error"])
        return envelope["result"]

    def task(self, n: int) -> ModelTask:
        return list(self.tasks.values())[n % len(self.tasks)]

    def step(self, task: ModelTask, n: int) -> ModelStep:
        return task.steps()[n % len(task.steps())]

    def some_step(self, n: int, m: int) -> tuple[ModelTask, ModelStep]:
        having = [task for task in self.tasks.values() if task.roots]
        task = having[n % len(having)]
        return task, self.step(task, m)

    def held(self, step: ModelStep, agent: str) -> bool:
        return step.holder not in (None, agent)

    @precondition(lambda self: len(self.tasks) < 3)
    @rule()
    def make(self) -> None:
        made = self.ok("tasks.plan.create", title="T", kind="task")
        self.tasks[made["id"]] = ModelTask(made["id"])

    @precondition(lambda self: any(len(t.steps()) < 4 for t in self.tasks.values()))
    @rule(n=picks, m=picks, below=st.booleans(), proof=st.booleans(), agent=st.sampled_from(AGENTS))
    def add(self, n: int, m: int, below: bool, proof: bool, agent: str) -> None:
        small = [task for task in self.tasks.values() if len(task.steps()) < 4]
        task = small[n % len(small)]
        parent = self.step(task, m) if below and task.roots else None
        wanted = {
            "title": "s",
            "success_criteria": ["x"],
            "proof": {"tests": "require"} if proof else {},
        }
        args: dict[str, Any] = {"task": task.id, "steps": [wanted], "agent_id": agent}
        if parent is not None:
            args["parent"] = self.path(task, parent)
        code = None
        if task.status in CLOSED or (parent and parent.completed):
            code = "CONFLICT"
        if parent and self.held(parent, agent) and task.status not in CLOSED:
            code = "STEP_LEASE_HELD"
        made = self.expect(code, "tasks.plan.decompose", **args)
        if made:
            new = ModelStep(made["steps"][0]["step_id"], parent, proof)
            (parent.children if parent else task.roots).append(new)
            task.revision += 1

    def path(self, task: ModelTask, step: ModelStep) -> str:
        siblings = step.parent.children if step.parent else task.roots
        own = f"s:{siblings.index(step)}"
        return f"{self.path(task, step.parent)}.{own}" if step.parent else own

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, agent=st.sampled_from(AGENTS))
    def close(self, n: int, m: int, agent: str) -> None:
        task, step = self.some_step(n, m)
        code = None
        if self.held(step, agent):
            code = "STEP_LEASE_HELD"
        elif step.completed:
            code = "CONFLICT"
        elif step.open_below():
            code = "CHECKPOINTS_NOT_CONFIRMED"
        elif step.proof and not step.proved:
            code = "PROOF_REQUIRED"
        done = self.expect(
            code,
            "tasks.step.close",
            task=task.id,
            step_id=step.id,
            checkpoints="gate",
            agent_id=agent,
        )
        if done:
            assert done["path"] == self.path(task, step)
            step.completed = step.confirmed = True
            task.revision += 1

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, force=st.booleans(), agent=st.sampled_from(AGENTS))
    def finish(self, n: int, m: int, force: bool, agent: str) -> None:
        task, step = self.some_step(n, m)
        code = None
        if self.held(step, agent):
            code = "STEP_LEASE_HELD"
        elif step.completed:
            code = "CONFLICT"
        elif step.open_below() or not (force or step.confirmed):
            code = "CHECKPOINTS_NOT_CONFIRMED"
        elif step.proof and not step.proved and not force:
            code = "PROOF_REQUIRED"
        more = {"force": True, "reason": "because"} if force else {}
        if self.expect(
            code, "tasks.progress", task=task.id, step_id=step.id, agent_id=agent, **more
        ):
            step.completed = True
            task.revision += 1

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, agent=st.sampled_from(AGENTS))
    def reopen(self, n: int, m: int, agent: str) -> None:
        task, step = self.some_step(n, m)
        above: list[ModelStep] = []
        at = step.parent
        while at:
            above, at = [*above, at], at.parent
        code = None
        if self.held(step, agent):
            code = "STEP_LEASE_HELD"
        elif task.status in CLOSED:
            code = "CONFLICT"
        elif any(self.held(one, agent) for one in above if one.completed):
            code = "STEP_LEASE_HELD"
        if self.expect(
            code, "tasks.progress", task=task.id, step_id=step.id, completed=False, agent_id=agent
        ):
            for one in (step, *(one for one in above if one.completed)):
                one.completed = one.confirmed = False
            task.revision += 1

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, strong=st.booleans())
    def prove(self, n: int, m: int, strong: bool) -> None:
        task, step = self.some_step(n, m)
        code = "STEP_LEASE_HELD" if step.holder else None
        line = "CMD: make (exit 0)" if strong else "it works"
        if self.expect(
            code,
            "tasks.evidence.capture",
            task=task.id,
            step_id=step.id,
            checks=[line],
            checkpoint="tests",
        ):
            step.proved = step.proved or strong
            task.revision += 1

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, agent=st.sampled_from(AGENTS), force=st.booleans())
    def claim(self, n: int, m: int, agent: str, force: bool) -> None:
        task, step = self.some_step(n, m)
        code = "STEP_LEASE_HELD" if self.held(step, agent) and not force else None
        if self.expect(
            code,
            "tasks.step.lease.claim",
            task=task.id,
            step_id=step.id,
            agent_id=agent,
            force=force,
            ttl_seq=10_000,
        ):
            step.holder = agent

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks, agent=st.sampled_from(AGENTS))
    def release(self, n: int, m: int, agent: str) -> None:
        task, step = self.some_step(n, m)
        code = None if step.holder == agent else "STEP_LEASE_NOT_HELD"
        if self.expect(
            code, "tasks.step.lease.release", task=task.id, step_id=step.id, agent_id=agent
        ):
            step.holder = None

    @precondition(lambda self: self.tasks)
    @rule(n=picks, status=st.sampled_from(STATUSES), stale=st.booleans())
    def move(self, n: int, status: str, stale: bool) -> None:
        task = self.task(n)
        code = None
        if status == task.status:
            assert (
                self.call("tasks.complete", task=task.id, status=status)["result"]["event"] is None
            )
            return
        if status == "DONE" and any(not step.completed for step in task.steps()):
            code = "CONFLICT"
        elif stale:
            code = "REVISION_MISMATCH"
        seen = task.revision - stale
        if self.expect(code, "tasks.complete", task=task.id, status=status, expected_revision=seen):
            task.status = status
            task.revision += 1

    @precondition(lambda self: len(self.tasks) > 1)
    @rule(n=picks, m=picks)
    def wait(self, n: int, m: int) -> None:
        task, other = self.task(n), self.task(m)
        code = None
        if task is other:
            code = "INVALID_INPUT"
        elif self.reaches(other, task):
            code = "CONFLICT"
        if self.expect(code, "tasks.edit", task=task.id, depends_on=[other.id]):
            task.waits = {other.id}
            task.revision += 1

    def reaches(self, start: ModelTask, goal: ModelTask) -> bool:
        return any(w == goal.id or self.reaches(self.tasks[w], goal) for w in start.waits)

    @precondition(lambda self: any(t.roots for t in self.tasks.values()))
    @rule(n=picks, m=picks)
    def remove_step(self, n: int, m: int) -> None:
        task, step = self.some_step(n, m)

        def held_below(one: ModelStep) -> bool:
            return one.holder is not None or any(map(held_below, one.children))

        code = "STEP_LEASE_HELD" if held_below(step) else None
        if self.expect(code, "tasks.delete", task=task.id, step_id=step.id):
            (step.parent.children if step.parent else task.roots).remove(step)
            task.revision += 1

    @precondition(lambda self: self.tasks)
    @rule(n=picks)
    def remove_task(self, n: int) -> None:
        task = self.task(n)
        code = None
        if any(task.id in other.waits for other in self.tasks.values()):
            code = "CONFLICT"
        elif any(step.holder for step in task.steps()):
            code = "STEP_LEASE_HELD"
        if self.expect(code, "tasks.delete", task=task.id):
            del self.tasks[task.id]

    @invariant()
    def tasks_are_what_the_model_says(self) -> None:
        rows = self.ok("tasks.context", include_all=True, tasks_limit=200)
        assert [row["id"] for row in rows["tasks"]] == sorted(self.tasks)
        for row in rows["tasks"]:
            task = self.tasks[row["id"]]
            steps = task.steps()
            assert (row["status"], row["revision"]) == (task.status, task.revision)
            assert (row["steps_total"], row["steps_open"]) == (
                len(steps),
                sum(not step.completed for step in steps),
            )
            waiting = sum(self.tasks[w].status not in CLOSED for w in task.waits)
            assert row.get("waits_for", 0) == waiting
            assert task.status != "DONE" or row["steps_open"] == 0
        by: dict[str, int] = {}
        for task in self.tasks.values():
            by[task.status] = by.get(task.status, 0) + 1
        assert rows["by_status"]["tasks"] == by

    @invariant()
    def the_first_open_step_is_what_the_model_says(self) -> None:
        for task in self.tasks.values():
            first = next((step for step in task.steps() if not step.completed), None)
            shown = self.ok("tasks.radar", task=task.id).get("step_focus", {})
            assert shown.get("step_id") == (first and first.id)
            assert shown.get("lease", {}).get("holder") == (first and first.holder)

    @invariant()
    def what_is_ready_is_open_and_waits_for_nothing(self) -> None:
        found = [task["id"] for task in self.ok("tasks.ready")["tasks"]]
        assert found == sorted(
            task.id
            for task in self.tasks.values()
            if task.status in ("TODO", "ACTIVE")
            and all(self.tasks[w].status in CLOSED for w in task.waits)
        )

    def teardown(self) -> None:
        self.what_is_kept_beside_the_tasks_is_a_fold_of_them()

    def what_is_kept_beside_the_tasks_is_a_fold_of_them(self) -> None:
        call = Call(now_ms=self.lh.clock.now_ms(), ids=CountedIds())
        assert self.lh.house.db.read(self.workspace, lambda tx: list(differences(tx)), call) == []


def test_no_order_of_calls_breaks_the_rules(lh: Lh) -> None:
    runs = iter(range(10**6))
    examples = 40 if lh.house.db.engine.name == "sqlite" else 10
    run_state_machine_as_test(
        lambda: WorkMachine(lh, f"run-{next(runs)}"),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
