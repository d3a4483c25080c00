"""Holds what came with an adopted store until the person who adopted it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from longhouse.config import Settings
from longhouse.surfaces.client_tokens import known_tokens

if TYPE_CHECKING:
    from longhouse.house import House
    from longhouse.store.tx import Call, Tx

__all__ = ["disarm_folder", "hold_what_came"]

_SET_ASIDE = ("cache", "sessions", "worktrees")
"""Folders that a runner would act on: git directories with settings, sessions to resume."""


def disarm_folder(store: Path) -> Iterator[str]:
    """Take from an adopted folder what would act by itself: tokens, addresses, git directories."""
    from longhouse.runner import forget_host_id

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
    from longhouse.kernel.contributions import Arrival
    from longhouse.store.upkeep.arriving import arrived, disowned
    from longhouse.surfaces.cli.upkeep import held_lines

    with House(settings) as house:
        foreign = not _is_known(house, settings)
        arrival = Arrival("adopted", foreign=foreign, hold=True)
        call = _call(house)
        names, arrivers, held = house.db.workspaces(), house.registry.arrivers, []
        for name in names:
            found = house.db.write(name, lambda tx: arrived(tx, arrivers, arrival), call)
            held += [one._replace(id=f"{name} {one.id}") for one in found]
        if foreign:
            own = names[0] if names else house.facts.default_workspace or "default"
            held += house.db.write(own, disowned, call)
        listed = house.call("workspace.list").envelope["result"]["workspaces"]
    sizes = [f"{row['workspace']} ({row['seq']} events)" for row in listed]
    yield f"it holds the workspaces {', '.join(sizes)}" if sizes else "it holds no workspace"
    yield from held_lines(held)


def _is_known(house: House, settings: Settings) -> bool:
    """Whether a client of this user has a token that is live in the store.

    The token itself must be: its id is no secret.
    """
    from longhouse.desk import digest_of
    from longhouse.store.tx import sql

    digests = [digest_of(kept.token) for kept in known_tokens(settings)]

    def look(tx: Tx) -> bool:
        return any(tx.one(sql.token_by_digest, digest=one, now=tx.now_ms) for one in digests)

    return house.db.read("", look, _call(house))


def _call(house: House) -> Call:
    from longhouse.kernel.clock import RandomIds, SystemClock
    from longhouse.store.tx import Call

    return Call(now_ms=SystemClock().now_ms(), ids=RandomIds(), facts=house.facts)
