"""Checks an artifact's owner: the caller itself, or a label that is not an identity or a job."""

from __future__ import annotations

from longhouse.kernel.labels import refuse_rank, spellings
from longhouse.store.tx import Tx

__all__ = ["refuse_another_owner"]


def refuse_another_owner(tx: Tx, owner: str | None) -> None:
    """Refuse a caller that stores for someone else's identity or job, unless it is a manager.

    The rooms with identities and jobs decide (`room.vouches`), also about other spellings of a
    name; any other text is only a label, but not a rank.
    """
    if owner is None or tx.by.leads:
        return
    refuse_rank("owner", owner)
    for name in (owner, *spellings(owner)):
        for vouch in tx.facts.registry.vouchers:
            vouch(tx, name)
