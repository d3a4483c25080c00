"""Restore a backup where there is no store yet; the database is put in place last.

What a backup holds does not start by itself: queued work waits until a manager releases it. From a
backup that this machine did not make, nothing may act either: its tokens are revoked, its rules
withdrawn, its identities void.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import shutil
from pathlib import Path

from longhouse.kernel.contributions import Arrival, HeldBack
from longhouse.kernel.errors import Conflict, StoreUnusable
from longhouse.kernel.registry import Registry
from longhouse.kernel.tool_tasks import host_folder, task_folder
from longhouse.kernel.values import Value
from longhouse.store.artifacts.disk import OpenFile, disk_errors, write_all
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.database import Database
from longhouse.store.tx import Call
from longhouse.store.upkeep.arriving import arrived, disowned
from longhouse.store.upkeep.backup import (
    DB_NAME,
    BackedUp,
    copy_artifacts,
    read_manifest,
    read_outputs,
    sealed,
)
from longhouse.store.upkeep.files import copy_private, opened, remove_database, sha256_of, sync
from longhouse.store.upkeep.foreign import refuse_altered
from longhouse.store.upkeep.printed import SavedOutput
from longhouse.store.upkeep.verify import Problem, verify

__all__ = ["Restored", "restore"]


class Restored(Value, frozen=True, kw_only=True):
    """What was restored: from whose backup, what is damaged, and what waits to be released."""

    backup: BackedUp
    foreign: bool
    problems: list[Problem] = []
    total: int = 0
    held: list[HeldBack] = []


def restore(
    source: Path,
    db_path: Path,
    artifacts_path: Path,
    registry: Registry,
    call: Call,
    *,
    key: bytes = b"",
    run_queued: bool = False,
    damaged: bool = False,
) -> Restored:
    """Restore a backup; with `damaged`, also one that was harmed after it was made.

    `key` tells this machine's own backups from foreign ones. The output of processes goes beside
    the database. `call` has the facts of the house that will own the store.
    """
    made = read_manifest(source)
    tasks = db_path.parent / "tasks"
    for path in (db_path, artifacts_path, tasks):
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise Conflict(
                f"{path} exists; nothing was restored",
                recovery="restore into another folder with --dir, or move the existing store away",
            )
    foreign = not (key and made.seal and hmac.compare_digest(sealed(made, key), made.seal))
    with disk_errors("the restored store"):
        db_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = db_path.with_name(db_path.name + ".partial")
    try:
        with disk_errors("the restored store"):
            copy_private(source / DB_NAME, partial)
        if sha256_of(partial) != made.sha256 and not damaged:
            raise _refused(f"{source / DB_NAME} has changed since the backup")
        if foreign:
            refuse_altered(partial)
        backup, restored = Artifacts(source / "artifacts"), Artifacts(artifacts_path)
        with opened(partial) as copy:
            names = copy.workspaces()
            for name in names:
                copy_artifacts(copy, backup, restored, name, call)
            lost = [
                problem
                for name, own in read_outputs(source, made).items()
                for one in own
                if one.missing is None
                for problem in _place(source, db_path.parent, name, one)
            ]
            verified = verify(copy, restored, registry, call, full=True)
            found = [*verified.problems, *lost]
            if new := [one for one in found if one not in made.problems]:
                _refuse(new, damaged)
            arrival = Arrival("restored", foreign=foreign, hold=not run_queued)
            held = _arrive(copy, names, registry, arrival, call)
        with disk_errors("the restored store"):
            partial.rename(db_path)
            sync(db_path.parent)
    except BaseException:
        shutil.rmtree(artifacts_path, ignore_errors=True)
        shutil.rmtree(tasks, ignore_errors=True)
        remove_database(partial)
        raise
    total = verified.total + len(lost)
    return Restored(backup=made, foreign=foreign, problems=found, total=total, held=held)


def _arrive(
    db: Database, names: list[str], registry: Registry, arrival: Arrival, call: Call
) -> list[HeldBack]:
    """Disarm what was restored, while the database is not in its place yet.

    Hosts and runners are never restored, so what ran there is ended even if nothing is held.
    """
    held = []
    for name in names:
        found = db.write(name, lambda tx: arrived(tx, registry.arrivers, arrival), call)
        held += [one._replace(id=f"{name} {one.id}") for one in found]
    if arrival.foreign:
        own = names[0] if names else call.facts.default_workspace or "default"
        held += db.write(own, disowned, call)
    return held


def _place(source: Path, store: Path, workspace: str, one: SavedOutput) -> list[Problem]:
    """Put one stream where its host would have it; says so if the backup's bytes are not right."""
    where = f"{workspace}: output of processes"
    path = task_folder(source, workspace, one.task) / one.stream
    folder = task_folder(store, workspace, one.task)
    if host_folder(store, workspace) != folder.parent or "/" in one.task + one.stream:
        return [Problem(where=where, message="a name that no process has")]
    hashed = hashlib.sha256()
    try:
        file = OpenFile(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
    except OSError:
        return [Problem(where=where, message=f"{one.task} {one.stream} is not in the backup")]
    with disk_errors("the restored store"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy = OpenFile(os.open(folder / f"{one.stream}.log", flags, 0o600))
        head = one.stored if one.gap_at is None else one.gap_at
        for start, end, to in ((0, head, 0), (head, one.stored, head + one.gap_bytes)):
            os.lseek(copy.fd, to, os.SEEK_SET)
            for chunk in file.chunks(start, end):
                write_all(copy.fd, chunk)
                hashed.update(chunk)
        os.fsync(copy.fd)
        if one.gap_at is not None:
            gap = OpenFile(os.open(folder / f"{one.stream}.gap", flags, 0o600))
            write_all(gap.fd, f"{one.gap_at} {one.gap_at + one.gap_bytes}\n".encode())
    if hashed.hexdigest() != one.sha256:
        return [Problem(where=where, message=f"{one.task} {one.stream} has changed")]
    return []


def _refuse(new: list[Problem], damaged: bool) -> None:
    if not damaged:
        raise _refused(f"the backup has problems: {new[0].where}: {new[0].message}")


def _refused(message: str) -> StoreUnusable:
    return StoreUnusable(
        f"{message}; nothing was restored",
        recovery="use another backup, or restore what is left of this one with --damaged",
    )
