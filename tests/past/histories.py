"""Random histories of a workspace, and what its reads answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.kit import Lh
from tests.processes.kit import Runner, ended, out, running, spawned

UNTOLD = {
    "claim_expires_at_ms",
    "expires_at",
    "expires_in_ms",
    "last_heartbeat_ms",
    "last_seen_at",
    "lease",
    "lease_expires_at_ms",
}
"""Leases and signs of life, which leave no row in the log."""
ABOUT_NOW = {"budget", "host", "queue_position", "runtime", "suggestions", "usage", "waiting"}
"""What only the present can say: what a job waits for, how a host is, what was used."""


class History:
    """Random actions of two agents, a manager, a runner and a host of processes."""

    def __init__(self, lh: Lh, seed: int) -> None:
        self.lh = lh
        self.chance = random.Random(seed)
        self.tokens = {name: self._registered(name) for name in ("amber-otter", "cobalt-harbor")}
        self.plans = [lh("tasks.plan.create", kind="plan", title="Ship it")["id"]]
        self.tasks: list[str] = []
        self.jobs: list[str] = []
        self.held: dict[str, dict[str, Any]] = {}
        self.scopes: list[tuple[str, str]] = []
        self.processes: list[str] = []
        self.host = Runner(lh)
        self.acts: list[Callable[[], object]] = [
            getattr(self, name) for name in sorted(vars(History)) if name.startswith("do_")
        ]
        self.do_task()
        self.do_job()

    def _registered(self, name: str) -> str:
        token: str = self.lh("agents.register", name=name, role="ui")["agent_token"]
        return token

    def act(self) -> None:
        self.lh.clock.advance(self.chance.randrange(1, 1_500))
        self.chance.choice(self.acts)()

    def maybe(self, cmd: str, **args: Any) -> dict[str, Any]:
        """A call that the current state may refuse, at a time of its own."""
        self.lh.clock.advance(1)
        return self.lh.envelope(cmd, **args)

    def one(self, among: list[Any]) -> Any:
        return self.chance.choice(among)

    def acting(self) -> dict[str, str]:
        name = self.one(sorted(self.tokens))
        return {"agent": name, "agent_token": self.tokens[name]}

    def word(self) -> str:
        return f"word{self.chance.randrange(99)}"

    def do_task(self) -> None:
        made = self.maybe(
            "tasks.plan.create",
            kind="task",
            parent=self.one(self.plans),
            title=f"Task {self.word()}",
            steps=["Read", "Write"],
            assignee=self.one([*self.tokens, None]),
        )
        if made["success"]:
            self.tasks.append(made["result"]["id"])

    def do_plan(self) -> None:
        made = self.lh("tasks.plan.create", kind="plan", title=f"Plan {self.word()}")
        self.plans.append(made["id"])

    def do_edit(self) -> None:
        what = {"title": self.word(), "priority": self.one(["LOW", "HIGH"])}
        what |= {"description": self.word(), "assignee": self.one([*self.tokens, ""])}
        what |= {"tags": [self.word()], "depends_on": [self.one(self.tasks)]}
        name = self.one(sorted(what))
        self.maybe("tasks.edit", task=self.one(self.tasks), **{name: what[name]})

    def do_edit_plan(self) -> None:
        plan = self.one(self.plans)
        self.maybe("tasks.edit", plan=plan, title=self.word())
        self.maybe("tasks.plan", plan=plan, steps=[self.word()])
        self.maybe("tasks.contract", plan=plan, current=self.word())

    def do_move(self) -> None:
        status = self.one(["ACTIVE", "PARKED", "CANCELED", "TODO"])
        self.maybe("tasks.complete", task=self.one(self.tasks), status=status)

    def do_move_plan(self) -> None:
        status = self.one(["ACTIVE", "DONE", "TODO"])
        self.maybe("tasks.complete", plan=self.one(self.plans), status=status)

    def do_close_step(self) -> None:
        done = {"checkpoints": "all", "proof": "CMD: make (exit 0)"}
        self.maybe("tasks.step.close", task=self.one(self.tasks), **done)

    def do_reopen_step(self) -> None:
        self.maybe("tasks.progress", task=self.one(self.tasks), path="s:0", completed=False)

    def do_describe_step(self) -> None:
        task = self.one(self.tasks)
        self.maybe("tasks.define", task=task, path="s:0", title=self.word(), tests=[self.word()])

    def do_block_step(self) -> None:
        blocked = self.one([True, False])
        task = self.one(self.tasks)
        self.maybe("tasks.block", task=task, path="s:1", blocked=blocked, reason=self.word())

    def do_add_steps(self) -> None:
        self.maybe("tasks.plan.decompose", task=self.one(self.tasks), steps=[self.word()])

    def do_delete(self) -> None:
        if self.chance.random() < 0.5:
            self.maybe("tasks.delete", task=self.one(self.tasks), path="s:0")
        elif len(self.tasks) > 2:
            task = self.one(self.tasks)
            if self.maybe("tasks.delete", task=task)["success"]:
                self.tasks.remove(task)

    def do_job(self) -> None:
        on = {"task": self.one(self.tasks)} if self.chance.random() < 0.5 else {}
        after = [self.one(self.jobs)] if self.jobs and self.chance.random() < 0.4 else []
        made = self.lh("jobs.create", title=self.word(), prompt="x", after=after, **on)
        self.jobs.append(made["job"]["id"])

    def do_update_job(self) -> None:
        what = {"title": self.word(), "priority": self.one(["LOW", "HIGH"])}
        self.maybe("jobs.update", job=self.one(self.jobs), **what)

    def do_claim(self) -> None:
        idle = {"runner_id": "rust-1", "status": "live", "lease_ttl_ms": 300_000}
        self.lh("jobs.runner.heartbeat", **idle)
        found = self.maybe("jobs.claim", job=self.one(self.jobs), runner_id="rust-1")
        if found["success"] and (job := found["result"]["job"]):
            fence = {"runner_id": "rust-1", "claim_revision": job["revision"]}
            self.held[job["id"]] = {"job": job["id"], **fence}

    def on_held(self, cmd: str, **args: Any) -> bool:
        if not self.held:
            return False
        job = self.one(sorted(self.held))
        done = self.maybe(cmd, **self.held[job], **args)
        if not done["success"] or cmd in ("jobs.complete", "jobs.release"):
            del self.held[job]
        return bool(done["success"])

    def do_report(self) -> None:
        far = {"percent": self.chance.randrange(100)} if self.chance.random() < 0.5 else {}
        for _ in range(self.chance.randrange(1, 4)):
            self.on_held("jobs.report", message=self.word(), **far)

    def do_ask(self) -> None:
        kind = self.one(["question", "proof_gate", "error", "checkpoint"])
        self.on_held("jobs.report", message=self.word(), kind=kind)

    def do_answer(self) -> None:
        self.maybe("jobs.message", job=self.one(self.jobs), message=self.word())

    def do_end_job(self) -> None:
        how = self.one(
            [{"status": "DONE"}, {"status": "FAILED"}, {"status": "DONE", "changes": "x"}]
        )
        long = self.one(["So.", "word " * 120])
        self.on_held("jobs.complete", summary=long, refs=["CMD: x"], **how)

    def do_apply(self) -> None:
        how = self.one(["applied", "dropped"])
        self.maybe("jobs.apply", job=self.one(self.jobs), outcome=how)

    def do_release_job(self) -> None:
        self.on_held("jobs.release", reason="leaving")

    def do_cancel(self) -> None:
        why = self.one([{}, {"reason": self.word()}])
        self.maybe("jobs.cancel", job=self.one(self.jobs), **why)

    def do_requeue(self) -> None:
        self.maybe("jobs.requeue", job=self.one(self.jobs))

    def do_reserve(self) -> None:
        who, scope = self.acting(), f"src/{self.chance.randrange(6)}/*"
        if (who["agent"], scope) in self.scopes:
            return  # only renewed, which leaves no row
        self.maybe("agents.reserve", **who, scope=scope, bead_id=self.one(self.tasks))
        self.scopes.append((who["agent"], scope))

    def do_release(self) -> None:
        if self.scopes:
            name, scope = self.one(self.scopes)
            who = {"agent": name, "agent_token": self.tokens.get(name, "")}
            self.maybe("agents.release", **who, scope=scope)

    def do_say(self) -> None:
        said = {"to": self.one(sorted(self.tokens)), "bead_id": self.one(self.tasks)}
        said |= {"subject": self.word(), "body": self.word()}
        self.maybe("agents.send", **self.acting(), category=self.one(["INFO", "HANDOFF"]), **said)

    def do_block(self) -> None:
        said = {"to": self.one(sorted(self.tokens)), "bead_id": self.one(self.tasks)}
        said |= {"subject": self.word(), "blocker": "No.", "requested_action": "Grant it."}
        self.maybe("agents.blocked", **self.acting(), **said)

    def do_notice(self) -> None:
        who = self.acting()
        if found := self.lh("agents.inbox", agent=who["agent"])["messages"]:
            cmd = self.one(["agents.read", "agents.ack"])
            self.maybe(cmd, **who, message=self.one(found)["message_id"])

    def do_answer_request(self) -> None:
        who = self.acting()
        if found := self.lh("agents.inbox", agent=who["agent"])["messages"]:
            asked = self.one(found)
            said = {"to": asked["from_agent"], "subject": self.word(), "body": self.word()}
            said |= {"bead_id": asked["bead_id"], "answers": asked["message_id"]}
            self.maybe("agents.send", **who, **said)

    def do_rename(self) -> None:
        who = self.acting()
        what = {"name": who["agent"], "agent_token": who["agent_token"], "force_update": True}
        self.maybe("agents.register", **what, role=self.word(), status=self.one(["idle", "stuck"]))

    def do_arrive(self) -> None:
        if len(self.tokens) < 4:
            name = f"extra-{self.chance.randrange(10_000)}"
            self.tokens[name] = self._registered(name)

    def do_retire(self) -> None:
        if len(self.tokens) > 2:
            name = self.one(sorted(self.tokens))
            if self.maybe("agents.retire", agent=name, agent_token=self.tokens[name])["success"]:
                del self.tokens[name]

    def do_spawn(self) -> None:
        self.processes.append(spawned(self.lh, command=f"echo {self.word()}"))

    def do_run(self) -> None:
        for task in self.host.claim():
            self.host.append(task["task_id"], running())

    def do_print(self) -> None:
        for task in self._running():
            self.host.append(task, out(self._printed(task), self.word()))

    def do_exit(self) -> None:
        for task in self._running()[:1]:
            self.host.append(task, ended())

    def _running(self) -> list[str]:
        found = self.lh("tool.task_list", status="running", limit=100)["tasks"]
        return sorted(task["task_id"] for task in found)

    def _printed(self, task: str) -> int:
        shown = self.lh("tool.task_status", task_id=task)["task"]
        printed: int = shown["artifacts"]["logs"]["stdout"]["bytes"]
        return printed


def reads(history: History) -> list[tuple[str, dict[str, Any]]]:
    """Every read that takes `as_of`, for everything that there is."""
    whole: dict[str, Any] = {"budget_profile": "audit"}
    found: list[tuple[str, dict[str, Any]]] = [
        ("agents.list", {"include_retired": True}),
        ("agents.sessions", {"open_only": False}),
        ("agents.status", {}),
        ("jobs.list", {"limit": 200}),
        ("jobs.radar", {"limit": 100}),
        ("tasks.context", {"include_all": True}),
        ("tasks.context", {"unproved": True}),
        ("tasks.ready", {}),
        ("tool.task_list", {}),
        *(("jobs.list", {"status": status}) for status in ("QUEUED", "RUNNING", "DONE", "FAILED")),
        *(("jobs.open", {"job": job, "max_events": 100}) for job in history.jobs),
        *(("agents.conversation", {"bead_id": task}) for task in history.tasks),
        *(
            ("open", {"id": one, "include_drafts": True})
            for one in [*history.tasks, *history.plans]
        ),
        *(("tool.task_status", {"task_id": task}) for task in history.processes),
    ]
    return [(cmd, {**args, **whole}) for cmd, args in found]


def told(answer: Any) -> Any:
    """An answer without what no log records."""
    if isinstance(answer, list):
        return [told(one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    left = UNTOLD | ABOUT_NOW | ({"updated_at_ms"} if "lease_active" in answer else set())
    return {name: told(value) for name, value in answer.items() if name not in left}
