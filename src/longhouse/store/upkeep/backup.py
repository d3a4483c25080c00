"""Backup of a SQLite store while the house keeps running.

A backup is a folder: a snapshot of the database, every artifact it refers to, the growing logs,
what processes printed, and `backup.json`, written last, with the digest of the database. The copy
is verified like a live store; damage does not prevent a backup, it is listed in it. PostgreSQL
has its own tools.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, StoreUnusable
from longhouse.kernel.registry import Registry
from longhouse.kernel.tool_tasks import task_folder
from longhouse.kernel.values import Value
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.disk import OpenFile, disk_errors, write_all
from longhouse.store.artifacts.growing import open_growing, read_gap, record_gap
from longhouse.store.artifacts.keeper import Artifacts, log_name
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteEngine, explain
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.exporting import chunks_of, is_whole
from longhouse.store.upkeep.files import new_folder, opened, sha256_of, write_private
from longhouse.store.upkeep.printed import PrintedStreams, SavedOutput, outputs_of, save
from longhouse.store.upkeep.verify import Problem, verify

__all__ = [
    "DB_NAME",
    "BackedUp",
    "PrintedOutputs",
    "back_up",
    "copy_artifacts",
    "read_manifest",
    "read_outputs",
    "sealed",
]

DB_NAME = "longhouse.db"
_PAGES = 2048
PrintedOutputs = dict[str, list[SavedOutput]]
"""What processes printed, by workspace; the bytes are in the backup's folder `tasks`."""


class BackedUp(Value, frozen=True, kw_only=True):
    """The contents of a backup, as written to `backup.json`."""

    format: int
    schema: int
    taken_at_ms: int
    sha256: str
    bytes: int
    workspaces: int
    artifacts: int
    outputs: int = 0
    outputs_sha256: str = ""
    without_output: list[str] = []
    """The processes whose output is not in the backup."""
    problems: list[Problem] = []
    """What is damaged in the store, and so in its backup: the first of each check."""
    total: int = 0
    """How many problems there are."""
    seal: str = ""
    """A code that only the machine that made the backup can compute."""


def back_up(
    db: Database,
    artifacts: Artifacts,
    registry: Registry,
    to: Path,
    call: Call,
    *,
    key: bytes = b"",
    max_output: int | None = None,
) -> BackedUp:
    """Copy a running store into the new folder `to`, and verify the copy.

    `key` seals the backup, so that a restore knows it as this machine's own. Of a process that
    printed more than `max_output` bytes, the output is left out, unless a record cites it.
    """
    engine = db.engine
    if not isinstance(engine, SqliteEngine):
        raise StoreUnusable(
            "a PostgreSQL store is backed up with PostgreSQL's own tools",
            recovery="use pg_dump, and copy the artifacts folder if LONGHOUSE_ARTIFACTS names one; "
            "or `longhouse export` a workspace",
        )
    _refuse_used(to)
    with new_folder(to) as partial, artifacts.undisturbed():
        _copy_database(engine.path, partial / DB_NAME)
        kept = Artifacts(partial / "artifacts")
        outputs, printed = outputs_of(registry), PrintedOutputs()
        with opened(partial / DB_NAME) as copy:
            names = copy.workspaces()
            count = sum(copy_artifacts(copy, artifacts, kept, name, call) for name in names)
            if outputs is not None:
                for name in names:
                    printed[name] = _copy_outputs(copy, outputs, partial, name, call, max_output)
            found = verify(copy, kept, registry, call, full=True)
            schema = copy.engine.schema_version()
        listed = msgspec.json.encode(printed)
        write_private(partial / "outputs.json", listed)
        made = BackedUp(
            format=2,
            schema=schema,
            taken_at_ms=db.time(call),
            sha256=sha256_of(partial / DB_NAME),
            bytes=(partial / DB_NAME).stat().st_size,
            workspaces=len(found.workspaces),
            artifacts=count,
            outputs=sum(one.missing is None for own in printed.values() for one in own),
            outputs_sha256=hashlib.sha256(listed).hexdigest(),
            without_output=sorted(
                {
                    f"{name} {one.task}"
                    for name, own in printed.items()
                    for one in own
                    if one.missing
                }
            ),
            problems=[*found.problems, *(lost := _damaged_output(printed))],
            total=found.total + len(lost),
        )
        made = msgspec.structs.replace(made, seal=sealed(made, key) if key else "")
        write_private(partial / "backup.json", msgspec.json.format(msgspec.json.encode(made)))
    return made


def sealed(made: BackedUp, key: bytes) -> str:
    """The code that proves who made a backup; it covers everything that `backup.json` says."""
    data = msgspec.json.encode(msgspec.structs.replace(made, seal=""))
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def read_manifest(source: Path) -> BackedUp:
    try:
        return msgspec.json.decode((source / "backup.json").read_bytes(), type=BackedUp)
    except (OSError, msgspec.DecodeError):
        raise InvalidInput(
            f"{source} is not a complete backup",
            recovery="name a folder made by `longhouse backup`",
        ) from None


