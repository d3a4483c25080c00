"""Where the time of a keyed job's life goes, by call and by step: one client, SQLite.

`prepare` looks through the arguments, decodes them and says who acts; `queue` is what the group
commit adds; `code` is ours in the transaction, `SQL` its statements, `commit` the last of them with
its fsync; `answer` builds what is sent. We promise to run no more statements than the bare database
needs for the same rows.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from bench._harness import report
from bench.jobs import Bare, opened, result_of, steps
from longhouse.dispatch import answers, dispatcher
from longhouse.house import House
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteConnection, SqliteEngine

LIVES = 120
STEPS = ("prepare", "queue", "code", "SQL", "commit", "answer", "whole")


class Stopwatch:
    """Seconds by step, and statements, since they were last taken."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.statements = 0

    def timed(self, step: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                self.seconds[step] += time.perf_counter() - began

        return run

    def counted(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same for statements."""
        sql, commit = self.timed("SQL", work), self.timed("commit", work)

        def run(*args: Any) -> Any:
            self.statements += 1
            return (commit if args[0] == "COMMIT" else sql)(*args)

        return run

    def take(self, whole: float) -> Counter[str]:
        """What a call took, in microseconds, and its statements."""
        spent, self.seconds = self.seconds, defaultdict(float)
        spent["whole"] = whole
        spent["code"] = spent["transaction"] - spent["SQL"] - spent["commit"]
        spent["queue"] = whole - spent["transaction"] - spent["prepare"] - spent["answer"]
        taken = Counter({step: round(1e6 * spent[step]) for step in STEPS})
        taken["statements"], self.statements = self.statements, 0
        return taken


@contextmanager
def watched(house: House, watch: Stopwatch) -> Iterator[None]:
    assert isinstance(house.db.engine, SqliteEngine)
    writer = house.db.engine._writer
    writer._execute = watch.counted(writer._execute)
    with (
        patch.object(SqliteConnection, "many", watch.counted(SqliteConnection.many)),
        patch.object(Database, "_attempt", watch.timed("transaction", Database._attempt)),
        patch.object(
            dispatcher.Dispatcher,
            "_prepare",
            watch.timed("prepare", dispatcher.Dispatcher._prepare),
        ),
        patch.object(dispatcher, "answer_result", watch.timed("answer", answers.answer_result)),
    ):
        yield


def lives(house: House, watch: Stopwatch) -> dict[str, list[Counter[str]]]:
    """What each call of many lives took, by command."""
    found: dict[str, list[Counter[str]]] = defaultdict(list)
    for _ in range(LIVES):
        calls = steps("r1")
        cmd, args = next(calls)
        with suppress(StopIteration):
            while True:
                began = time.perf_counter()
                answer = house.call(cmd, args)
                found[cmd].append(watch.take(time.perf_counter() - began))
                cmd, args = calls.send(result_of(answer))
    return found


def bare_statements(folder: str) -> int:
    """The statements of a life on the bare database."""
    bare, watch = Bare(Path(folder) / "bare.db"), Stopwatch()
    counted = watch.counted(bare.db.execute)
    with patch.object(bare, "db") as db:
        db.execute = counted
        bare.life()
    return watch.statements


def main() -> None:
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
        with opened(folder, "budget") as house, watched(house, watch):
            found = lives(house, watch)
        floor = bare_statements(folder)
    columns = (*STEPS, "statements")
    print("# microseconds    ", *(f"{name:>10}" for name in columns))
    for cmd, calls in found.items():
        middle = (median(call[name] for call in calls) for name in columns)
        print(f"# {cmd:<16}", *(f"{one:10.0f}" for one in middle))
    ours = sum(median(call["statements"] for call in calls) for calls in found.values())
    print(f"# a life: {ours:.0f} statements in {len(found)} commits; bare: {floor}")
    report("life-statements", ours / floor, "<=1.0")


if __name__ == "__main__":
    main()
