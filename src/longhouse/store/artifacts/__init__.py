"""Artifacts: bytes that outlive the process that made them, found by digest, read by range.

Owns the artifacts folder and the tables `artifacts` and `artifact_usage`. Rooms store through
`Artifacts`, name what they hold with `room.holds_artifacts`, and read through `docs.artifact.show`.
"""

from longhouse.store.artifacts import checks, commands  # noqa: F401  (they declare)
from longhouse.store.artifacts.keeper import Artifacts, QuotaExceeded, artifacts_of
from longhouse.store.artifacts.room import room
from longhouse.store.artifacts.sweep import sweep, sweep_bytes

__all__ = ["Artifacts", "QuotaExceeded", "artifacts_of", "room", "sweep", "sweep_bytes"]
