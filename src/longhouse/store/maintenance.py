"""Periodic maintenance of the store and the rooms.

One thread in each server; of all the servers of a store only the leader does anything. A loop runs
once in every workspace, each time in its own write transaction. A loop that fails is reported and
runs again when it is next due; the other loops are not affected.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Self

from longhouse.kernel.contributions import CommittedWrite, Loop, Tidier
from longhouse.kernel.errors import LonghouseError, ProjectGuardMismatch
from longhouse.store.database import Database
from longhouse.store.engine import Lost
from longhouse.store.tx import Call, Tx, sql

__all__ = ["KEYS_KEPT_MS", "Maintenance", "run_once"]

KEYS_KEPT_MS = 7 * 24 * 3600 * 1000
SHORTEST_S = 1.0
ASK_AGAIN_S = 5.0
"""How often a server that does not lead asks again: how long a store may go without maintenance."""
TIDY_S = 600

Trouble = Callable[[str, BaseException], None]


def forget_keys(tx: Tx) -> None:
    """Delete idempotency keys that are too old for a retry."""
    tx.run(sql.idempotency_forget, before=tx.now_ms - KEYS_KEPT_MS)


def run_once(db: Database, loop: Loop, workspace: str, call: Callable[[], Call]) -> None:
    """Run a loop in one workspace."""
    if not loop.by_hand:
        db.write(workspace, loop.run, call())
        return
    now = call()
    loop.run(
        CommittedWrite(
            cmd=loop.name,
            workspace=workspace,
            now_ms=now.now_ms or 0,
            facts=now.facts,
            read=lambda look: db.read(workspace, look, call()),
            write=lambda work: db.write(workspace, work, call()),
            read_long=lambda look: db.read_long(workspace, look, call()),
            apart=db.in_background,
        )
    )


class Maintenance:
    """A context manager that runs loops per workspace, and tidiers over the whole store."""

    def __init__(
        self,
        db: Database,
        loops: Iterable[Loop],
        call: Callable[[], Call],
        trouble: Trouble = lambda _name, _error: None,
        tidiers: Iterable[Tidier] = (),
    ) -> None:
        self._db = db
        self._call = call
        self._trouble = trouble
        self._tidiers = tuple(tidiers)
        self._loops = [Loop("store.forget_keys", 3600, forget_keys), *loops]
        self._due: dict[str, float] = {}
        self._strangers: set[str] = set()
        self.leading = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="longhouse-maintenance", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def step(self, now_s: float) -> float:
        """Run what is due; returns the seconds until the next loop is due."""
        for loop in self._loops:
            if now_s >= self._due.get(loop.name, now_s):
                self._due[loop.name] = now_s + loop.every_s
                self._everywhere(loop)
        if now_s >= self._due.get("store.tidy", now_s):
            self._due["store.tidy"] = now_s + TIDY_S
            self._attempt("store.tidy", self._db.engine.tidy)
            for tidy in self._tidiers:
                self._attempt(tidy.__module__, partial(self._over, tidy))
        return max(SHORTEST_S, min(self._due.values()) - now_s)

    def _over(self, tidy: Tidier) -> None:
        tidy(self._db, self._call())

    def _everywhere(self, loop: Loop) -> None:
        workspaces: list[str] = []

        def look() -> None:
            if loop.when(self._call().facts):
                workspaces.extend(self._db.workspaces())

        self._attempt(loop.name, look)
        for workspace in workspaces:
            if self._stop.is_set():
                return
            self._attempt(loop.name, partial(self._once, loop, workspace))

    def _once(self, loop: Loop, workspace: str) -> None:
        run_once(self._db, loop, workspace, self._call)

    def _attempt(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except Lost as lost:
            self._trouble(name, lost.error)
        except ProjectGuardMismatch as error:
            if error.message not in self._strangers:  # said once: the next try ends the same way
                self._strangers.add(error.message)
                self._trouble(name, error)
        except LonghouseError as error:
            self._trouble(name, error.__cause__ or error)
        except Exception as error:
            self._trouble(name, error)

    def _run(self) -> None:
        with self._db.engine.leader() as leads:
            delay_s = 0.0
            while not self._stop.wait(delay_s):
                self.leading = leads()
                delay_s = self.step(time.monotonic()) if self.leading else ASK_AGAIN_S
                delay_s = min(delay_s, ASK_AGAIN_S)  # a silent leader loses its lead
