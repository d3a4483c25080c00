"""An executor's own session, kept beside the job so that the next slice can go on in it.

Sessions live on the machine that made them: one that was begun elsewhere is not resumed.
"""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from longhouse.runner.executors.base import Executor, SliceResult, Usage

__all__ = ["Session", "find_session"]


class Session(NamedTuple):
    """Which session, whose, and what it has used so far."""

    executor: str
    id: str
    total: Usage = Usage()

    def used(self, result: SliceResult, executor: Executor) -> Usage:
        """What a slice in this session used."""
        return result.usage.since(self.total, executor.totals)

    def after(self, result: SliceResult) -> Session:
        return self._replace(total=result.usage) if any(result.usage) else self

    def meta(self) -> dict[str, Any]:
        """As it is kept in the job's runtime notes."""
        return {
            "executor": self.executor,
            "id": self.id,
            "host": socket.gethostname(),
            "total": list(self.total),
        }


def find_session(runtime: dict[str, Any], executor: Executor) -> Session | None:
    """The session of an earlier claim, if this machine and executor can go on with it."""
    kept = runtime.get("session")
    if not isinstance(kept, dict) or not isinstance(kept.get("id"), str):
        return None
    if (kept.get("executor"), kept.get("host")) != (executor.name, socket.gethostname()):
        return None
    try:
        tokens_in, tokens_out, cost = kept.get("total") or (0, 0, 0.0)
        total = Usage(int(tokens_in), int(tokens_out), float(cost))
    except (TypeError, ValueError):
        total = Usage()
    return Session(executor.name, kept["id"], total)
