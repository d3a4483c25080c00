"""`longhouse radar`: who is working on what and which jobs need you, once or live."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.clients import as_spoken, spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Cut
from longhouse.surfaces.cli.render import ago, many, table
from longhouse.surfaces.cli.speaking import why_it_waits
from longhouse.surfaces.cli.spec import AS_OF, Command, Flag, Shown

PAUSE_S = 1.0
_COLUMNS = ("", "job", "status", "runner", "updated", "title")


def run(cli: Cli, watch: bool = False, **filters: Any) -> Shown | int:
    if not watch:
        found = cli.call("jobs.radar", **filters)
        return Shown(found, _lines(cli, found))
    shown = None
    try:
        while True:
            # A claim can lapse without anything being written, so only polling shows it.
            found = cli.call("jobs.radar", **filters)
            now = [json.dumps(found, ensure_ascii=False)] if cli.as_json else [*_lines(cli, found)]
            if now != shown:
                cli.out.clear()
                for text in now:
                    (cli.out.data if cli.as_json else cli.out.line)(text)
                cli.out.flush()
                shown = now
            time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        return 0


def _lines(cli: Cli, found: dict[str, Any]) -> Iterator[str]:
    jobs, runners = found["jobs"], found["runner_status"]
    count = f"{found['count']} or more jobs" if found["has_more"] else many(found["count"], "job")
    alive = [f"{runners[name]} {word}" for name, word in _RUNNERS if runners.get(name)]
    yield cli.out.style(f"{count}; runners: {', '.join(alive) or 'none'}", "bold")
    head, rows = _rows(jobs)
    yield from head
    for job, line in zip(jobs, rows, strict=True):
        marker = job["attention"].get("marker")
        yield Cut(cli.out.style(line, "yellow")) if marker else line
        yield from _wants(job, marker)
    for names, waiting in _waiting(jobs):
        yield cli.out.style(f"{names}: {why_it_waits(waiting)}", "yellow")


def _waiting(jobs: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The reasons why jobs wait, each with its jobs; a job's own row says more about changes."""
    reasons: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for job in jobs:
        if (waiting := job.get("waiting")) and waiting["code"] != "changes":
            same = waiting["why"] if waiting["code"] not in _OF_ONE else job["id"]
            reasons.setdefault(same, ([], waiting))[0].append(job["id"])
    for ids, waiting in reasons.values():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        wait = "waits" if len(ids) == 1 else "wait"
        yield f"{', '.join(ids[:3])}{more} {wait}", waiting


_OF_ONE = ("held", "declined")
"""Reasons whose remedy names the job."""


_RUNNERS = (("live_count", "busy"), ("idle_count", "idle"), ("offline_count", "offline"))


def _rows(jobs: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The table's header and its rows; both are empty if there are no jobs."""
    lines = [*table([_row(job) for job in jobs], _COLUMNS)]
    return lines[:1], lines[1:]


def _row(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "": job["attention"].get("marker", " "),
        "job": job["id"],
        "status": job["status"],
        "runner": job.get("runner"),
        "updated": ago(job["updated_at_ms"]),
        "title": job["title"],
    }


def _wants(job: dict[str, Any], marker: str | None) -> Iterator[str]:
    """The question or last message of a job that needs attention, and how to answer."""
    asked, last = job.get("question") or {}, job.get("last") or {}
    said = " ".join(str(asked.get("text") or last.get("message", "")).split())
    if marker and said:
        yield f"   {said}"
    if waits := job.get("changes"):
        yield f"   {as_spoken(waits['apply'])}      or to drop them: {as_spoken(waits['drop'])}"
    elif marker == "?":
        yield f"   {spoken()} job reply {job['id']} 'your answer'"
    elif marker:
        yield f"   {spoken()} job show {job['id']}"


command = Command(
    "radar",
    "Show who is working on what, and which jobs need you",
    flags=[
        Flag("watch", "keep the display up to date until Ctrl-C"),
        Flag("status", "only jobs with this status", "STATUS"),
        Flag("task", "only jobs of this task", "TASK"),
        Flag("anchor", "only jobs of this anchor", "ANCHOR"),
        Flag("limit", "how many jobs (default: 25)", "N", kind=int),
        AS_OF,
    ],
    run=run,
    calls="jobs.radar",
    details="""\
? marks a job that asks a question, ! one with an error or without proof, ~ one that lost its
runner. For the format that agents read: `longhouse call jobs.radar fmt=lines`.""",
    examples=["longhouse radar --watch", "longhouse job reply JOB-001 'Use staging.'"],
)
