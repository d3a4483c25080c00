"""`longhouse restore`: restore a backup to a place without a store."""

from __future__ import annotations

from pathlib import Path

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import clock_time, many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import now


def run(cli: Cli, folder: str) -> Shown:
    from longhouse.house import registry
    from longhouse.store.upkeep import restore

    settings = cli.settings
    if not settings.is_sqlite or settings.artifacts is None:
        raise InvalidInput(
            "a backup can only be restored to SQLite",
            recovery="leave --db and LONGHOUSE_DB unset, or use pg_restore",
        )
    target = Path(settings.db)
    made = restore(Path(folder), target, settings.artifacts, registry(), now(cli))
    found = many(made.workspaces, "workspace")
    text = f"{target}: {found} as of {clock_time(made.taken_at_ms)}, verified"
    return Shown(msgspec.to_builtins(made), [text])


command = Command(
    "restore",
    "Restore a backup where there is no store yet, and verify it",
    args=[Arg("folder", "a folder made by `longhouse backup`")],
    run=run,
    details="Restores to --dir, or to where this repository's store belongs.",
    examples=["longhouse restore ~/backups/2026-11-15 --dir /srv/longhouse"],
)
