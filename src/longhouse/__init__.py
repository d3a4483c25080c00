"""Longhouse: one durable roof for a team of coding agents and the people who lead them."""

from longhouse.__about__ import __version__

__all__ = ["__version__", "connect", "connect_async"]

TYPE_CHECKING = False  # type checkers treat this name as true; importing typing is slow
if TYPE_CHECKING:
    from longhouse.client import connect, connect_async


def __getattr__(name: str) -> object:
    if name in ("connect", "connect_async"):
        from longhouse import client

        return getattr(client, name)
    raise AttributeError(f"module 'longhouse' has no attribute {name!r}")
