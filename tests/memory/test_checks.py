"""What `verify` reports about memory: nothing if all is well, else where it is not."""

from __future__ import annotations

from longhouse.memory.checks import (
    branches_are_older_than_what_is_on_them,
    each_key_has_one_newest_version,
    versions_follow_each_other,
)
from longhouse.store.queries import Query
from tests.kit import Lh
from tests.memory.kit import apply, branch, node, note, write

CHECKS = (
    branches_are_older_than_what_is_on_them,
    each_key_has_one_newest_version,
    versions_follow_each_other,
)


def complaints(lh: Lh) -> list[str]:
    return write(lh, lambda tx: [line for check in CHECKS for line in check(tx)])


def break_it(lh: Lh, statement: str) -> None:
    write(lh, lambda tx: tx.run(Query("break", statement, statement)))


def test_damage_is_found_and_nothing_else(lh: Lh) -> None:
    note(lh, "n")
    apply(lh, node("A"), node("A"), node("B"))
    branch(lh, "idea/a", "main")
    apply(lh, node("A"), branch="idea/a")
    seq = note(lh, "m", "idea/a")
    assert complaints(lh) == []
    break_it(lh, "UPDATE graph_versions SET live = NULL WHERE key = 'B'")
    assert complaints(lh) == ["graph: B has 0 newest versions"]
    break_it(lh, "UPDATE graph_versions SET live = 1 WHERE key = 'B'")
    break_it(lh, "UPDATE branches SET base_seq = 1000 WHERE name = 'idea/a'")
    assert len(complaints(lh)) == 2
    assert any(f"notes@{seq}" in line for line in complaints(lh))
