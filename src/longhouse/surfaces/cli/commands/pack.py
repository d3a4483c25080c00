"""`longhouse pack`: the reasoning on a task or branch, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import flat, many, table
from longhouse.surfaces.cli.speaking import command_line
from longhouse.surfaces.cli.spec import Command, Flag


def show(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    style = cli.out.style
    capsule = result["capsule"]
    where = capsule["where"]
    step = f" {where['step_focus']['path']}" if "step_focus" in where else ""
    yield style(f"{where.get('target') or where['branch']}{step}", "bold")
    rows = [
        {
            "card": card["id"],
            "type": card["type"],
            "status": card["status"],
            "says": " ".join((card.get("title") or card.get("text") or "").split()),
        }
        for card in result.get("cards", [])
    ]
    yield from table(rows, ("card", "type", "status", "says"))
    notes = len(result.get("notes", {}).get("entries", []))
    trace = len(result.get("trace", {}).get("entries", []))
    yield style(f"{many(notes, 'note')}, {trace} in the trace", "dim")
    for signal in result.get("engine", {}).get("signals", []):
        yield f"{style(signal['code'], 'yellow')}  {flat(signal['message'])}"
    actions = result.get("engine", {}).get("actions") or [capsule["next"]["primary"]]
    for action in actions:
        yield f"to do: {flat(action['title'])}"
        calls = [action["call"]] if "call" in action else action["calls"]
        for call in [call for call in calls if "call_method" not in call][:1]:
            if text := command_line(call, cli):
                yield f"next: {text}"


command = Command(
    "pack",
    "Show the cards and notes on a task or branch, and what to do next",
    flags=[
        Flag("target", "the plan or task (default: the focus)", "ID"),
        Flag("ref", "the branch", "BRANCH"),
        Flag("step", "only this step: focus, STEP-… or s:0", "STEP"),
        Flag("view", "which cards to show", "VIEW", choices=("smart", "explore", "audit")),
        Flag("limit-cards", "how many cards (default: 30)", "N", kind=int),
        Flag("max-chars", "the longest answer, in characters", "N", kind=int),
    ],
    calls="think.context.pack",
    show=show,
    examples=["longhouse pack", "longhouse pack --target TASK-001 --step focus"],
)
