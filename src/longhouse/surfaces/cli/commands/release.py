"""`longhouse release`: let jobs and processes run that an import or a restore held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import line_of
from longhouse.surfaces.cli.render import flat
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(cli: Cli, ids: Sequence[str] = (), all: bool = False) -> Shown:
    if ids and all:
        raise InvalidInput("--all: not together with ids", recovery="name some, or release all")
    if not ids:
        found = {**dict(_jobs(cli)), **dict(_processes(cli))}
        if not all:
            lines = [flat(f"{one}  {title}") for one, title in found.items()]
            return Shown({"held": found}, lines or ["nothing is held"])
        ids = list(found)
    for one in ids:
        if one.startswith("JOB-"):
            cli.call("jobs.requeue", job=one, reason="released by a manager")
        else:
            cli.call("tool.task_release", task_id=one)
    lines = [f"{one} is released" for one in ids]
    return Shown({"released": list(ids)}, lines or ["nothing is held"])


def _jobs(cli: Cli) -> Iterator[tuple[str, str]]:
    page: dict[str, Any] = {"next_cursor": None}
    while True:
        asked = {"cursor": page["next_cursor"]} if page.get("next_cursor") else {}
        page = cli.call("jobs.list", status="QUEUED", limit=100, **asked)
        yield from ((job["id"], job["title"]) for job in page["jobs"] if job.get("held"))
        if not page.get("next_cursor"):
            return


def _processes(cli: Cli) -> Iterator[tuple[str, str]]:
    page: dict[str, Any] = {"next_cursor": None}
    while True:
        asked = {"cursor": page["next_cursor"]} if page.get("next_cursor") else {}
        page = cli.call("tool.task_list", status="queued", limit=100, **asked)
        yield from ((task["task_id"], line_of(task)) for task in page["tasks"] if task["held"])
        if not page.get("next_cursor"):
            return


command = Command(
    "release",
    "Let jobs and processes run that an import or a restore held",
    args=[
        Arg(
            "ids",
            "what to release, such as JOB-001; without any, list what is held",
            required=False,
            many=True,
        )
    ],
    flags=[Flag("all", "release everything that is held in this workspace")],
    run=run,
    details="""\
What arrives with an import or a restored backup runs only once a manager or operator releases
it. A released process runs in your name and with at most your rights, and the policy rules
decide again.""",
    examples=["longhouse release", "longhouse release JOB-003 PROC-001", "longhouse release --all"],
)
