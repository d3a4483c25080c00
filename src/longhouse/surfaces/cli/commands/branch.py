"""`longhouse branch`: list, create, check out, rename and delete branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(
    cli: Cli,
    name: str | None = None,
    base: str | None = None,
    checkout: bool = False,
    rename: str | None = None,
    delete: bool = False,
    force: bool = False,
) -> Shown:
    if name is None:
        if base or checkout or rename or delete or force:
            raise InvalidInput("NAME is missing", recovery="longhouse branch NAME …")
        listed = cli.call("vcs.branch.list")
        return Shown(listed, _list(cli, listed["branches"]))
    if delete:
        gone = cli.call("vcs.branch.delete", name=name, force=force)
        kept = gone.get("kept_as")
        restore = [f"to restore it: longhouse branch {kept} --rename {name}"] if kept else []
        return Shown(gone, [f"{name} is deleted", *restore])
    if rename:
        moved = cli.call("vcs.branch.rename", old=name, new=rename)
        return Shown(moved, [f"{name} is now {rename}"])
    if checkout and base is None and _exists(cli, name):
        moved = cli.call("vcs.checkout", ref=name)
        return Shown(moved, [f"on {name}"])
    made = cli.call("vcs.branch.create", name=name, **{"from": base})
    branch = made["branch"]
    lines = [f"{name} from {branch['base_branch']}@{branch['base_seq']}"]
    if checkout:
        cli.call("vcs.checkout", ref=name)
        lines.append(f"on {name}")
    return Shown(made, lines)


def _exists(cli: Cli, name: str) -> bool:
    return cli.ask("docs.list", {"ref": name}).error is None


def _list(cli: Cli, branches: list[dict[str, Any]]) -> Iterator[str]:
    rows = [
        {
            "": "*" if row.get("checkout") else " ",
            "branch": row["name"],
            "base": f"{row['base_branch']}@{row['base_seq']}" if row["base_branch"] else "-",
        }
        for row in branches
    ]
    yield from table(rows, ("", "branch", "base")) if rows else ["no branches yet"]


command = Command(
    "branch",
    "List branches, or create, check out, rename or delete one",
    args=[Arg("name", "the branch (default: list all)", False)],
    flags=[
        Flag("base", "create it from this branch (default: checkout)", "BRANCH"),
        Flag("checkout", "check it out, creating it if necessary", short="c"),
        Flag("rename", "rename it to this", "NEW"),
        Flag("delete", "delete it, unless other branches are based on it"),
        Flag("force", "with --delete: even if its base lacks some of its content"),
    ],
    run=run,
    calls="vcs.branch.list",
    also={
        "vcs.branch.create": "NAME",
        "vcs.branch.delete": "NAME --delete",
        "vcs.branch.rename": "OLD --rename NEW",
        "vcs.checkout": "REF --checkout",
    },
    examples=[
        "longhouse branch",
        "longhouse branch idea/cache --checkout",
        "longhouse branch idea/cache --rename idea/cache-first",
    ],
)
