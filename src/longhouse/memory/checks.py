"""What must always hold of memory's tables, for `verify`."""

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


@room.check("a branch holds nothing older than where it began")
def branches_are_older_than_what_is_on_them(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_older_than_branch, limit=_MOST):
        yield f"{row['doc']}@{row['seq']} is on {row['name']}, which began after {row['base_seq']}"


@room.check("a node or edge has one newest version on a branch")
def each_key_has_one_newest_version(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_newest_versions, endless=ENDLESS, limit=_MOST):
        yield f"{row['doc']}: {row['key']} has {row['newest']} newest versions"


@room.check("every version ends where the next one of its key begins")
def versions_follow_each_other(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.check_version_ends, endless=ENDLESS, limit=_MOST):
        yield f"{row['key']} at {row['seq']} ends at {row['until']}, the next is {row['next_seq']}"
