"""`longhouse import`: read a workspace from an export."""

# ruff: noqa: N999

from __future__ import annotations

from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import (
    RUN_QUEUED,
    artifacts_of,
    held_lines,
    now,
    opened,
    readable,
    told,
)


def run(cli: Cli, file: str, run_queued: bool = False) -> Shown:
    from longhouse.store.upkeep import import_workspace, outputs_of

    cli.may_make_a_store = True
    name = cli.flags.get("workspace")
    with opened(cli) as house, readable(file) as source:
        made = import_workspace(
            house.db,
            artifacts_of(house),
            source,
            now(cli, house),
            name=name,
            rebuild=house.registry.rebuilders,
            arrive=house.registry.arrivers,
            outputs=outputs_of(house.registry),
            run_queued=run_queued,
        )
    was = f" (was {made.exported_as})" if made.exported_as != made.workspace else ""
    text = (
        f"{made.workspace}{was}: up to seq {made.seq}, "
        f"{many(sum(made.rows.values()), 'row')}, "
        f"{many(made.artifacts, 'artifact')}, {many(made.outputs, 'output')} of processes"
    )
    # The flag chose the workspace only for this command; the next one needs it again.
    usual = name is None and made.workspace == cli.settings.workspace
    other = "" if usual else f" --workspace {made.workspace}"
    gone = [f"not in the file, because it was damaged: {one}" for one in made.damaged]
    gone += [f"without the output of {one}" for one in made.without_output]
    bind = f"its work is done nowhere until you type: {spoken()} workspace bind {made.workspace}"
    lines = [text, *gone, *held_lines(made.held, other), bind, f"next: {spoken()} status{other}"]
    return Shown(told(made), lines)


command = Command(
    "import",
    "Import an exported workspace, under its own name or another",
    args=[Arg("file", "a file written by `longhouse export`; - for stdin")],
    flags=[RUN_QUEUED],
    run=run,
    details="""\
Nothing in the file runs or acts: rules arrive withdrawn, queued jobs and processes are held
until a manager releases them (`longhouse release`), and no claim, identity or runner of it
counts here. Its work is done in no repository until you say so (`longhouse workspace bind`).
It imports everything or nothing: a truncated or modified file is refused, and so is
a workspace that already exists. --workspace gives it another name. Older exports are upgraded.""",
    examples=["longhouse import acme.tar", "longhouse import acme.tar --workspace acme-copy"],
)
