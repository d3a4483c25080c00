"""The log of an open store, page by page: the equivalent of `/events` without a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.dispatch import PAGE_ROWS, Caller, event_of, log_page, refuse_namesake
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.store.tx import Call

__all__ = ["LOOK_S", "page_after", "pages", "permitted"]

LOOK_S = 1.0
"""The longest a follower sleeps; a commit in this process wakes it at once."""


def pages(
    house: House, after: int, *, workspace: str | None, follow: bool
) -> Iterator[list[dict[str, Any]]]:
    """Pages of events after a seq, oldest first; with `follow`, endless."""
    name = permitted(house, workspace)
    while True:
        page = page_after(house, after, name)
        if page:
            after = page[-1]["seq"]
            yield page
        elif not follow:
            return
        else:
            house.db.wakeups.wait(name, after, LOOK_S)


def permitted(house: House, workspace: str | None) -> str:
    """The workspace to read, under the same lock and allowlist as every call."""
    name = house.dispatcher.choose_workspace(workspace, Caller(Role.OPERATOR))
    house.db.read(name, refuse_namesake, _call(house))
    return name


def page_after(house: House, after: int, workspace: str) -> list[dict[str, Any]]:
    """The next page of events, as a server would send them."""
    rows, _ = house.db.read(workspace, lambda tx: log_page(tx, after, PAGE_ROWS), _call(house))
    return [event_of(row) for row in rows]


def _call(house: House) -> Call:
    dispatcher = house.dispatcher
    return Call(now_ms=dispatcher.clock.now_ms(), ids=dispatcher.ids, facts=house.facts)
