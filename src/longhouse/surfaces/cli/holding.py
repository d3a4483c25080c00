"""Holds what came with a foreign store until the person who adopted it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.config import Settings
from longhouse.surfaces.client_tokens import known_tokens

__all__ = ["hold_what_came"]


def hold_what_came(settings: Settings) -> Iterator[str]:
    """Withdraw its rules, hold its queued work, and revoke the tokens that are not this user's."""
    from longhouse.house import House

    with House(settings) as house:
        tokens = house.call("system.token.list").envelope["result"]["tokens"]
        kept = known_tokens(settings)
        foreign = [row for row in tokens if not row.get("revoked_at_ms") and row["id"] not in kept]
        for row in foreign:
            house.call("system.token.revoke", {"id": row["id"]})
        if foreign:
            yield f"revoked {len(foreign)} tokens that none of your clients uses"
