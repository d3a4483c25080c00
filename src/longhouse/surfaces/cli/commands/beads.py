"""`longhouse beads`: work items that live in Beads."""

from __future__ import annotations

import json

from longhouse.kernel.errors import StoreError
from longhouse.surfaces.cli.bd import ask_bd
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Shown


def refresh(cli: Cli) -> Shown:
    issues = ask_bd(["list", "--json", "--all"], cwd=cli.settings.project_root)
    if not isinstance(issues, list):
        raise StoreError("bd list: it printed no list", recovery="see `bd list --json --all`")
    cli.settings.dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = cli.settings.dir / "beads.json"
    partial = path.with_name("beads.json.partial")
    partial.write_text(json.dumps(issues, ensure_ascii=False), encoding="utf-8")
    partial.replace(path)
    return Shown({"issues": len(issues), "file": str(path)}, [f"{len(issues)} issues read"])


command = Command(
    "beads",
    "Show the issues of Beads as work items",
    details="With LONGHOUSE_ITEMS=beads the crew's work items are issues of Beads. Longhouse "
            "never writes them.",
    children=[
        Command("refresh", "Read all issues anew from `bd`", run=refresh,
                details="Without it, the file that bd exports (.beads/issues.jsonl) is read."),
    ],
)  # fmt: skip
