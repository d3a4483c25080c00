"""`longhouse export`: write one workspace to one file."""

from __future__ import annotations

import sys

import msgspec

from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Shown
from longhouse.surfaces.cli.upkeep import artifacts_of, new_file, now, opened, size_of


def run(cli: Cli, file: str) -> Shown | int:
    from longhouse.store.upkeep import export_workspace

    with opened(cli) as house, new_file(file) as target:
        made = export_workspace(
            house.db, artifacts_of(house), cli.settings.workspace, target, now(cli)
        )
    text = (
        f"{file}: {made.workspace} up to seq {made.seq}, "
        f"{many(sum(made.rows.values()), 'row')}, "
        f"{many(made.artifacts, 'artifact')}, {size_of(made.bytes)}"
    )
    if file == "-":
        sys.stderr.write(f"{tame(text)}\n")
        return 0
    return Shown(msgspec.to_builtins(made), [text])


command = Command(
    "export",
    "Write a whole workspace, with its artifacts, to one file",
    args=[Arg("file", "the file to write; - for stdout")],
    run=run,
    details="""\
The file is a tar archive that `longhouse import` reads into any store, on either database. The same
state always gives the same bytes. Tokens are not included.""",
    examples=["longhouse export acme.tar", "longhouse export - | zstd > acme.tar.zst"],
)
