"""`longhouse log`: the notes of the task in focus or of a branch, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Cut
from longhouse.surfaces.cli.render import ago, flat
from longhouse.surfaces.cli.spec import AS_OF, Arg, Command, Flag, Shown


def run(cli: Cli, ref: str | None = None, **page: Any) -> Shown:
    """Without a ref, the notes where `longhouse note` writes: those of the task in focus."""
    found = cli.call("vcs.log", ref=ref or _in_focus(cli), **page)
    return Shown(found, show(cli, found))


def _in_focus(cli: Cli) -> str | None:
    focus = cli.call("tasks.focus.get")["focus"]
    return focus and f"{'task' if focus.startswith('TASK-') else 'plan'}/{focus}"


def show(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    for commit in result["commits"]:
        yield from commit_lines(cli, commit, commit.get("message"), commit["artifact"])
    if not result["commits"]:
        yield f"no notes on {result['branch']} yet"
    if result["pagination"]["has_more"]:
        yield cli.out.style(f"more: --cursor {result['pagination']['next_cursor']}", "dim")


def commit_lines(cli: Cli, row: dict[str, Any], title: str | None, text: str) -> Iterator[str]:
    """One note: its ref, branch and age, its title, and the first line of its text."""
    ref = row.get("ref") or f"{row['doc']}@{row['seq']}"
    style = cli.out.style
    head = f"{style(ref, 'yellow')} {style(row['branch'], 'blue')} {ago(row['ts_ms'])}"
    yield f"{head}  {style(flat(title), 'bold')}" if title else head
    lines = text.splitlines() or [""]
    yield Cut(f"    {lines[0]}" + (style(" …", "dim") if len(lines) > 1 else ""))


command = Command(
    "log",
    "Show the notes of the task in focus or of a branch, newest first",
    args=[
        Arg(
            "ref",
            "a branch, a tag or a note such as notes@12 (default: the focus, else the checkout)",
            False,
        )
    ],
    flags=[
        Flag("limit", "how many to show (default: 20)", "N", kind=int),
        Flag("cursor", "continue below this seq", "SEQ", kind=int),
        AS_OF,
    ],
    run=run,
    calls="vcs.log",
    examples=["longhouse log", "longhouse log idea/cache --limit 5"],
)
