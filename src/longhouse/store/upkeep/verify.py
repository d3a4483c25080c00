"""`longhouse verify`: checks the integrity of the store.

First the database itself, then every workspace: its sequence and log, the checks that rooms
register with `room.check` (a room derives its tables from the log again and compares), and the
bytes of artifacts against their digests. It only reads, and one problem never hides another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from longhouse.kernel.errors import BytesLost, LonghouseError
from longhouse.kernel.registry import Registry
from longhouse.kernel.values import Value
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import Database
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.invariants import complaints
from longhouse.store.upkeep.tables import sql, unhurried, workspace_tables

__all__ = ["Problem", "Verified", "verify"]

_SAMPLED = "0"
_SHOWN = 20
"""How many complaints of one check are listed; the rest are counted."""
_CHUNK = 1 << 20


class Problem(Value, frozen=True, kw_only=True):
    where: str
    message: str
    recovery: str | None = None


class Verified(Value, frozen=True, kw_only=True):
    """What was checked, and the problems found."""

    ok: bool
    workspaces: list[str]
    checks: int
    artifacts: int
    hashed: int
    problems: list[Problem]
    """The first of each check; `total` counts all of them."""
    total: int = 0


def verify(
    db: Database,
    artifacts: Artifacts,
    registry: Registry,
    call: Call,
    *,
    full: bool = False,
    workspace: str | None = None,
) -> Verified:
    """Check the store, or one workspace; `full` reads every artifact completely."""
    return _Verify(db, artifacts, registry, call, full).run(workspace)


class _Verify:
    def __init__(
        self, db: Database, artifacts: Artifacts, registry: Registry, call: Call, full: bool
    ) -> None:
        self.db = db
        self.artifacts = artifacts
        self.registry = registry
        self.call = call
        self.full = full
        self.problems: list[Problem] = []
        self.checks = self.seen = self.hashed = self.total = 0

    def run(self, workspace: str | None) -> Verified:
        names = [workspace] if workspace else sorted(self.db.workspaces())
        self._check("", "the database", _damage, "restore the last backup with `longhouse restore`")
        self._check(
            "", "foreign keys", _orphans, "restore the last backup with `longhouse restore`"
        )
        for name in names:
            self._check(name, "sequence and log", lambda tx: complaints(tx, workspace_tables(tx)))
            for check in self.registry.checks:
                self._check(name, f"{check.room}: {check.what}", check.complaints)
            self._check(
                name,
                "artifacts",
                self._bytes,
                "add the same file again, or run `longhouse verify --repair --from BACKUP`",
            )
        return Verified(
            ok=not self.problems,
            workspaces=names,
            checks=self.checks,
            artifacts=self.seen,
            hashed=self.hashed,
            problems=self.problems,
            total=self.total,
        )

    def _check(
        self,
        workspace: str,
        what: str,
        check: Callable[[Tx], Iterable[str]],
        recovery: str | None = None,
    ) -> None:
        where = f"{workspace}: {what}" if workspace else what
        self.checks += 1
        try:
            found = self.db.read(workspace, partial(_listed, check), self.call)
        except LonghouseError as error:
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            found = [f"could not be checked: {error.message}{cause}"]
        except Exception as error:
            found = [f"could not be checked: {type(error).__name__}: {error}"]
        shown = found[:_SHOWN]
        if len(found) > _SHOWN:
            shown.append(f"and {len(found) - _SHOWN} more like these")
        self.problems += [Problem(where=where, message=m, recovery=recovery) for m in shown]
        self.total += len(found)

    def _bytes(self, tx: Tx) -> Iterator[str]:
        after = ""
        while rows := tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
            after = rows[-1]["digest"]
            for row in rows:
                self.seen += 1
                if wrong := self._wrong(row["digest"], row["stored"]):
                    yield f"artifact:{row['digest'][:12]} {wrong}"

    def _wrong(self, digest: str, stored: int) -> str | None:
        size = self.artifacts.blobs.size(digest)
        if size is None:
            return "has no bytes"
        if size != stored:
            return f"has {size} bytes instead of {stored}"
        if self.full or digest.startswith(_SAMPLED):
            self.hashed += 1
            return self._harmed(digest, size)
        return None

    def _harmed(self, digest: str, size: int) -> str | None:
        found = hashlib.sha256()
        try:
            for at in range(0, size, _CHUNK):
                found.update(self.artifacts.blobs.get(digest, at, min(_CHUNK, size - at)))
        except BytesLost:
            return "lacks some of its bytes, or all"
        return None if found.hexdigest() == digest else "has the wrong bytes for its digest"


def _listed(check: Callable[[Tx], Iterable[str]], tx: Tx) -> list[str]:
    unhurried(tx)
    return list(check(tx))


def _damage(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.damage):
        yield row["message"]


def _orphans(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.orphans):
        yield f"{row['count']} rows of {row['table_name']} refer to missing rows of {row['parent']}"
    for table in workspace_tables(tx):
        if count := table.homeless(tx):
            yield f"{count} rows of {table.name} refer to missing rows of workspaces"
