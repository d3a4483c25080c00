"""One meaning a word: no two public classes of the package share a name, but for a few."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/longhouse"
SHARED = {
    "Clock": "subagents is a library of its own; its clock gives a datetime",
    "Command": "the registry's, and the one that a person types",
    "Gap": "what a cap took out of a log: as it is stored, reported and recorded",
    "Message": "subagents is a library of its own",
    "Signal": "terminals name each line of a recording by its tag",
    "Snapshot": "subagents is a library of its own",
    "SystemClock": "subagents is a library of its own; its clock gives a datetime",
}
"""Names that two modules may give to a class, and why."""


def test_a_class_name_has_one_meaning_in_the_package() -> None:
    homes = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    shared = {name: found for name, found in homes.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if name not in SHARED} == {}
    assert SHARED.keys() <= shared.keys(), "a name has one meaning again: take it off the list"
