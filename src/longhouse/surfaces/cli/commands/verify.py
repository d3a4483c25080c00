"""`longhouse verify`: check the store's integrity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Command, Flag, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, now, opened

if TYPE_CHECKING:
    from longhouse.store.upkeep import Repair, Verified


def run(cli: Cli, full: bool = False, repair: bool = False, **more: str) -> Shown:
    from longhouse.store.upkeep import repair as repaired
    from longhouse.store.upkeep import verify

    source = more.get("from")
    if source and not repair:
        raise InvalidInput("--from: only with --repair", recovery="add --repair")
    with opened(cli, any_project=True) as house:
        call = now(cli, house)
        made: list[Repair] = []
        if repair:
            folder = Path(source) if source else None
            made = repaired(house.db, artifacts_of(house), house.registry, call, folder)
            full = True
        found = verify(
            house.db,
            artifacts_of(house),
            house.registry,
            call,
            full=full,
            workspace=cli.flags.get("workspace"),
        )
    data = msgspec.to_builtins(found)
    if repair:
        data["repairs"] = [{"done": one.done, "message": one.message} for one in made]
    return Shown(data, [*_repairs(made), *_lines(cli, found)], ok=found.ok)


def _repairs(made: Sequence[Repair]) -> Iterator[str]:
    for one in made:
        yield f"{'repaired' if one.done else 'cannot repair'}  {one.message}"


def _lines(cli: Cli, found: Verified) -> Iterator[str]:
    for problem in found.problems:
        yield f"{cli.out.style('error', 'red')}  {problem.where}: {problem.message}"
        if problem.recovery:
            yield f"       fix: {problem.recovery}"
    yield (
        f"{many(found.checks, 'check')} over {many(len(found.workspaces), 'workspace')}, "
        f"{many(found.artifacts, 'artifact')} ({found.hashed} read): "
        + (many(found.total, "problem") if found.total else "no problems")
    )


command = Command(
    "verify",
    "Check the store's integrity",
    flags=[
        Flag("full", "read every artifact in full (default: about one in sixteen)"),
        Flag("repair", "first repair what can be repaired, and say what cannot"),
        Flag("from", "with --repair: a backup that has the bytes of damaged artifacts", "BACKUP"),
    ],
    run=run,
    details="""\
Checks the database itself, the sequence numbers and the log of every workspace, everything
derived from the log, and the artifacts. It only reads, unless you ask for repairs, and the store
may be in use. With --workspace, only that workspace is checked. --repair takes the bytes of
damaged artifacts from a backup, counts used bytes again and rebuilds search indexes; rows that
contradict the log need a restore. The exit code is 1 if there are problems.""",
    examples=["longhouse verify --full", "longhouse verify --repair --from ~/backups/2026-11-15"],
)