def read_outputs(source: Path, made: BackedUp) -> PrintedOutputs:
    """The list of what processes printed; older backups have none."""
    if not made.outputs_sha256:
        return {}
    try:
        data = (source / "outputs.json").read_bytes()
        if hashlib.sha256(data).hexdigest() == made.outputs_sha256:
            return msgspec.json.decode(data, type=PrintedOutputs)
    except (OSError, msgspec.DecodeError):
        pass
    raise StoreUnusable(
        f"{source / 'outputs.json'} has changed since the backup; nothing was restored",
        recovery="use another backup",
    )


def _copy_database(source: Path, target: Path) -> None:
    """Copy one snapshot, page by page, while others read and write."""
    write_private(target, b"")
    try:
        reading, writing = apsw.Connection(os.fspath(source)), apsw.Connection(os.fspath(target))
        try:
            reading.set_busy_timeout(10_000)
            reading.execute("BEGIN; SELECT COUNT(*) FROM sqlite_schema").fetchall()
            with writing.backup("main", reading, "main") as copying:
                while not copying.done:
                    copying.step(_PAGES)
        finally:
            reading.close()
            writing.close()
    except apsw.Error as error:
        raise explain(error) from error
    with disk_errors("the backup"):
        file = OpenFile(os.open(target, os.O_RDONLY | os.O_CLOEXEC))
        os.fsync(file.fd)


def copy_artifacts(
    db: Database, source: Artifacts, target: Artifacts, workspace: str, call: Call
) -> int:
    """Copy the artifacts and growing logs of a workspace, damaged ones as they are."""

    def copy(tx: Tx) -> int:
        after, count = "", 0
        while rows := tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
            after = rows[-1]["digest"]
            for row in rows:
                _copy_blob(source, target, Blob(row["digest"], row["stored"]), tx.now_ms)
                count += 1
        for row in tx.all(artifact_sql.artifacts_growing):
            _copy_log(source, target, log_name(tx.ws, row["handle"]))
        return count

    return db.read(workspace, copy, call)


def _copy_blob(source: Artifacts, target: Artifacts, blob: Blob, now_ms: int) -> None:
    """Copy one artifact; a damaged one keeps its damage, which `verify` then names."""
    if target.blobs.size(blob.digest) == blob.size:
        return
    size = source.blobs.size(blob.digest)
    if size is None:
        return
    if size == blob.size and is_whole(source, blob):
        target.stage(chunks_of(source, blob), now_ms=now_ms)
        return
    damaged = Blob(blob.digest, size)
    folder, name = target.folder, f"damaged-{os.getpid()}"
    try:
        with disk_errors("an artifact"):
            file = folder.staging.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            for chunk in chunks_of(source, damaged):
                write_all(file.fd, chunk)
            os.fsync(file.fd)
        folder.blobs.put(damaged, folder.staging, name, now_ms)
    finally:
        folder.staging.remove(name)


def _copy_log(source: Artifacts, target: Artifacts, name: str) -> None:
    """Copy the bytes, then the gap: gaps only grow, so it covers what was cut in the meantime."""
    try:
        file, gap = open_growing(source.growing, name)
    except FileNotFoundError:
        return
    with disk_errors("a log"):
        copy = target.growing.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        size = file.size()
        for start, end in ((0, gap.at if gap else 0), (gap.end if gap else 0, size)):
            os.lseek(copy.fd, start, os.SEEK_SET)
            for chunk in file.chunks(start, end):
                write_all(copy.fd, chunk)
        os.fsync(copy.fd)
        if now := read_gap(source.growing, name):
            record_gap(target.growing, name, now)


def _copy_outputs(
    db: Database, outputs: PrintedStreams, to: Path, workspace: str, call: Call, most: int | None
) -> list[SavedOutput]:
    """Copy what processes printed, and let the copy know of what is left out."""

    def copy(tx: Tx) -> list[SavedOutput]:
        found = []
        for one in outputs.listed(tx, most):
            folder = task_folder(to, workspace, one.task)
            with disk_errors("the backup"):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(folder / one.stream, flags, 0o600), "w+b") as file:
                    found.append(save(one, file))
                    file.flush()
                    os.fsync(file.fileno())
            if found[-1].missing is not None:
                (folder / one.stream).unlink()
        return found

    saved = db.read(workspace, copy, call)
    for task in sorted({one.task for one in saved if one.missing and one.missing.startswith("--")}):
        why = next(one.missing for one in saved if one.task == task)
        mark = _marking(outputs, task, f"the backup, which left it out: {why}")
        db.write(workspace, mark, call)
    return saved


def _marking(outputs: PrintedStreams, task: str, why: str) -> Callable[[Tx], None]:
    return lambda tx: outputs.missing(tx, task, why)


def _damaged_output(printed: PrintedOutputs) -> list[Problem]:
    return [
        Problem(
            where=f"{name}: output of processes",
            message=f"{one.task} {one.stream} "
            + (one.missing or "does not have the digest that its last frame names"),
        )
        for name, own in printed.items()
        for one in own
        if one.damaged or (one.missing and not one.missing.startswith("--"))
    ]


def _refuse_used(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(f"{folder} exists and is not empty", recovery="name a new folder")
