"""An executor's own session, kept so that the next slice can go on in it.

A session lives on the machine that made it. The job's runtime notes name it for people; whether it
may be resumed is decided by a file in the store's folder that only a runner writes. So a session
that somebody else wrote into a job, such as that of a person's own conversation, is never opened.
"""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.runner.executors.base import Executor, SliceResult, TokenUsage

__all__ = ["ExecutorSession", "SessionFile", "is_session_id"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")


def is_session_id(text: str) -> bool:
    """Whether it can stand on a command line: no flag, no path, no blanks."""
    return bool(_ID.match(text))


class ExecutorSession(NamedTuple):
    """Which session, whose, and what it has used so far."""

    executor: str
    id: str
    total: TokenUsage = TokenUsage()

    def used(self, result: SliceResult, executor: Executor) -> TokenUsage:
        """What a slice in this session used."""
        return result.usage.since(self.total, executor.totals)

    def after(self, result: SliceResult) -> ExecutorSession:
        """What is not told of a slice that was killed leaves the total as it was."""
        told = {name: count for name, count in result.usage._asdict().items() if count}
        return self._replace(total=self.total._replace(**told))

    def meta(self) -> dict[str, Any]:
        """As it is shown in the job's runtime notes."""
        return {
            "executor": self.executor,
            "id": self.id,
            "host": socket.gethostname(),
            "total": list(self.total),
        }


class SessionFile:
    """Where a runner remembers the session that it ran for one job."""

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
        """Remember it. Where that fails, the next claim begins a session of its own."""
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
