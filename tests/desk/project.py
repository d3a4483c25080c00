"""A project of many tasks with planted facts that an agent without context must find again.

Every fact is a text that occurs once in the store, among noise: other tasks, older decisions, jobs
that succeeded, mail to others, reservations elsewhere.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from tests.kit import Lh

__all__ = ["Project", "planted"]

_WORDS = (
    "parser",
    "cache",
    "index",
    "query",
    "login",
    "queue",
    "lease",
    "branch",
    "merge",
    "token",
    "page",
    "runner",
    "socket",
    "retry",
    "budget",
    "schema",
    "ledger",
    "clock",
    "shard",
    "batch",
)


class Project(NamedTuple):
    """The task to resume, the agent that resumes it, and the facts to find, by topic."""

    task: str
    me: dict[str, str]
    facts: dict[str, str]


def planted(lh: Lh, tasks: int, seed: int = 1) -> Project:
    """A project with this many tasks, one of them in progress."""
    noise = _Noise(lh, seed)
    plan = lh(
        "tasks.plan.create",
        title="Search that answers in time",
        kind="plan",
        contract="Every search on the shop answers within 40 ms at the 99th percentile",
    )["id"]
    names = [noise.task(plan) for _ in range(tasks // 2)]
    waits = lh("tasks.plan.create", kind="task", parent=plan, title="Ship the new tokenizer")["id"]
    task = lh(
        "tasks.bootstrap",
        plan=plan,
        task_title="Rebuild the product index",
        description="The index must be live before the sale on 27 November 2026",
        steps=[
            {"title": "Measure the slow queries", "success_criteria": ["The worst ten are named"]},
            {
                "title": "Rebuild the index without downtime",
                "success_criteria": ["No search fails while the index is swapped"],
                "tests": ["make test-swap passes twice in a row"],
                "next_action": "Swap the alias under load",
                "blockers": ["The staging cluster has no disk left"],
            },
            {"title": "Remove the old index", "success_criteria": ["The old index is gone"]},
        ],
    )["task"]["id"]
    lh("tasks.edit", task=task, depends_on=[waits], assignee="amber-otter")
    lh("tasks.complete", task=task, status="ACTIVE")
    lh("tasks.evidence.capture", task=task, checks=["CMD: make bench-queries (exit 0)"])
    lh("tasks.step.close", task=task, checkpoints="gate", proof="CMD: make bench-queries (exit 0)")
    lh("tasks.focus.set", task=task)
    lh("vcs.notes.commit", target=task, content="Decision: shards by country. Older, superseded.")
    noise.cards(task)
    lh(
        "vcs.notes.commit",
        target=task,
        content="Decision: swap by alias. Rejected: writing both indexes, it doubles the load.",
    )
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test-swap (exit 3)"])
    me = noise.agents()
    _jobs(lh, task, noise)
    _crew(lh, task, me, names, noise)
    lh("vcs.branch.create", name="idea/warm-cache", **{"from": f"task/{task}"})
    lh("vcs.notes.commit", branch="idea/warm-cache", content="Warm the cache before the swap.")
    for _ in range(tasks - tasks // 2 - 2):
        noise.task(plan)
    return Project(task, me, _facts(task, waits))


def _facts(task: str, waits: str) -> dict[str, str]:
    return {
        "what the plan is for": "answers within 40 ms at the 99th percentile",
        "the task": task,
        "its title": "Rebuild the product index",
        "its state": "ACTIVE",
        "its deadline": "27 November 2026",
        "what it waits for": waits,
        "the title of that": "Ship the new tokenizer",
        "the step in focus": "Rebuild the index without downtime",
        "its path": "s:1",
        "its criteria": "No search fails while the index is swapped",
        "its tests": "make test-swap passes twice in a row",
        "its next action": "Swap the alias under load",
        "its blocker": "The staging cluster has no disk left",
        "the newest decision": "swap by alias",
        "the rejected alternative": "writing both indexes, it doubles the load",
        "evidence with its exit code": "make bench-queries (exit 0)",
        "the failing test": "make test-swap (exit 3)",
        "the question of a job": "May I take the index offline for a minute?",
        "the job that asks": "JOB-",
        "the job that failed": "The mapping has no field price",
        "what jobs have cost": "$1.25",
        "what others hold": "src/search/swap",
        "who holds it": "cobalt-harbor",
        "what is mine": "src/search/alias",
        "unread call for help": "I need the new mapping",
        "unread hand-off": "Take the alias code over",
        "a branch with unmerged notes": "idea/warm-cache",
        "the next action as a call": "tasks.radar",
    }


class _Noise:
    """The noise in the store, the same in every run."""

    def __init__(self, lh: Lh, seed: int) -> None:
        self.lh = lh
        self.random = random.Random(seed)
        self.tokens: dict[str, str] = {}

    def words(self, count: int) -> str:
        return " ".join(self.random.choice(_WORDS) for _ in range(count))

    def task(self, plan: str) -> str:
        made = self.lh(
            "tasks.plan.create",
            kind="task",
            parent=plan,
            title=self.words(4),
            description=self.words(20),
            steps=[{"title": self.words(3), "success_criteria": [self.words(5)]}],
        )
        return str(made["id"])

    def cards(self, task: str) -> None:
        for number in range(12):
            self.lh(
                "think.card",
                card={
                    "id": f"CARD-N{number}",
                    "type": ("hypothesis", "evidence", "question")[number % 3],
                    "title": self.words(5),
                    "text": self.words(30),
                },
                target=task,
            )

    def agents(self) -> dict[str, str]:
        for name in ("amber-otter", "cobalt-harbor", "green-finch"):
            made = self.lh("agents.register", name=name, role="dev")
            self.tokens[name] = made["agent_token"]
        return {"agent": "amber-otter", "agent_token": self.tokens["amber-otter"]}

    def job(self, task: str, title: str) -> str:
        made = self.lh("jobs.create", title=title, prompt=self.words(30), task=task)
        return str(made["job"]["id"])


def _jobs(lh: Lh, task: str, noise: _Noise) -> None:
    for _ in range(3):
        ended = noise.job(task, noise.words(3))
        at = _claim(lh, ended)
        lh(
            "jobs.complete",
            **at,
            status="DONE",
            summary=noise.words(6),
            refs=["CMD: make (exit 0)"],
        )
    failed = noise.job(task, "Convert the mapping")
    at = _claim(lh, failed)
    usage = {"input_tokens": 900, "output_tokens": 100, "cost_usd": 1.25}
    lh("jobs.report", **at, kind="progress", message="converting", usage=usage)
    lh("jobs.complete", **at, status="FAILED", summary="The mapping has no field price")
    asking = noise.job(task, "Swap the alias")
    lh(
        "jobs.report",
        **_claim(lh, asking),
        kind="question",
        message="May I take the index offline for a minute?",
    )


def _claim(lh: Lh, job: str) -> dict[str, Any]:
    claimed = lh("jobs.claim", job=job, runner_id="r1")["job"]
    return {"job": job, "runner_id": "r1", "claim_revision": claimed["revision"]}


def _crew(lh: Lh, task: str, me: dict[str, str], names: list[str], noise: _Noise) -> None:
    other = {"agent": "cobalt-harbor", "agent_token": noise.tokens["cobalt-harbor"]}
    third = {"agent": "green-finch", "agent_token": noise.tokens["green-finch"]}
    lh("agents.reserve", **third, bead_id=names[0], scope="docs/unrelated/*")
    lh("agents.reserve", **other, bead_id=task, scope="src/search/swap/*")
    lh("agents.reserve", **me, bead_id=task, scope="src/search/alias/*")
    for number in range(4):
        lh(
            "agents.send",
            **third,
            to="amber-otter",
            bead_id=names[number],
            subject=noise.words(4),
            body=noise.words(12),
        )
    lh(
        "agents.blocked",
        **other,
        to="amber-otter",
        bead_id=task,
        subject="I need the new mapping",
        blocker="The mapping is not merged",
        requested_action="Merge it",
    )
    lh(
        "agents.handoff",
        **other,
        to="amber-otter",
        bead_id=task,
        subject="Take the alias code over",
        summary="The alias code is half done",
        next_action="Finish the swap",
    )
