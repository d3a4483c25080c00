"""The records that the memory room's examples need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kit import Lh


def _branch(name: str) -> Callable[[Lh], Any]:
    return lambda lh: lh("vcs.branch.create", name=name)


def _first_note(lh: Lh) -> str:
    entries = lh("docs.show", branch="main", doc="notes", limit=50)["entries"]
    return f"notes@{entries[0]['seq']}"


def _tag(lh: Lh) -> None:
    lh("vcs.tag.create", name="v1", **{"from": _first_note(lh)})


def clash(lh: Lh) -> None:
    """The same node changed on a branch and on its base."""

    def write(title: str, branch: str) -> None:
        node = {"op": "node_upsert", "id": "H-1", "type": "hypothesis", "title": title}
        lh("graph.apply", branch=branch, doc="graph", ops=[node])

    write("as it was", "main")
    lh("vcs.branch.create", name="idea/other", **{"from": "main"})
    write("as the branch has it", "idea/other")
    write("as main has it", "main")
    lh("graph.merge", **{"from": "idea/other", "into": "main"})


def conflict_id(lh: Lh) -> str:
    conflicts = lh("graph.conflicts", into="main")["conflicts"]
    return str(conflicts[0]["conflict_id"]) if conflicts else "CONFLICT-" + "0" * 32


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "graph.conflict.resolve": clash,
    "graph.conflict.show": clash,
    "graph.merge": _branch("idea/cache-first"),
    "vcs.branch.delete": _branch("idea/a"),
    "vcs.branch.rename": _branch("idea/a"),
    "vcs.tag.delete": _tag,
}
STAND_INS: dict[str, Callable[[Lh], str]] = {
    "CONFLICT-" + "0" * 32: conflict_id,
    "notes@1": _first_note,
}
