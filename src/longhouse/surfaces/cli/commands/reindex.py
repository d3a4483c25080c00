"""`longhouse reindex`: build the search index again."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import many
from longhouse.surfaces.cli.spec import Command, Shown
from longhouse.surfaces.cli.upkeep import now, opened


def run(cli: Cli) -> Shown:
    from longhouse.store.recall.rebuilding import progress, start, step

    done = []
    with opened(cli, any_project=True) as house:
        chosen = cli.flags.get("workspace")
        for name in [chosen] if chosen else house.db.workspaces():
            call = now(cli, house)
            house.db.write(name, start, call)
            while not house.db.write(name, step, call):
                at = house.db.read(name, progress, call)
                if at is not None:
                    cli.out.progress(f"{name}: {100 * at[0] // max(1, at[1])} %")
            done.append(name)
    return Shown({"workspaces": done}, [f"the index of {many(len(done), 'workspace')} is built"])


command = Command(
    "reindex",
    "Build the search index again from what is stored",
    run=run,
    details="""\
The server may go on running; what is written meanwhile is found too. If it is killed, the server
goes on where it was. After an upgrade the server does this by itself.""",
)
