"""`longhouse restore`: restore a backup to a place without a store."""

from __future__ import annotations

from pathlib import Path

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import clock_time, many
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown
from longhouse.surfaces.cli.upkeep import RUN_QUEUED, held_lines, now, own_key, told


def run(cli: Cli, folder: str, run_queued: bool = False, damaged: bool = False) -> Shown:
    from longhouse.facts import HouseFacts
    from longhouse.house import registry
    from longhouse.store.migrate import newest
    from longhouse.store.upkeep import restore

    settings = cli.settings
    if not settings.is_sqlite or settings.artifacts is None:
        raise InvalidInput(
            "a backup can only be restored to SQLite",
            recovery="leave --db and LONGHOUSE_DB unset, or use pg_restore",
        )
    target = Path(settings.db)
    known, call = registry(), now(cli)
    call.facts = HouseFacts(settings, known, engine="sqlite", schema_version=newest(), services={})
    settings.make_dir()  # every store begins there, also one that comes from a backup
    made = restore(
        Path(folder),
        target,
        settings.artifacts,
        known,
        call,
        key=own_key(),
        run_queued=run_queued,
        damaged=damaged,
    )
    found, taken = many(made.backup.workspaces, "workspace"), clock_time(made.backup.taken_at_ms)
    state = "verified" if not made.problems else f"with {many(made.total, 'problem')}"
    lines = [f"{target}: {found} as of {taken}, {state}"]
    if made.foreign:
        lines.append("this machine did not make that backup, so nothing in it may act here")
    lines += [f"damaged  {one.where}: {one.message}" for one in made.problems]
    lines += held_lines(made.held)
    return Shown(told(made), lines, ok=not made.problems)


command = Command(
    "restore",
    "Restore a backup where there is no store yet, and verify it",
    args=[Arg("folder", "a folder made by `longhouse backup`")],
    flags=[
        RUN_QUEUED,
        Flag("damaged", "restore also a backup that was harmed after it was made"),
    ],
    run=run,
    details="""\
Restores to --dir, or to where this repository's store belongs. Queued jobs and processes are
held until a manager releases them (`longhouse release`), since they may have run after the
backup was made. From a backup that another machine made, tokens are revoked, rules withdrawn and
identities void. The exit code is 1 if something in the restored store is damaged.""",
    examples=["longhouse restore ~/backups/2026-11-15 --dir /srv/longhouse"],
)
