"""`longhouse export`: write one workspace to one file."""

from __future__ import annotations

import sys

import msgspec

from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown
from longhouse.surfaces.cli.upkeep import (
    MAX_OUTPUT,
    artifacts_of,
    mebibytes,
    new_file,
    now,
    opened,
    size_of,
)


def run(
    cli: Cli, file: str, max_output: int | None = None, without_damaged: bool = False
) -> Shown | int:
    from longhouse.store.upkeep import export_workspace, outputs_of

    with opened(cli, any_project=True) as house, new_file(file) as target:
        made = export_workspace(
            house.db,
            artifacts_of(house),
            cli.settings.workspace,
            target,
            now(cli, house),
            outputs=outputs_of(house.registry),
            max_output=mebibytes(max_output),
            without_damaged=without_damaged,
        )
    text = (
        f"{file}: {made.workspace} up to seq {made.seq}, "
        f"{many(sum(made.rows.values()), 'row')}, "
        f"{many(made.artifacts, 'artifact')}, {many(made.outputs, 'output')} of processes, "
        f"{size_of(made.bytes)}"
    )
    lines = [text, *(f"damaged and left out: artifact:{one[:12]}" for one in made.damaged)]
    lines += [f"without the output of {one}" for one in made.without_output]
    if file == "-":
        sys.stderr.writelines(f"{tame(line)}\n" for line in lines)
        return int(bool(made.damaged))
    return Shown(msgspec.to_builtins(made), lines, ok=not made.damaged)


command = Command(
    "export",
    "Write a whole workspace, with its artifacts, to one file",
    args=[Arg("file", "the file to write; - for stdout")],
    flags=[
        MAX_OUTPUT,
        Flag("without-damaged", "leave out damaged artifacts; the exit code is then 1"),
    ],
    run=run,
    details="""\
It holds what processes printed, too. A damaged artifact ends the export, unless it is left out.
The file is a tar archive that `longhouse import` reads into any store, on either database. The
same state always gives the same bytes. Tokens are not included.""",
    examples=["longhouse export acme.tar", "longhouse export - | zstd > acme.tar.zst"],
)
