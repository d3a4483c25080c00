"""Artifacts in the store's own database: sealed bytes, growing logs, and the lock of the sweep.

Owns the tables `artifact_bodies`, `artifact_chunks`, `artifact_blobs` and `artifact_logs`. Every
host that reaches the database reads the same bytes.
"""

from longhouse.store.artifacts.database.place import DatabasePlace

__all__ = ["DatabasePlace"]
