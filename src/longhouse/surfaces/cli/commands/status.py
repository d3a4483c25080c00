"""`longhouse status`: where you are, and the best next action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli import disk
from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import fields, local_time
from longhouse.surfaces.cli.spec import Command, Shown


def run(cli: Cli) -> Shown:
    asked: dict[str, Any] = {"view": "full"}
    if name := cli.settings.agent_id:
        from longhouse.surfaces.cli.identities import kept_token

        if token := kept_token(cli, name):
            asked |= {"agent": name, "agent_token": token}
    outcome = cli.ask("status", asked)
    result = outcome.result()
    actions = outcome.envelope["actions"] if outcome.envelope else []
    return Shown(result, _lines(cli, result, actions))


def _lines(cli: Cli, result: dict[str, Any], actions: list[dict[str, Any]]) -> Iterator[str]:
    from longhouse.surfaces.cli.speaking import next_lines

    last = result.get("last_doc_entry")
    server = result["server"]
    yield cli.out.style(result["headline"], "bold")
    yield from fields(
        [
            ("checkout", result["checkout"] or "-"),
            ("focus", _focus(result)),
            ("you", result["me"].get("agent")),
            ("here", ", ".join(result.get("here", ()))),
            *(("runs", _process(one)) for one in result.get("processes", ())),
            *_work(cli, result),
            ("last entry", f"{last['doc']}@{last['seq']}" if last else None),
            ("store", f"{cli.settings.dir} ({server['engine']})"),
            *_disk(cli),
            ("version", server["version"]),
        ]
    )
    if not result["workspace_exists"] and (others := _others(cli)):
        yield f"this store holds: {', '.join(others)}"
        yield f"next: {spoken()} status --workspace {others[0]}"
    else:
        yield from next_lines(cli, actions)


def _disk(cli: Cli) -> Iterator[tuple[str, str]]:
    if wrong := disk.trouble(cli.settings.dir):
        yield "disk", cli.out.style("; ".join(wrong), "yellow")


def _process(said: str) -> str:
    """A running process, with the time in the reader's zone; or what is wrong with some."""
    what, found, since = said.rpartition(" since ")
    return f"{what} since {local_time(since)}" if found else said


def _focus(result: dict[str, Any]) -> str:
    target = result.get("target")
    named = f"  {target['title']} ({target['status']})" if target else ""
    return f"{result['focus'] or '-'}{named}"


def _work(cli: Cli, result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The job of the work in focus, reservations, mail, and what is new."""
    if job := result.get("job"):
        yield "job", f"{job['id']} ({job['status']}) {job['title']}"
        if job.get("marker") == "?":
            yield "asks", cli.out.style(job["said"], "yellow")
    if jobs := result.get("jobs"):
        runner = result["runner"]["status"]
        told = runner if runner != "offline" else cli.out.style("none online", "yellow")
        yield "jobs", f"{jobs['running']} running, {jobs['queued']} queued; runner: {told}"
        if waiting := jobs.get("waiting"):
            from longhouse.surfaces.cli.speaking import why_it_waits

            yield "", cli.out.style(why_it_waits(waiting), "yellow")
    for one in result.get("held", ()):
        who = "you" if one.get("mine") else cli.out.style(one["by"], "yellow")
        yield "held", f"{one['what']} by {who}"
    if inbox := result.get("inbox"):
        due = f"{inbox['due']} to answer" if inbox["due"] else ""
        unread = f"{inbox['unread']} unread" if inbox.get("unread") else ""
        yield "mail", cli.out.style(", ".join(filter(None, (unread, due))), "yellow")
    if (since := result.get("since")) and since["changes"]:
        more = "+" if since.get("has_more") else ""
        yield "new", f"{since['changes']}{more} since you last looked"


def _others(cli: Cli) -> list[str]:
    """The workspaces that exist, for when the requested one does not."""
    found = cli.ask("workspace.list", {"limit": 10})
    return [] if found.error else [row["workspace"] for row in found.result()["workspaces"]]


command = Command(
    "status",
    "Show where you are and the best next action",
    run=run,
    calls="status",
    examples=["longhouse status", "longhouse status --json"],
)
