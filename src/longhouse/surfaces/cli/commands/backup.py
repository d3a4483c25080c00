"""`longhouse backup`: copy the whole store to a folder while it is in use."""

from __future__ import annotations

from pathlib import Path

import msgspec

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import (
    MAX_OUTPUT,
    artifacts_of,
    mebibytes,
    now,
    opened,
    own_key,
    size_of,
)


def run(cli: Cli, folder: str, max_output: int | None = None) -> Shown:
    from longhouse.store.upkeep import back_up

    with opened(cli, any_project=True) as house:
        made = back_up(
            house.db,
            artifacts_of(house),
            house.registry,
            Path(folder),
            now(cli, house),
            key=own_key(),
            max_output=mebibytes(max_output),
        )
    text = (
        f"{folder}: {many(made.workspaces, 'workspace')}, {size_of(made.bytes)}, "
        f"{many(made.artifacts, 'artifact')}, {many(made.outputs, 'output')} of processes, "
        + ("verified" if not made.problems else f"with {many(made.total, 'problem')}")
    )
    lines = [text, *(f"damaged  {one.where}: {one.message}" for one in made.problems)]
    lines += [f"without the output of {one}" for one in made.without_output]
    return Shown(msgspec.to_builtins(made), lines, ok=not made.problems)


command = Command(
    "backup",
    "Copy the store and its artifacts to a new folder, and verify the copy",
    args=[Arg("folder", "the target folder, which must be new or empty")],
    flags=[MAX_OUTPUT],
    run=run,
    details="""\
It holds everything that was said, decided, proved or printed. If something in the store is
damaged, the backup is made all the same: it lists the damage, and the exit code is 1. The store
may be in use: the copy is a consistent snapshot. Back up a store on PostgreSQL with pg_dump and
a copy of its artifacts folder, or workspace by workspace with `longhouse export`.""",
    examples=["longhouse backup ~/backups/$(date +%F)"],
)
