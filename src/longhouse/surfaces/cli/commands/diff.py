"""`longhouse diff A B`: the notes and graph changes in B that are not in A."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.commands.log import commit_lines
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import flat
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(cli: Cli, a: str, b: str, limit: int | None = None) -> Shown:
    asked = {"from": a, "to": b, "limit": limit}
    found = {"notes": cli.call("docs.diff", **asked), "graph": cli.call("graph.diff", **asked)}
    return Shown(found, _lines(cli, found["notes"], found["graph"]))


def _lines(cli: Cli, notes: dict[str, Any], graph: dict[str, Any]) -> Iterator[str]:
    for entry in reversed(notes["entries"]):
        yield from commit_lines(cli, entry, entry.get("title"), entry["content"])
    for change in graph["changes"]:
        state = change["to"]
        name = change.get("id") or " ".join(change["key"][p] for p in ("from", "rel", "to"))
        mark, colour = ("-", "red") if state["deleted"] else ("~", "green")
        said = " ".join(str(state[f]) for f in ("type", "status", "title") if state.get(f))
        yield cli.out.style(f"{mark} {name}", colour) + (f"  {flat(said)}" if said else "")
    if not notes["entries"] and not graph["changes"]:
        yield f"{notes['to']} has nothing that {notes['from']} does not have"
    for page in (notes, graph):
        if page["pagination"]["has_more"]:
            yield cli.out.style("more: raise --limit", "dim")


command = Command(
    "diff",
    "Show what branch B has that branch A does not",
    args=[Arg("a", "the branch to compare with"), Arg("b", "the branch to show")],
    flags=[Flag("limit", "how many notes and changes to show (default: 20)", "N", kind=int)],
    run=run,
    also={"docs.diff": "FROM TO", "graph.diff": "FROM TO"},
    examples=["longhouse diff main idea/cache"],
)
