"""Holds what came with an adopted store until the person who adopted it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from longhouse.config import Settings
from longhouse.kernel.contributions import HeldBack
from longhouse.surfaces.client_tokens import known_tokens

if TYPE_CHECKING:
    from longhouse.house import House

__all__ = ["disarm_folder", "hold_what_came"]

_SET_ASIDE = ("cache", "sessions", "worktrees")
"""Folders that a runner would act on: git directories with settings, sessions to resume."""


def disarm_folder(store: Path) -> Iterator[str]:
    """Take from an adopted folder what would act by itself: tokens, addresses, git directories."""
    from longhouse.runner.host.identity import forget_host_id

    for name in ("token", "server.json"):  # whoever made the folder knows them
        (store / name).unlink(missing_ok=True)
    for host in sorted((store / "tasks").glob("*")):
        forget_host_id(host)
    found = [name for name in _SET_ASIDE if (store / name).exists()]
    for name in found:
        (store / name).rename(store / f"{name}.set-aside")
    if found:
        yield f"set aside in {store}: {', '.join(found)}; nothing uses them, delete them at will"


def hold_what_came(settings: Settings) -> Iterator[str]:
    """Withdraw its rules and hold its queued work; says what was held, and what else it has.

    If no client of this user has a live token in it, it is a stranger's: then no token, identity,
    claim or reservation of it counts either.
    """
    from longhouse.house import House
    from longhouse.kernel.clock import RandomIds, SystemClock
    from longhouse.kernel.contributions import Arrival
    from longhouse.store.tx import Call
    from longhouse.store.upkeep.arriving import arrived
    from longhouse.surfaces.cli.upkeep import held_lines

    with House(settings) as house:
        foreign = not _is_known(house, settings)
        arrival = Arrival("adopted", foreign=foreign, hold=True)
        call = Call(now_ms=SystemClock().now_ms(), ids=RandomIds(), facts=house.facts)
        names, arrivers, held = house.db.workspaces(), house.registry.arrivers, []
        for name in names:
            found = house.db.write(name, lambda tx: arrived(tx, arrivers, arrival), call)
            held += [one._replace(id=f"{name} {one.id}") for one in found]
        if foreign:
            held += list(_revoked(house))
        listed = house.call("workspace.list").envelope["result"]["workspaces"]
    sizes = [f"{row['workspace']} ({row['seq']} events)" for row in listed]
    yield f"it holds the workspaces {', '.join(sizes)}" if sizes else "it holds no workspace"
    yield from held_lines(held)


def _revoked(house: House) -> Iterator[HeldBack]:
    """Revoke every token of the store; says which."""
    for row in house.call("system.token.list").envelope["result"]["tokens"]:
        if not row.get("revoked_at_ms"):
            house.call("system.token.revoke", {"id": row["id"]})
            yield HeldBack("token", row["id"], row.get("name") or "")


def _is_known(house: House, settings: Settings) -> bool:
    """Whether a client of this user has a token that is live in the store."""
    tokens = house.call("system.token.list").envelope["result"]["tokens"]
    live = {row["id"] for row in tokens if not row.get("revoked_at_ms")}
    return not live.isdisjoint(known_tokens(settings))
