"""The small world in which every command's example succeeds; rooms add to it.

Every example runs in a fresh world of its own. What it needs beyond the base is made by the room
in `tests/<room>/world.py`, which may have

    build(lh)    adds to the base
    PREPARE      from a command to a function of the house that makes what its example needs
    STAND_INS    from an id that an example cannot know (a seq, a digest) to a function of the house
                 that finds one of that kind
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import msgspec

from longhouse.kernel.registry import Command
from longhouse.store.queries import Query
from tests.kit import Lh

__all__ = [
    "PREPARE",
    "Changes",
    "build_world",
    "example_args",
    "fingerprint",
    "prepare",
    "rows_of",
    "with_known_ids",
]

ROOT = Path(__file__).parents[2]
TABLE = r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)"


class _OneId:
    """The id that the example of `system.token.revoke` names."""

    def token(self, nbytes: int = 16) -> str:
        return "0a1b2c3d4e".rjust(nbytes * 2, "0")


def _token(lh: Lh) -> None:
    dispatcher = lh.house.dispatcher
    before, dispatcher.ids = dispatcher.ids, _OneId()
    lh("system.token.create", role="viewer")
    dispatcher.ids = before


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "system.token.revoke": _token,
}


@cache
def _rooms(name: str) -> list[Any]:
    folders = sorted(path.parent.name for path in (ROOT / "tests").glob("*/world.py"))
    modules = [
        importlib.import_module(f"tests.{folder}.world")
        for folder in folders
        if folder != "contracts"
    ]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def build_world(lh: Lh) -> None:
    """Three notes and a job, and what the rooms add."""
    for number in range(3):
        lh("vcs.notes.commit", content=f"note {number} " + "with some words " * 20)
    lh("system.init")
    lh("jobs.create", title="Find the slow query", prompt="Profile the search page.")
    for build in _rooms("build"):
        build(lh)


def prepare(lh: Lh, cmd: str) -> None:
    """Make what the example of this command needs."""
    for steps in (PREPARE, *_rooms("PREPARE")):
        if cmd in steps:
            steps[cmd](lh)


def example_args(lh: Lh, command: Command) -> dict[str, Any]:
    """The arguments of the example, with ids of this world."""
    args: dict[str, Any] = with_known_ids(lh, msgspec.to_builtins(command.example))
    return args


def with_known_ids(lh: Lh, value: Any) -> Any:
    """The same value with every stand-in replaced by an id that this world has."""
    if isinstance(value, dict):
        return {key: with_known_ids(lh, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_known_ids(lh, inner) for inner in value]
    finders = (ins[value] for ins in _rooms("STAND_INS") if isinstance(value, str) and value in ins)
    finder = next(finders, None)
    return finder(lh) if finder else value


def rows_of(lh: Lh, *tables: str) -> dict[str, list[str]]:
    """Every row of these tables, in an order of its own."""
    with lh.house.db.engine.reader() as connection:
        connection.begin(write=False)
        asked = {name: connection.ask(_every_row(name), {}) for name in tables}
        connection.settle()
        connection.rollback()
    return {
        name: sorted(repr(sorted(row.items())) for row in answer.result)
        for name, answer in asked.items()
    }


def fingerprint(lh: Lh) -> dict[str, list[str]]:
    """Every row of every table: equal means that nothing was written or changed."""
    return rows_of(lh, *_tables())


class Changes:
    """Tells whether anything was written since the last look; far cheaper than two fingerprints."""

    def __init__(self, lh: Lh) -> None:
        self._lh = lh
        self._file = None
        if lh.house.db.engine.name == "sqlite":
            self._file = apsw.Connection(str(lh.house.settings.db), flags=apsw.SQLITE_OPEN_READONLY)
        self._mark, self._rows = self._look(), fingerprint(lh)

    def seen(self) -> bool:
        """Whether a row differs from what it was at the last call."""
        mark = self._look()
        if mark == self._mark:
            return False
        before, self._mark, self._rows = self._rows, mark, fingerprint(self._lh)
        return self._rows != before

    def _look(self) -> object:
        """Differs after every commit that wrote; on PostgreSQL a written row has a newer xmin."""
        if self._file is not None:
            return self._file.pragma("data_version")
        with self._lh.house.db.engine.reader() as connection:
            return connection.rows(_newest_rows(), {})


@cache
def _newest_rows() -> Query:
    text = " UNION ALL ".join(
        f"SELECT '{name}' AS name, count(*) AS n, max(xmin::text::bigint) AS newest FROM {name}"
        for name in _tables()
    )
    return Query("tests.newest_rows", text, text)


@cache
def _every_row(table: str) -> Query:
    text = f"SELECT * FROM {table}"
    return Query(f"tests.{table}", text, text)


@cache
def _tables() -> list[str]:
    folder = ROOT / "src" / "longhouse" / "store" / "migrations"
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.sql")]
    return sorted({name for text in texts for name in re.findall(TABLE, text)})
