"""The `Room` that this package's modules register on, its SQL, and binding of value lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["ENDED", "ENDLESS", "binds", "room", "sql"]

ENDLESS = 2**62
"""Larger than any seq: the cursor of the first page, newest first."""

ENDED = {"released": "reservations_released", "expired": "reservations_expired"}
"""Counters of ended reservations by state, so no query has to count rows."""

PLACES = 16

room = Room(
    "crew",
    modules=(
        "agents",
        "identity",
        "job_identities",
        "adoption",
        "reservations",
        "overview",
        "outside",
        "protocol",
        "mail",
        "sessions",
        "conversation",
        "documenting",
        "dismissals.dismissing",
        "tracked",
        "opening",
        "advice",
        "upkeep",
        "waking",
        "arriving",
        "asking",
        "past",
    ),
)
sql = Queries("longhouse.crew")


def binds(values: Iterable[str]) -> Iterator[dict[str, str]]:
    """Batches of values for a query with the parameters `:v0` to `:v15`; all are always bound."""
    found = list(dict.fromkeys(values))
    for start in range(0, len(found), PLACES):
        part = found[start : start + PLACES]
        yield {f"v{n}": part[n] if n < len(part) else part[0] for n in range(PLACES)}
