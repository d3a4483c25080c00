"""The log: what happened in a workspace, one row per mutation, in commit order."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.values import Value
from longhouse.store.engine import Row

__all__ = ["LogEvent", "LogRow"]


class LogEvent(Value, frozen=True, kw_only=True):
    """An event that does not have a seq yet."""

    stream: str
    subject: str
    kind: str
    data: dict[str, Any] = {}


class LogRow(Value, frozen=True, kw_only=True):
    """One row of the log."""

    seq: int
    ts_ms: int
    stream: str
    subject: str
    kind: str
    actor: str | None
    data: dict[str, Any]

    @property
    def ref(self) -> str:
        return f"{self.subject}@{self.seq}"

    @classmethod
    def from_row(cls, row: Row) -> LogRow:
        return cls(**{**row, "data": msgspec.json.decode(row["data"])})
