"""Longhouse: one durable roof for a team of coding agents and the people who lead them."""

from longhouse.__about__ import __version__

__all__ = ["__version__"]
