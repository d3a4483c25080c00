"""`longhouse beads`: work items kept in Beads, read and changed only through `bd`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import LonghouseError, StoreError
from longhouse.kernel.private_files import write_private
from longhouse.surfaces.cli import bd
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.identities import as_agent
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def refresh(cli: Cli) -> Shown:
    issues, told = _read_anew(cli)
    lines = [f"issues read: {len(issues)}; changes recorded: {told['count']}"]
    if told["source"] != "beads":
        lines.append(
            'to show them as work items: items = "beads" in config.toml, or LONGHOUSE_ITEMS'
        )
    return Shown({"issues": len(issues), "file": str(_file(cli)), **told}, lines)


def _file(cli: Cli) -> Path:
    return cli.settings.dir / "beads.json"


def _read_anew(cli: Cli) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Save the full list from `bd` to our file, atomically, and record what changed."""
    issues = bd.ask_bd(bd.LIST, cwd=cli.settings.project_root)
    if not isinstance(issues, list):
        raise bd.BdUnknown("bd list: the output is not a list")
    _keep(_file(cli), json.dumps(issues))
    told = cli.call("agents.items.sync")
    while told["has_more"]:
        more = cli.call("agents.items.sync")
        told = {
            **more,
            "changes": told["changes"] + more["changes"],
            "count": told["count"] + more["count"],
        }
    return [one for one in issues if isinstance(one, dict)], told


def _keep(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, text.encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def _change(cli: Cli, issue: str, argv: list[str], agent: str | None, done: str) -> Shown:
    """Make one change through `bd`, then show the issue's current state."""
    actor = None
    if agent or cli.settings.agent_id:
        me = as_agent(cli, agent)
        actor = cli.call("agents.heartbeat", **me)["agent"]["agent_id"]  # proves who acts
    bd.tell_bd(argv, actor=actor, cwd=cli.settings.project_root)
    data: dict[str, Any] = {"id": issue, "actor": actor, "issue": None, "refreshed": False}
    try:
        issues, told = _read_anew(cli)
    except LonghouseError as error:
        again = f"the change is not visible here yet ({error.code}): run `longhouse beads refresh`"
        return Shown({**data, "trouble": error.code}, [f"{issue} {done}", again])
    now = next((one for one in issues if one.get("id") == issue), None)
    shown = f" ({now.get('status')}, {now.get('assignee') or 'unassigned'})" if now else ""
    return Shown(
        {**data, "issue": now, "refreshed": True, "changes": told["changes"]},
        [f"{issue} {done}{shown}"],
    )


def close(cli: Cli, id: str, reason: str | None = None, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.close(id, reason), agent, "is closed")


def reopen(cli: Cli, id: str, reason: str | None = None, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.reopen(id, reason), agent, "is reopened")


def comment(cli: Cli, id: str, text: str, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.add_comment(id, text), agent, "has a new comment")


def take(cli: Cli, id: str, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.claim(id), agent, "is yours")


def assign(cli: Cli, id: str, to: str, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.assign(id, to), agent, "is assigned")


def status(cli: Cli, id: str, status: str, agent: str | None = None) -> Shown:
    return _change(cli, id, bd.set_status(id, status), agent, "is changed")


_ID = Arg("id", "the issue, such as bb-12")
_AGENT = Flag("agent", "the agent to act as (default: LONGHOUSE_AGENT_ID, else bd's own)", "NAME")
_REASON = Flag("reason", "why", "TEXT")

command = Command(
    "beads",
    "Use Beads issues as work items, and change them through `bd`",
    details="With LONGHOUSE_ITEMS=beads the crew's work items are Beads issues. Longhouse never "
    "writes Beads files:\nevery change is made by `bd` in the name of --agent, and then read back.",
    children=[
        Command(
            "refresh",
            "Read all issues from `bd`, and record what changed",
            run=refresh,
            details="Work items come from this list or from the file that bd exports "
            "(.beads/issues.jsonl), whichever is newer.",
        ),
        Command(
            "take",
            "Claim an issue: assign it to yourself and start it, if no one else has it",
            args=[_ID],
            flags=[_AGENT],
            run=take,
            examples=["longhouse beads take bb-12 --agent amber-otter"],
        ),
        Command(
            "assign",
            "Assign an issue to someone",
            args=[_ID, Arg("to", "the new assignee")],
            flags=[_AGENT],
            run=assign,
        ),
        Command(
            "status",
            "Set an issue's status",
            args=[_ID, Arg("status", "open, in_progress, blocked, deferred or closed")],
            flags=[_AGENT],
            run=status,
        ),
        Command(
            "comment",
            "Comment on an issue",
            args=[_ID, Arg("text", "the comment")],
            flags=[_AGENT],
            run=comment,
        ),
        Command(
            "close",
            "Close an issue",
            args=[_ID],
            flags=[_REASON, _AGENT],
            run=close,
            examples=["longhouse beads close bb-12 --reason 'Tests pass.'"],
        ),
        Command("reopen", "Reopen a closed issue", args=[_ID], flags=[_REASON, _AGENT], run=reopen),
    ],
)
