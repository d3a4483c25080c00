"""`longhouse backup`: copy the whole store to a folder while it is in use."""

from __future__ import annotations

from pathlib import Path

import msgspec

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, now, opened, size_of


def run(cli: Cli, folder: str) -> Shown:
    from longhouse.store.upkeep import back_up

    with opened(cli, any_project=True) as house:
        made = back_up(house.db, artifacts_of(house), house.registry, Path(folder), now(cli))
    text = (
        f"{folder}: {many(made.workspaces, 'workspace')}, {size_of(made.bytes)}, "
        f"{many(made.artifacts, 'artifact')}, verified"
    )
    return Shown(msgspec.to_builtins(made), [text])


command = Command(
    "backup",
    "Copy the store and its artifacts to a new folder, and verify the copy",
    args=[Arg("folder", "the target folder, which must be new or empty")],
    run=run,
    details="""\
The store may be in use: the copy is a consistent snapshot. Back up a store on PostgreSQL with
pg_dump and a copy of its artifacts folder, or workspace by workspace with `longhouse export`.""",
    examples=["longhouse backup ~/backups/$(date +%F)"],
)
