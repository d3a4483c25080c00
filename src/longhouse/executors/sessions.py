"""The executor's session of a job, saved so that the next slice can resume it.

A session exists on the machine that created it. The job's runtime notes show it to people, but only
a file in the store's folder, written by runners alone, decides whether it may be resumed. So a
session that someone wrote into a job, such as a person's own conversation, is never opened.
"""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.executors.base import Executor, SliceResult, TokenUsage

__all__ = ["ExecutorSession", "SessionFile", "is_session_id"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")


def is_session_id(text: str) -> bool:
    """Whether it is safe on a command line: not a flag, not a path, no spaces."""
    return bool(_ID.match(text))


class ExecutorSession(NamedTuple):
    """A session, its executor, and what it has used so far."""

    executor: str
    id: str
    total: TokenUsage = TokenUsage()

    def used(self, result: SliceResult, executor: Executor) -> TokenUsage:
        """What a slice in this session used."""
        return result.usage.since(self.total, executor.totals)

    def after(self, result: SliceResult) -> ExecutorSession:
        """The session after a slice; totals that the slice did not report stay unchanged."""
        told = {name: count for name, count in result.usage._asdict().items() if count}
        return self._replace(total=self.total._replace(**told))

    def meta(self) -> dict[str, Any]:
        """The session as shown in the job's runtime notes."""
        return {
            "executor": self.executor,
            "id": self.id,
            "host": socket.gethostname(),
            "total": list(self.total),
        }


class SessionFile:
    """The file in which runners remember the session of one job."""

    def __init__(self, folder: Path, job: str) -> None:
        self._path = folder / f"{job}.json"

    def find(self, runtime: dict[str, Any], executor: Executor) -> ExecutorSession | None:
        """The session of an earlier claim, if a runner of this store ran it with this executor."""
        named = runtime.get("session")
        if not isinstance(named, dict):
            return None
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            tokens_in, tokens_out, cost = kept["total"]
            total = TokenUsage(int(tokens_in), int(tokens_out), float(cost))
            session = ExecutorSession(str(kept["executor"]), str(kept["id"]), total)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        same = (session.executor, session.id) == (executor.name, named.get("id"))
        return session if same and is_session_id(session.id) else None

    def keep(self, session: ExecutorSession | None) -> None:
        """Save the session. If that fails, the next claim starts a new one."""
        if session is None:
            return self.forget()
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(session._asdict()), encoding="utf-8")
            new.replace(self._path)
        return None

    def forget(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
