"""What the room's modules declare on, its SQL, and how a query takes a list of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["ENDED", "ENDLESS", "binds", "room", "sql"]

ENDLESS = 2**62
"""Past every seq: where a page that goes backwards starts."""

ENDED = {"released": "reservations_released", "expired": "reservations_expired"}
"""Counters of ended reservations, so that no query has to count them."""

PLACES = 16

room = Room(
    "crew",
    modules=(
        "agents",
        "identity",
        "job_identities",
        "adoption",
        "reservations",
        "holdings",
        "outside",
        "protocol",
        "mail",
        "sessions",
        "conversation",
        "tracked",
        "opening",
        "advice",
        "upkeep",
        "waking",
    ),
)
sql = Queries("longhouse.crew")


def binds(values: Iterable[str]) -> Iterator[dict[str, str]]:
    """The values in portions for a query with the places `:v0` to `:v15`, each filled."""
    found = list(dict.fromkeys(values))
    for start in range(0, len(found), PLACES):
        part = found[start : start + PLACES]
        yield {f"v{n}": part[n] if n < len(part) else part[0] for n in range(PLACES)}
