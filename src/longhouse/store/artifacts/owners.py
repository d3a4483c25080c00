"""Checks an artifact's owner: the caller itself, or a label that is not an identity or a job."""

from __future__ import annotations

from longhouse.store.tx import Tx

__all__ = ["refuse_another_owner"]


def refuse_another_owner(tx: Tx, owner: str | None) -> None:
    """Refuse a caller that stores for someone else's identity or job, unless it is a manager.

    The rooms with identities and jobs decide (`room.vouches`); any other text is only a label.
    """
    if owner is None or tx.by.leads:
        return
    for vouch in tx.facts.registry.vouchers:
        vouch(tx, owner)
