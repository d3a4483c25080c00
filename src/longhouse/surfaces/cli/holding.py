"""Holds what came with an adopted store until the person who adopted it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from longhouse.config import Settings
from longhouse.surfaces.client_tokens import known_tokens

if TYPE_CHECKING:
    from longhouse.house import House

__all__ = ["hold_what_came"]


def hold_what_came(settings: Settings) -> Iterator[str]:
    """Withdraw its rules and hold its queued work; says what was held, and what else it has.

    If no client of this user has a live token in it, it is a stranger's: then no token, identity,
    claim or reservation of it counts either.
    """
    from longhouse.house import House
    from longhouse.kernel.clock import RandomIds, SystemClock
    from longhouse.kernel.contributions import Arrival
    from longhouse.store.tx import Call
    from longhouse.store.upkeep.arriving import arrived, disowned
    from longhouse.surfaces.cli.upkeep import held_lines

    with House(settings) as house:
        foreign = not _is_known(house, settings)
        arrival = Arrival("adopted", foreign=foreign, hold=True)
        call = Call(now_ms=SystemClock().now_ms(), ids=RandomIds(), facts=house.facts)
        names, arrivers, held = house.db.workspaces(), house.registry.arrivers, []
        for name in names:
            found = house.db.write(name, lambda tx: arrived(tx, arrivers, arrival), call)
            held += [one._replace(id=f"{name} {one.id}") for one in found]
        if foreign and names:
            held += house.db.write(names[0], disowned, call)
        listed = house.call("workspace.list").envelope["result"]["workspaces"]
    sizes = [f"{row['workspace']} ({row['seq']} events)" for row in listed]
    yield f"it holds the workspaces {', '.join(sizes)}" if sizes else "it holds no workspace"
    yield from held_lines(held)


def _is_known(house: House, settings: Settings) -> bool:
    """Whether a client of this user has a token that is live in the store."""
    tokens = house.call("system.token.list").envelope["result"]["tokens"]
    live = {row["id"] for row in tokens if not row.get("revoked_at_ms")}
    return not live.isdisjoint(known_tokens(settings))
