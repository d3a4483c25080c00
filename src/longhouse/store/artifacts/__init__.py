"""Artifacts: bytes that outlive the process that made them, found by digest and read by range.

Owns the artifacts folder and the tables `artifacts` and `artifact_…`. Rooms store through
`Artifacts` and declare the artifacts they refer to with `room.holds_artifacts`; callers read
through `docs.artifact.show`.
"""

from longhouse.store.artifacts.keeper import Artifacts, QuotaExceeded, artifacts_of
from longhouse.store.artifacts.room import room

__all__ = ["Artifacts", "QuotaExceeded", "artifacts_of", "room"]
