"""Invariants of memory's tables, checked by `verify`."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.memory.branches import ENDLESS
from longhouse.memory.room import room, sql
from longhouse.store.tx import Tx

__all__ = [
    "branches_are_older_than_what_is_on_them",
    "each_key_has_one_newest_version",
    "versions_follow_each_other",
]

_MOST = 20


@room.check("a branch holds nothing older than its start")
def branches_are_older_than_what_is_on_them(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_older_than_branch, limit=_MOST):
        yield f"{row['doc']}@{row['seq']} is on {row['name']}, which starts after {row['base_seq']}"


@room.check("a node or edge has exactly one newest version on a branch")
def each_key_has_one_newest_version(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_newest_versions, endless=ENDLESS, limit=_MOST):
        yield f"{row['doc']}: {row['key']} has {row['newest']} newest versions"


@room.check("every version ends where the key's next version begins")
def versions_follow_each_other(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_version_ends, endless=ENDLESS, limit=_MOST):
        yield f"{row['key']}@{row['seq']} ends at {row['until']}; the next is {row['next_seq']}"
