"""`longhouse status`: where am I, and what is the best next action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import fields
from longhouse.surfaces.cli.spec import Command, Shown


def run(cli: Cli) -> Shown:
    outcome = cli.ask("status", {})
    result = outcome.result()
    actions = outcome.envelope["actions"] if outcome.envelope else []
    return Shown(result, _lines(cli, result, actions))


def _lines(cli: Cli, result: dict[str, Any], actions: list[dict[str, Any]]) -> Iterator[str]:
    from longhouse.surfaces.cli.run import command_line

    last = result.get("last_doc_entry")
    server = result["server"]
    yield cli.out.style(result["headline"], "bold")
    yield from fields(
        [
            ("checkout", result["checkout"] or "-"),
            ("focus", result["focus"] or "-"),
            ("last entry", f"{last['doc']}@{last['seq']}" if last else None),
            ("store", f"{cli.settings.dir} ({server['engine']})"),
            ("version", server["version"]),
        ]
    )
    if actions and (text := command_line(actions[0], cli)):
        yield f"next: {text}"
        yield cli.out.style(f"      {actions[0]['why']}", "dim")


command = Command(
    "status",
    "Show where you are and the best next action",
    run=run,
    examples=["longhouse status", "longhouse status --json"],
)
