"""The page on a large workspace: the first view, the time from change to pixel, and a long flood.

A real Chromium shows a store with 1,000 agents, 10,000 tasks, 10,000 jobs and 1,000,000 log rows.
The promises are times, so each ratio compares with the promised time: a browser with an empty cache
shows a useful first view within 1.5 s; a change is painted within 150 ms of being sent; under 500
events per second, ten tabs show the newest state at the end, and their memory grows by at most a
fifth. A view of the past in the middle of the log appears within 5 s and uses 64 MiB.
`python -m bench.page flood --minutes 6` runs the whole flood; a run of all benchmarks includes one
minute of it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import psycopg
from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as TookTooLong

from bench import _large
from bench._harness import Figures, report
from bench._servers import Up, serving
from tools.browser import opened
from tools.postgres import Postgres

FIRST_S, PIXEL_S, GROWTH = 1.5, 0.150, 1.2
PAST_S, PAST_MIB = 5.0, 64
"""A seq in the middle of the log, with half a million rows before it."""
PASTS = {"jobs": "/jobs", "now": "/"}
VISITS, PAST_VISITS, CHANGES, TABS, RUNNING = 7, 3, 40, 10, 30
EVENTS_PER_S = 500
FRAMES = 40
"""Lines of output that a host reports in one call; each is one log row."""
WARM_S, LOOK_S = 20.0, 5.0
GO = "(path) => { history.pushState(null, '', path); dispatchEvent(new Event('popstate')); }"
USEFUL = """() => document.querySelector('[data-link="live"]')
    && document.querySelector('#crew') && !document.body.textContent.includes('Loading…')
    && document.querySelector('section details')"""
THERE = """() => document.body.textContent.includes('You are viewing the past')
    && document.querySelector('#main h1') && document.querySelector('#main [data-stop], #crew')
    && !/Reading|Loading/.test(document.body.textContent)"""
PAINTED = """(wanted) => new Promise((done) => {
    const look = () => {
        const cards = [...document.querySelectorAll('article')];
        if (!cards.some((card) => card.textContent.includes(wanted))) return false;
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(Date.now())));
        return true;
    };
    const watcher = new MutationObserver(look);
    if (!look()) {
        watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
    }
})"""


class Acting:
    """Calls to one server, and its running jobs, a third of which have a question."""

    def __init__(self, up: Up) -> None:
        self._http = httpx2.Client(base_url=up.url, headers=up.headers, timeout=60)
        self.up = up
        self.jobs = [self._claimed(number) for number in range(RUNNING)]

    def __call__(self, cmd: str, **args: Any) -> Any:
        answer = self._http.post(f"/call/{cmd}", json=args).json()
        assert answer["success"], answer["error"]
        return answer["result"]

    def _claimed(self, number: int) -> dict[str, Any]:
        job = self("jobs.claim", runner_id="r1")["job"]
        fence = {"job": job["id"], "runner_id": "r1", "claim_revision": job["revision"]}
        kind = "progress" if number % 3 else "question"
        self("jobs.report", **fence, message=f"which of {number}?", kind=kind)
        return fence


def visit(browser: Browser, up: Up) -> tuple[Page, float]:
    """The first view in a fresh browser, and the seconds until it was useful."""
    page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
    started = time.perf_counter()
    page.goto(f"{up.url}/#token={up.token}", wait_until="commit")
    page.wait_for_function(USEFUL, timeout=60_000, polling="raf")
    return page, time.perf_counter() - started


def first(browser: Browser, act: Acting, engine: str, _minutes: float) -> None:
    """The first view after opening the printed address."""
    times = []
    for _ in range(VISITS):
        page, taken = visit(browser, act.up)
        times.append(taken)
        page.context.close()
    figures = Figures({"seconds": tuple(times[1:])})
    report(f"page-{engine}first-view", median(times[1:]) / FIRST_S, "<=1.0", figures)


def past(browser: Browser, act: Acting, engine: str, _minutes: float) -> None:
    """The middle of the log in a fresh browser, and the memory of its tab."""
    moment = act("status")["seq"] // 2
    sizes = []
    for name, path in PASTS.items():
        times = []
        for _ in range(PAST_VISITS):
            page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
            started = time.perf_counter()
            where = f"{act.up.url}{path}?as_of={moment}#token={act.up.token}"
            page.goto(where, wait_until="commit")
            page.wait_for_function(THERE, timeout=60_000, polling="raf")
            times.append(time.perf_counter() - started)
            sizes.append(memory_of(page)() / 2**20)
            page.context.close()
        figures = Figures({"seconds": tuple(times)})
        report(f"page-{engine}past-{name}", median(times) / PAST_S, "<=1.0", figures)
    figures = Figures({"MiB": tuple(sizes)})
    report(f"page-{engine}past-memory", max(sizes) / PAST_MIB, "<=1.0", figures)


def pixel(browser: Browser, act: Acting, engine: str, _minutes: float) -> None:
    """The time from a runner sending its question until it is painted."""
    page, _ = visit(browser, act.up)
    times = []
    for number in range(CHANGES):
        fence = act.jobs[number % len(act.jobs)]
        wanted = f"Change {number} of {engine or 'sqlite-'}{time.time_ns()}"
        page.evaluate(f"(wanted) => {{ window.painted = ({PAINTED})(wanted) }}", wanted)
        sent = time.time()
        act("jobs.report", **fence, message=wanted, kind="question")
        times.append(page.evaluate("() => window.painted") / 1000 - sent)
        act("jobs.message", job=fence["job"], message="Yes.")
        page.locator("article").filter(has_text=wanted).wait_for(state="detached")
    page.context.close()
    figures = Figures({"seconds": tuple(times)})
    report(f"page-{engine}change-to-pixel", median(times) / PIXEL_S, "<=1.0", figures)


class Flood:
    """Runners that report, and a host that sends output, at a steady rate."""

    def __init__(self, act: Acting) -> None:
        self._act = act
        self._numbers = itertools.count(1)
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.events = 0
        self.seconds = 0.0
        self.last: dict[str, str] = {}
        """The last message of each job."""
        self.newest = ""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    async def _run(self) -> None:
        up = self._act.up
        began = time.perf_counter()
        async with httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=60) as http:
            output = Output(self._act)
            while not self._over.is_set():
                due = int((time.perf_counter() - began) * EVENTS_PER_S) - self.events
                if due < FRAMES + 10:
                    await asyncio.sleep(0.005)
                    continue
                calls = [self._report(), self._report(), output.next()]
                posts = (http.post(f"/call/{cmd}", json=args) for cmd, args in calls)
                for answer in await asyncio.gather(*posts):
                    assert answer.is_success, answer.text
                self.events += FRAMES + 2
        self.seconds = time.perf_counter() - began

    def _report(self) -> tuple[str, dict[str, Any]]:
        number = next(self._numbers)
        fence = self._act.jobs[number % len(self._act.jobs)]
        self.newest = said = self.last[fence["job"]] = f"reading part {number}"
        return "jobs.report", {**fence, "message": said, "percent": number % 100}


class Output:
    """A process that prints, as its host reports it."""

    def __init__(self, act: Acting) -> None:
        host = {"runner_id": "r1", "host_id": "host-0benchmark"}
        act("tool.policy_allow", tool="exec", pattern="true")
        task = act("tool.task_spawn", tool="exec", args={"argv": ["true"]})["task_id"]
        revision = act("tool.task_held", **host)["revision"]
        act("tool.task_claim", revision=revision, limit=1, **host)
        at = act("tool.task_status", task_id=task)["task"]["next_seq"]
        self._fence = {"task_id": task, "runner_id": "r1", "revision": revision}
        running = {"type": "tool_task_status", "status": "running", "pid": 1, "started_at_ms": 1}
        act("tool.task_append", **self._fence, base_seq=at, frames=[running])
        self._seq, self._offset = at + 1, 0

    def next(self) -> tuple[str, dict[str, Any]]:
        frames = []
        for _ in range(FRAMES):
            line = f"{self._offset:>12} of many bytes\n"
            place = {"offset_bytes": self._offset, "bytes": len(line)}
            frames.append({"type": "tool_stdout", "chunk": line, **place})
            self._offset += len(line)
        args = {**self._fence, "base_seq": self._seq, "frames": frames}
        self._seq += FRAMES
        return "tool.task_append", args


def flood(browser: Browser, act: Acting, engine: str, minutes: float) -> None:
    """Ten tabs under 500 events per second: their memory, and what they show at the end."""
    now, _ = visit(browser, act.up)
    job = act.jobs[0]["job"]
    history, *others = (now.context.new_page() for _ in range(TABS - 1))
    history.goto(f"{act.up.url}/history", wait_until="commit")
    shows(history, "Rewind")
    for other in others:
        other.goto(f"{act.up.url}/jobs/{job}", wait_until="commit")
        shows(other, job)
    heaps = {"now": memory_of(now), "history": memory_of(history)}
    used: dict[str, list[float]] = {name: [] for name in heaps}
    storm = Flood(act)
    storm.start()
    now.wait_for_timeout(WARM_S * 1000)
    ends = time.perf_counter() + minutes * 60
    while time.perf_counter() < ends:
        for name, heap in heaps.items():
            used[name].append(heap() / 2**20)
        now.wait_for_timeout(LOOK_S * 1000)
    storm.stop()
    now.evaluate(GO, f"/jobs/{job}")
    newest = [shows(tab, storm.last[job]) for tab in (now, *others)]
    newest.append(shows(history, storm.newest))
    rate = storm.events / storm.seconds
    print(f"# flood: {rate:.0f} events per second for {storm.seconds / 60:.1f} minutes")
    report(f"page-{engine}flood-pace", rate / EVENTS_PER_S, ">=0.95")
    report(f"page-{engine}flood-newest-state", sum(newest) / TABS, ">=1.0")
    for name, sizes in used.items():
        figures = Figures({"MiB": tuple(sizes)})
        grown = median(sizes[-3:]) / median(sizes[:3])
        report(f"page-{engine}flood-memory-{name}", grown, f"<={GROWTH}", figures)
    now.context.close()


def shows(page: Page, text: str) -> bool:
    """Whether a text is visible now or appears within 30 seconds."""
    with suppress(TookTooLong):
        page.get_by_text(text).first.wait_for(timeout=30_000)
        return True
    return False


def memory_of(page: Page) -> Callable[[], float]:
    """A function that returns the bytes a tab's scripts hold after garbage collection."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def used() -> float:
        devtools.send("HeapProfiler.collectGarbage")
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize"))

    return used


@contextmanager
def large(engine: str) -> Iterator[Acting]:
    """The large workspace with its server, on one of the databases."""
    with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
        server = Postgres() if engine else None
        try:
            db = None
            if server:
                with psycopg.connect(server.url(), autocommit=True) as made:
                    made.execute("CREATE DATABASE large")
                db = server.url("large")
            _large.make(Path(folder), db)
            with serving(Path(folder), db) as up:
                yield Acting(up)
        finally:
            if server:
                server.stop()


PARTS = {"first": first, "past": past, "pixel": pixel, "flood": flood}
ENGINES = {"sqlite": "", "postgres": "postgres-"}


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    asked.add_argument("--minutes", type=float, default=1.0, help="how long the flood lasts")
    asked.add_argument("--on", choices=ENGINES, action="append", help="default: both")
    given = asked.parse_args()
    for name in given.on or ENGINES:
        with large(ENGINES[name]) as act, opened("--disable-dev-shm-usage") as browser:
            for part in given.parts or PARTS:
                PARTS[part](browser, act, ENGINES[name], given.minutes)


if __name__ == "__main__":
    main()
