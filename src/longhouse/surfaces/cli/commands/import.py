"""`longhouse import`: read a workspace from an export."""

# ruff: noqa: N999

from __future__ import annotations

import msgspec

from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, now, opened, readable


def run(cli: Cli, file: str) -> Shown:
    from longhouse.store.upkeep import import_workspace

    cli.may_make_a_store = True
    name = cli.flags.get("workspace")
    with opened(cli) as house, readable(file) as source:
        made = import_workspace(
            house.db,
            artifacts_of(house),
            source,
            now(cli),
            name=name,
            rebuild=house.registry.rebuilders,
        )
    was = f" (was {made.exported_as})" if made.exported_as != made.workspace else ""
    text = (
        f"{made.workspace}{was}: up to seq {made.seq}, "
        f"{many(sum(made.rows.values()), 'row')}, "
        f"{many(made.artifacts, 'artifact')}"
    )
    other = "" if made.workspace == cli.settings.workspace else f" --workspace {made.workspace}"
    return Shown(msgspec.to_builtins(made), [text, f"next: {spoken()} status{other}"])


command = Command(
    "import",
    "Import an exported workspace, under its own name or another",
    args=[Arg("file", "a file written by `longhouse export`; - for stdin")],
    run=run,
    details="""\
It imports everything or nothing: a truncated or modified file is refused, and so is a workspace
that already exists. --workspace gives it another name. Older exports are upgraded.""",
    examples=["longhouse import acme.tar", "longhouse import acme.tar --workspace acme-copy"],
)
