"""In whose name something is stored: one's own, or a label that stands for nobody."""

from __future__ import annotations

from longhouse.store.tx import Tx

__all__ = ["refuse_another_owner"]


def refuse_another_owner(tx: Tx, owner: str | None) -> None:
    """Refuse a caller that stores for another's identity or job, unless it leads.

    The rooms that know identities and jobs decide (`room.vouches`); any other text is a label.
    """
    if owner is None or tx.by.leads:
        return
    for vouch in tx.facts.registry.vouchers:
        vouch(tx, owner)
