"""`longhouse backup`: the whole store as a folder, while it is in use."""

from __future__ import annotations

from pathlib import Path

import msgspec

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, now, opened, size_of


def run(cli: Cli, folder: str) -> Shown:
    from longhouse.store.upkeep import back_up

    with opened(cli) as house:
        made = back_up(house.db, artifacts_of(house), house.registry, Path(folder), now(cli))
    text = (
        f"{folder}: {many(made.workspaces, 'workspace')}, {size_of(made.bytes)}, "
        f"{many(made.artifacts, 'artifact')}, checked"
    )
    return Shown(msgspec.to_builtins(made), [text])


command = Command(
    "backup",
    "Copy the store with its artifacts into a new folder, and check the copy",
    args=[Arg("folder", "where to; it must not exist or be empty")],
    run=run,
    details="""\
The store may be in use: the copy is that of one moment. A store on PostgreSQL is backed up with
pg_dump and a copy of its artifacts folder, or workspace by workspace with `longhouse export`.""",
    examples=["longhouse backup ~/backups/$(date +%F)"],
)
