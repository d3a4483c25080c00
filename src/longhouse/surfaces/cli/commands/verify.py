"""`longhouse verify`: check the store's integrity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Command, Flag, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, now, opened

if TYPE_CHECKING:
    from longhouse.store.upkeep import Verified


def run(cli: Cli, full: bool = False) -> Shown:
    from longhouse.store.upkeep import verify

    with opened(cli, any_project=True) as house:
        found = verify(
            house.db,
            artifacts_of(house),
            house.registry,
            now(cli, house),
            full=full,
            workspace=cli.flags.get("workspace"),
        )
    return Shown(msgspec.to_builtins(found), _lines(cli, found), ok=found.ok)


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
    flags=[Flag("full", "read every artifact in full (default: about one in sixteen)")],
    run=run,
    details="""\
Checks the database itself, the sequence numbers and the log of every workspace, everything derived
from the log, and the artifacts. It only reads, and the store may be in use. With --workspace, only
that workspace is checked. The exit code is 1 if there are problems.""",
    examples=["longhouse verify --full"],
)
