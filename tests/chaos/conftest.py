"""The stores that faults are tried on."""

from __future__ import annotations

from tests.store.conftest import admin, store

__all__ = ["admin", "store"]
