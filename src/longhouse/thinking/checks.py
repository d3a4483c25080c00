"""For `verify`: what is kept beside cards and anchors points at what is there."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.store.tx import Tx
from longhouse.thinking.anchor_views import all_anchors
from longhouse.thinking.room import room, sql

__all__ = ["anchor_faults"]


@room.check("no name is both an anchor and an alias, and every alias has its anchor")
def anchor_faults(tx: Tx) -> Iterator[str]:
    """One sentence for each name that stands for two things or for none."""
    anchors = {anchor.id for anchor in all_anchors(tx)}
    for row in tx.all(sql.aliases_all):
        if row["alias"] in anchors:
            yield f"{row['alias']} is an anchor and an alias of {row['anchor_id']}"
        if row["anchor_id"] not in anchors:
            yield f"{row['alias']} is an alias of {row['anchor_id']}, which is not there"
