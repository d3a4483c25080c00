"""The stores used for fault injection."""

from __future__ import annotations

from tests.store.conftest import admin, store

__all__ = ["admin", "store"]
