"""A view of the past shows what was shown then: random histories, read live and afterward."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.web.conftest import PATIENCE_MS, Visit, World, go

VIEWS = {
    "/": "Now",
    "/sessions": "Sessions",
    "/sessions/TASK-001": "Sessions",
    "/jobs": "Jobs",
    "/jobs/JOB-001": "Jobs",
    "/work": "Work",
    "/files": "Files",
}
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SHOWN = """() => {
    const left = 'time, button, form, textarea, select, [role=status], [aria-labelledby=since]';
    const words = [];
    const walk = document.createTreeWalker(document.querySelector('#main'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const text = walk.currentNode.textContent.replace(/\\s+/g, ' ').trim();
        if (text && !walk.currentNode.parentElement.closest(left)) words.push(text);
    }
    return words;
}"""
AGE = re.compile(r"\b\d+ (?:s|min|h|days?)\b")
UNTOLD = {"Lease"}
"""Leases leave no row, so the past does not show them."""


class History:
    """Random actions of two agents, a manager and a runner."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        world("jobs.runner.heartbeat", runner_id="rust-1", status="idle", lease_ttl_ms=300_000)
        self._chance = random.Random(seed)
        self.agents = [world.agent("amber-otter"), world.agent("cobalt-harbor")]
        self.tasks = [world.task("Parser", steps=["Read", "Write"])]
        self.jobs = [world("jobs.create", title="Port it", prompt="x")["job"]["id"]]
        self.held: dict[str, dict[str, Any]] = {}
        self.scopes: list[tuple[str, str]] = []

    def act(self) -> None:
        acts: list[Callable[[], object]] = [
            self.plan,
            self.edit,
            self.close_step,
            self.create,
            self.claim,
            self.report,
            self.report,
            self.report,
            self.ask,
            self.answer,
            self.complete,
            self.cancel,
            self.requeue,
            self.reserve,
            self.release,
            self.block,
            self.accept,
        ]
        self._chance.choice(acts)()

    def _one(self, among: list[Any]) -> Any:
        return self._chance.choice(among)

    def plan(self) -> None:
        title = f"Task {len(self.tasks)}"
        self.tasks.append(self.world.task(title, steps=["Think"], assignee=self._one(self.agents)))

    def edit(self) -> None:
        self.world("tasks.edit", task=self._one(self.tasks), assignee=self._one(self.agents))

    def close_step(self) -> None:
        done = {"checkpoints": "all", "proof": "CMD: make (exit 0)"}
        self.world.house.post(
            "tasks.step.close", workspace=self.world.workspace, task=self._one(self.tasks), **done
        )

    def create(self) -> None:
        on = {"task": self._one(self.tasks)} if self._chance.random() < 0.5 else {}
        made = self.world("jobs.create", title=f"Job {len(self.jobs)}", prompt="x", **on)
        self.jobs.append(made["job"]["id"])

    def claim(self) -> None:
        if waiting := [job for job in self.jobs if self._status(job) == "QUEUED"]:
            job = self._one(waiting)
            self.held[job] = self.world.reclaimed("rust-1", job)

    def _status(self, job: str) -> str:
        status: str = self.world("jobs.open", job=job)["job"]["status"]
        return status

    def _held(self) -> dict[str, Any] | None:
        return self._one(list(self.held.values())) if self.held else None

    def report(self) -> None:
        if held := self._held():
            far = {"percent": self._chance.randrange(100)} if self._chance.random() < 0.5 else {}
            self.world("jobs.report", **held, message=f"part {self._chance.randrange(99)}", **far)

    def ask(self) -> None:
        if held := self._held():
            self.world("jobs.question", **held, message=f"Which {self._chance.randrange(99)}?")

    def answer(self) -> None:
        if held := self._held():
            self.world("jobs.message", job=held["job"], message="That one.")

    def complete(self) -> None:
        if held := self._held():
            how = self._one(["DONE", "FAILED"])
            self.world("jobs.complete", **held, status=how, summary="So.", refs=["CMD: x"])
            del self.held[held["job"]]

    def cancel(self) -> None:
        if going := [job for job in self.jobs if self._status(job) in ("QUEUED", "RUNNING")]:
            job = self._one(going)
            why = self._one([{}, {"reason": f"Not needed {self._chance.randrange(99)}."}])
            self.world("jobs.cancel", job=job, **why)
            self.held.pop(job, None)

    def requeue(self) -> None:
        ends = ("CANCELED", "DONE", "FAILED")
        if ended := [job for job in self.jobs if self._status(job) in ends]:
            self.world("jobs.requeue", job=self._one(ended))

    def _item(self) -> str:
        item: str = self._one(self.tasks + self.jobs)
        return item

    def reserve(self) -> None:
        who, scope = self._one(self.agents), f"src/{len(self.scopes)}/*"
        self.world.does("agents.reserve", who, scope=scope, bead_id=self._item())
        self.scopes.append((who, scope))

    def release(self) -> None:
        if self.scopes:
            who, scope = self.scopes.pop(self._chance.randrange(len(self.scopes)))
            self.world.does("agents.release", who, scope=scope)

    def block(self) -> None:
        sender, to = self._chance.sample(self.agents, 2)
        said = {"subject": f"Key {self._chance.randrange(99)}?", "blocker": "No access."}
        said |= {"bead_id": self._item(), "requested_action": "Grant it."}
        self.world.does("agents.blocked", sender, to=to, **said)

    def accept(self) -> None:
        who = self._one(self.agents)
        # Accepting again is only a sign of life, which leaves no row.
        if waiting := self.world("agents.inbox", agent=who, state=["unread", "read"])["messages"]:
            self.world.does("agents.ack", who, message=self._one(waiting)["message_id"])


class Looking:
    """A viewer's page, and whether it is still waiting for the server."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._waits: set[Request] = set()
        page.on("request", self._begins)
        page.on("requestfinished", self._ends)
        page.on("requestfailed", self._ends)

    def _begins(self, request: Request) -> None:
        if "/call/" in request.url:
            self._waits.add(request)

    def _ends(self, request: Request) -> None:
        self._waits.discard(request)

    def shows(self, path: str, query: str, expected: list[str] | None = None) -> list[str]:
        """The words of a view, once they are as expected or after a timeout.

        With nothing expected: once the page has finished loading.
        """
        go(self.page, f"{path}?{query}")
        expect(self.page.locator("#main h1").first).to_have_text(VIEWS[path])
        ends = time.monotonic() + PATIENCE_MS / 1_000
        words = self._words()
        while expected not in (None, words) and time.monotonic() < ends:
            words = self._words()
        return words

    def _words(self) -> list[str]:
        expect(self.page.get_by_text("Loading…")).to_have_count(0)
        quiet = 0
        while quiet < 3:
            self.page.evaluate(PAINTED)
            quiet = 0 if self._waits else quiet + 1
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        words: list[str] = self.page.evaluate(SHOWN)
        return [AGE.sub("a while", word) for word in words if word not in UNTOLD]

    def all_views(self, query: str) -> dict[str, list[str]]:
        """The words of every view, once two rounds in a row are the same."""
        before: dict[str, list[str]] = {}
        while (words := {path: self.shows(path, query) for path in VIEWS}) != before:
            before = words
        return words


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_past_shows_what_was_shown_then(world: World, visit: Visit, seed: int) -> None:
    viewer, _ = world.house.new_token("viewer")
    history = History(world, seed)
    seen: dict[tuple[str, str], list[str]] = {}
    for _ in range(3):
        for _ in range(14):
            history.act()
        moment = str(world("status")["seq"])
        live = Looking(visit("/history", token=viewer))
        for path, words in live.all_views(f"ws={world.workspace}").items():
            seen[moment, path] = words
        live.page.close()
    history.act()
    past = Looking(visit("/history", token=viewer))
    for (moment, path), words in random.Random(seed).sample(sorted(seen.items()), len(seen)):
        then = past.shows(path, f"ws={world.workspace}&as_of={moment}", words)
        assert then == words, f"{path} as of {moment}"
