"""Looks at a database file that others may have written, before anything opens it as a store.

Its schema must be ours to the letter: a trigger, a cascade or a constraint that swallows updates
could undo what disarms its rows. Every row must belong to a workspace that is listed: nobody would
disarm a row of the workspace that is created next.
"""

# ruff: noqa: S608  (names of tables come from our own schema, which was compared before)

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from longhouse.kernel.errors import LonghouseError, StoreUnusable
from longhouse.kernel.refs import check_workspace
from longhouse.store import migrate
from longhouse.store.sqlite import SqliteEngine, explain

__all__ = ["refuse_altered"]

_TO_WORKSPACES = re.compile(r" REFERENCES workspaces ?\(ws\)")
"""What the first stores said of a workspace's number, and later ones do not."""
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
_NUMBERED = (
    "SELECT m.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c "
    "WHERE m.type = 'table' AND c.name = 'ws' AND m.name <> 'workspaces'"
)


def refuse_altered(path: Path) -> None:
    """Raise StoreUnusable unless the file could have been written by a Longhouse alone."""
    try:
        db = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            found = next(_alterations(db), None)
        finally:
            db.close()
    except apsw.Error as error:
        raise explain(error, path) from error
    if found:
        raise StoreUnusable(
            f"{path}: {found}, which no Longhouse does; it is not used",
            recovery="ask whoever made it for an export of each workspace (`longhouse export`), "
            "and import those",
        )


def _alterations(db: apsw.Connection) -> Iterator[str]:
    version = db.pragma("user_version")
    if not 0 < version <= migrate.newest():
        return  # opening it says more
    ours, theirs = _fresh(version), _objects(db)
    for name in sorted(theirs.keys() - ours.keys()):
        yield f"its schema has the {theirs[name][0]} {name[:60]!r}"
    for name in sorted(ours):
        if theirs.get(name) != ours[name]:
            yield f"its schema has another {name!r}"
    for (table,) in db.execute(_NUMBERED).fetchall():
        strays = f'SELECT 1 FROM "{table}" WHERE ws NOT IN (SELECT ws FROM workspaces) LIMIT 1'
        if db.execute(strays).fetchall():
            yield f"it has rows in {table} of a workspace that does not exist"
    for (called,) in db.execute("SELECT name FROM workspaces").fetchall():
        try:
            check_workspace(str(called))
        except LonghouseError:
            yield f"it has a workspace named {str(called)[:60]!r}"


def _fresh(version: int) -> dict[str, tuple[str, str, str]]:
    """The schema of a new store of that version."""
    with TemporaryDirectory(prefix="longhouse-") as folder:
        engine = SqliteEngine(Path(folder) / "longhouse.db", schema=version)
        try:
            with engine.reader() as connection:
                return _objects(connection.db)
        finally:
            engine.close()


def _objects(db: apsw.Connection) -> dict[str, tuple[str, str, str]]:
    return {
        str(name): (str(kind), str(table), _TO_WORKSPACES.sub("", str(sql or "")))
        for kind, name, table, sql in db.execute(_OBJECTS).fetchall()
    }
