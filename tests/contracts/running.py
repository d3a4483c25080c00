"""Runs offered writes in copies of the store, and says what they touched, as the log tells.

One copy serves one command's near misses: each write is judged by the rows that it adds.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from longhouse.config import load
from longhouse.dispatch import Caller, ClientSession
from longhouse.house import House
from longhouse.kernel.registry import Role
from tests.contracts.near_misses import NearMiss, leaves
from tests.contracts.world import rows_of
from tests.kit import CountedIds, Lh, ManualClock

__all__ = ["Copy", "copy_of"]

_ID = re.compile(r"\b(?:TASK|JOB|PLAN|PROC)-[0-9]{3,}\b")
_ONCE = ("jobs.runner.start", "system.token.create")
"""Calls that reach beyond the store."""


class Copy:
    """A copy of a house's store, in which offered writes are run."""

    def __init__(self, lh: Lh) -> None:
        self.lh = lh
        self.ran = self.wrote = 0

    def run(self, miss: NearMiss, action: dict[str, Any], cmd: str, role: Role) -> None:
        """Run the action; what it changes must be what the call was about."""
        if cmd in _ONCE:
            return
        known, before = self._ids(), self._log()
        focus = self.lh("tasks.focus.get")["focus"]
        caller = Caller(role, session=ClientSession())
        answer = self.lh.house.dispatcher.portal(action["tool"], action["args"], caller)
        added = [row for row in self._log() if row not in before]
        self.ran += 1
        if not answer.success:
            allowed = answer.code == "POLICY_DENIED" or not added
            assert allowed, f"{answer.code} and yet it wrote {added}"
            said = answer.envelope["error"]["message"]
            assert not re.search(r"requires the \w+ role", said), "its role may not do that"
            return
        self.wrote += bool(added)
        said = {found for leaf in leaves(miss.said) for found in _ID.findall(str(leaf))}
        told = {found for row in added for found in _ID.findall(_subject(row))}
        strange = (told & known) - said
        about_focus = not any(one.startswith(("TASK", "PLAN")) for one in said)
        meant = {focus} if about_focus else said
        assert strange <= meant | self._above(meant), (
            f"it touched {strange}, and the call named {said or 'nothing'}"
        )

    def _above(self, said: set[str]) -> set[str]:
        """The plans of the tasks that were named, whose progress they change."""
        above = set()
        for task in sorted(said):
            with suppress(AssertionError, KeyError):
                above |= set(_ID.findall(str(self.lh("tasks.snapshot", task=task))))
        return {one for one in above if one.startswith("PLAN")}

    def _ids(self) -> set[str]:
        tables = rows_of(self.lh, "tasks", "jobs", "plans", "tool_tasks", "log")
        return set(_ID.findall(str(tables)))

    def _log(self) -> list[str]:
        return rows_of(self.lh, "log")["log"]


def _subject(row: str) -> str:
    found = re.search(r"\('subject', '([^']*)'\)", row)
    return found[1] if found else ""


@contextmanager
def copy_of(lh: Lh, folder: Path) -> Iterator[Copy]:
    """A copy of the store of a house that rests; SQLite only."""
    with lh.house.db.engine.reader() as connection:
        connection.begin(write=False)
        connection.rollback()
    shutil.copytree(lh.house.settings.dir, folder / ".longhouse")
    settings = load(
        {"dir": str(folder / ".longhouse"), "workspace": lh.house.settings.workspace},
        environ={"HOME": str(folder)},
        cwd=folder,
    )
    with House(settings, clock=ManualClock(lh.clock.now_ms()), ids=CountedIds()) as house:
        yield Copy(Lh(house, lh.clock))
