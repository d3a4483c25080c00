"""Import: a workspace from an export, under any unused name, all or nothing.

The bytes of artifacts are stored first (without rows they are garbage, which the sweep removes),
then all rows in one transaction, which commits only if the manifest matches and the workspace is
consistent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, BinaryIO

import msgspec

from longhouse.kernel.contributions import Arrival, Arriver, HeldBack
from longhouse.kernel.errors import Conflict, InternalError, StoreUnusable
from longhouse.kernel.refs import check_workspace
from longhouse.kernel.values import Value
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import Database
from longhouse.store.migrate import newest
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.archive import ArchiveInvalid, ArchiveReader, Manifest, Member
from longhouse.store.upkeep.arriving import arrived
from longhouse.store.upkeep.exporting import FORMAT, Contents, ExportHeader, export_workspace
from longhouse.store.upkeep.invariants import complaints
from longhouse.store.upkeep.printed import PrintedStreams, SavedOutput
from longhouse.store.upkeep.tables import workspace_tables

__all__ = ["Imported", "import_workspace"]


class Imported(Value, frozen=True, kw_only=True):
    """What was imported."""

    workspace: str
    exported_as: str
    seq: int
    artifacts: int
    rows: dict[str, int]
    outputs: int = 0
    without_output: list[str] = []
    """The processes whose output is not in the file."""
    damaged: list[str] = []
    """The artifacts that are not in the file, because they were damaged."""
    held: list[HeldBack] = []
    """What was held or withdrawn, because nothing that is imported runs or acts by itself."""


def import_workspace(
    db: Database,
    artifacts: Artifacts,
    file: BinaryIO,
    call: Call,
    *,
    name: str | None = None,
    rebuild: Sequence[Callable[[Tx], None]],
    arrive: Sequence[Arriver],
    outputs: PrintedStreams | None = None,
    run_queued: bool = False,
) -> Imported:
    """Read an export into the workspace `name`, or the one it was exported from.

    `rebuild` are the rooms' functions that rebuild their indexes, `arrive` those that disarm what
    came. With `run_queued`, queued work stays queued and rules stay in force. The file must be
    seekable; the caller spools a stream first.
    """
    begin = file.tell()
    header = _header(ArchiveReader(file))
    workspace = check_workspace(name or header.workspace)
    _refuse_existing(db, workspace, call)
    file.seek(begin)

    def settle(tx: Tx) -> list[HeldBack]:
        for index in rebuild:
            index(tx)
        return arrived(tx, arrive, Arrival("imported", foreign=True, hold=not run_queued))

    if header.schema == newest():
        return _load(db, artifacts, file, call, workspace, settle, outputs)
    with _brought_up(header, artifacts, file, call, outputs) as (first, upgraded):
        made = _load(db, artifacts, upgraded, call, workspace, settle, outputs)
    return msgspec.structs.replace(
        made,
        exported_as=header.workspace,
        outputs=first.outputs,
        without_output=first.without_output,
        damaged=first.damaged,
    )


def _load(
    db: Database,
    artifacts: Artifacts,
    file: BinaryIO,
    call: Call,
    workspace: str,
    settle: Callable[[Tx], list[HeldBack]],
    outputs: PrintedStreams | None,
) -> Imported:
    reader = ArchiveReader(file)
    header = _header(reader)
    now_ms = db.time(call)
    digests: set[str] = set()
    while True:
        rows_begin = reader.place()
        member = reader.next()
        if member is None or not member.name.startswith("artifacts/"):
            break
        digests.add(_put(artifacts, member, reader, now_ms))
    contents, printed = Contents(), []
    if member is not None and member.name == "contents.json":
        contents = _contents(reader)
        printed = [
            (one, _put_output(artifacts, one, reader, now_ms))
            for one in contents.outputs
            if one.missing is None
        ]
        rows_begin = reader.place()
        reader.next()
    without_output = sorted({one.task for one in contents.outputs if one.missing})

    def load(tx: Tx) -> Imported:
        """May run more than once, like any write that shares a commit with others."""
        reader.go_back(rows_begin)
        load = _Load(tx, header, reader)
        while member := reader.next():
            load.part(member)
        made = load.finish(digests, set(contents.damaged))
        held = settle(tx)
        if outputs is not None:
            load.receive(outputs, artifacts, contents, printed)
        return msgspec.structs.replace(
            made, held=held, outputs=len(printed), without_output=without_output
        )

    try:
        return db.write(workspace, load, call)
    except InternalError as error:
        raise ArchiveInvalid("the rows do not fit the schema; nothing was imported") from error


def _header(reader: ArchiveReader) -> ExportHeader:
    member = reader.next()
    if member is None or member.name != "longhouse.json":
        raise ArchiveInvalid("the file does not start like a Longhouse export")
    try:
        header = msgspec.json.decode(reader.whole(), type=ExportHeader)
    except msgspec.DecodeError as error:
        raise ArchiveInvalid(f"longhouse.json: {error}") from None
    if header.format > FORMAT or header.schema > newest():
        raise StoreUnusable(
            f"the export has schema {header.schema}; this Longhouse knows up to {newest()}",
            recovery="import it with the newer Longhouse that wrote it",
        )
    return header


@contextmanager
def _brought_up(
    header: ExportHeader,
    artifacts: Artifacts,
    file: BinaryIO,
    call: Call,
    outputs: PrintedStreams | None,
) -> Iterator[tuple[Imported, BinaryIO]]:
    """What is in an export, and the same export as this Longhouse would have written it.

    It is loaded into a temporary store with its own schema, which is then migrated like any other,
    so that there is only one way from an old schema to the new one.
    """
    with TemporaryDirectory(prefix="longhouse-") as folder:
        path = Path(folder) / "longhouse.db"
        for schema in (header.schema, None):
            db = Database(SqliteEngine(path, schema=schema))
            try:
                if schema is not None:
                    first = _load(
                        db, artifacts, file, call, header.workspace, lambda _tx: [], outputs
                    )
                else:
                    with TemporaryFile() as upgraded:
                        export_workspace(db, artifacts, header.workspace, upgraded, call)
                        upgraded.seek(0)
                        yield first, upgraded
            finally:
                db.close()


def _refuse_existing(db: Database, workspace: str, call: Call) -> None:
    def look(tx: Tx) -> None:
        if tx.last_seq() or not all(table.is_empty(tx) for table in workspace_tables(tx)):
            raise Conflict(
                f"workspace {workspace!r} exists; nothing was imported",
                recovery="import under another name with --workspace",
            )

    db.read(workspace, look, call)


def _put(artifacts: Artifacts, member: Member, reader: ArchiveReader, now_ms: int) -> str:
    digest = member.name.removeprefix("artifacts/")
    blob = artifacts.stage(reader.chunks(), now_ms=now_ms)
    if blob.digest != digest:
        raise ArchiveInvalid(f"the bytes of artifact:{digest[:12]} do not match its digest")
    return digest


def _contents(reader: ArchiveReader) -> Contents:
    try:
        return msgspec.json.decode(reader.whole(), type=Contents)
    except msgspec.DecodeError as error:
        raise ArchiveInvalid(f"contents.json: {error}") from None


def _put_output(artifacts: Artifacts, one: SavedOutput, reader: ArchiveReader, now_ms: int) -> Blob:
    member = reader.next()
    if member is None or member.name != f"output/{one.task}.{one.stream}":
        raise ArchiveInvalid(f"the output of {one.task} is not in the export"[:120])
    blob = artifacts.stage(reader.chunks(), now_ms=now_ms)
    gap = one.gap_bytes if one.gap_at is not None else 0
    if blob.digest != one.sha256 or blob.size != one.bytes - gap or one.bytes < 0 or gap < 0:
        raise ArchiveInvalid(f"the output of {one.task} does not match its digest"[:120])
    return blob


class _Load:
    """The rows of one import, inside its transaction."""

    def __init__(self, tx: Tx, header: ExportHeader, reader: ArchiveReader) -> None:
        self.tx = tx
        self.header = header
        self.reader = reader
        self.tables = {table.name: table for table in workspace_tables(tx)}
        self.counts = dict.fromkeys(header.tables, 0)
        self.order = list(self.tables)
        if tx.last_seq() or not all(table.is_empty(tx) for table in self.tables.values()):
            raise Conflict(f"workspace {tx.workspace!r} exists; nothing was imported")
        for name, columns in header.tables.items():
            if name not in self.tables or set(columns) != set(self.tables[name].columns):
                raise ArchiveInvalid(f"no table {name[:60]!r} with those columns is known here")
        self.shift: dict[str, int] = {}
        for table in self.tables.values():
            if table.surrogate:
                table.reserve(tx)
                self.shift[table.name] = table.edge(tx, "MAX", of_store=True)

    def part(self, member: Member) -> None:
        """Insert one member's rows; tables come in the order in which they were exported."""
        folder, _, rest = member.name.partition("/")
        name = rest.partition(".")[0]
        table = self.tables.get(name)
        if folder != "tables" or table is None or name not in self.header.tables:
            raise ArchiveInvalid(f"{member.name} was not expected here")
        columns = self.header.tables[name]
        shifts = table.shifts(self.shift)
        places = [columns.index(column) for column in table.columns]
        rows = []
        for line in self.reader.whole().splitlines():
            values = _values(line, len(columns), member)
            row = [values[place] for place in places]
            for index, by in shifts:
                if row[index] is not None:
                    row[index] = _moved(row[index], by, member)
            rows.append(row)
        table.insert(self.tx, rows)
        self.counts[name] += len(rows)

    def receive(
        self,
        outputs: PrintedStreams,
        artifacts: Artifacts,
        contents: Contents,
        printed: list[tuple[SavedOutput, Blob]],
    ) -> None:
        """Keep what processes printed, whatever the quota, and record what is missing."""
        self.tx.run(artifact_sql.usage_give, bytes=int(self.tx.value(artifact_sql.usage_now) or 0))
        outputs.receive(self.tx, artifacts, printed)
        self.tx.run(artifact_sql.usage_recount)
        kept = {one.task for one, _ in printed}  # one stream is enough to keep a task's output
        missing = {one.task: one.missing for one in contents.outputs if one.task not in kept}
        for task, why in missing.items():
            outputs.missing(self.tx, task, f"the export, which left it out: {why}"[:200])

    def finish(self, digests: set[str], damaged: set[str]) -> Imported:
        """Check that everything that was exported is present and consistent."""
        manifest = self.reader.manifest()
        self._compare(manifest, digests)
        for table in self.tables.values():
            if table.surrogate:
                table.settle(self.tx)
        if self.header.seq:
            self.tx.seqs(self.header.seq)
        gone = self._without(damaged)
        self.tx.run(artifact_sql.usage_recount)
        if found := list(complaints(self.tx, list(self.tables.values()), seq=self.header.seq)):
            raise ArchiveInvalid(f"the export is inconsistent: {found[0]}")
        missing = set(_stored(self.tx)) - digests
        if missing:
            raise ArchiveInvalid(f"the bytes of artifact:{min(missing)[:12]} are not in the export")
        return Imported(
            workspace=self.tx.workspace,
            exported_as=self.header.workspace,
            seq=self.header.seq,
            artifacts=len(digests),
            rows=manifest.rows,
            damaged=gone,
        )

    def _without(self, damaged: set[str]) -> list[str]:
        """Remove the rows of artifacts that are not in the file: no bytes may pass for them."""
        gone = []
        for digest in sorted(damaged):
            for row in self.tx.all(
                artifact_sql.artifacts_by_digest, low=digest, high=digest, limit=10_000
            ):
                self.tx.one(artifact_sql.artifact_remove, handle=row["handle"])
                gone.append(f"{row['handle']} {row['name']}")
        return gone

    def _compare(self, manifest: Manifest, digests: set[str]) -> None:
        if manifest.rows != self.counts or manifest.artifacts != len(digests):
            raise ArchiveInvalid("the file does not contain what its manifest lists")


def _values(line: bytes, count: int, member: Member) -> list[Any]:
    try:
        values = msgspec.json.decode(line, type=list[Any])
        values = [_column(value) for value in values]
    except (msgspec.DecodeError, binascii.Error, TypeError, KeyError):
        raise ArchiveInvalid(f"{member.name}: not a row of JSON") from None
    if len(values) != count:
        raise ArchiveInvalid(f"{member.name}: a row has {len(values)} values instead of {count}")
    return values


def _column(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["b64"], validate=True)
    if isinstance(value, list | bool):
        raise TypeError("no column has values of this type")
    return value


def _moved(value: Any, by: int, member: Member) -> int:
    if not isinstance(value, int) or not 0 < value < 2**53:
        raise ArchiveInvalid(f"{member.name}: {str(value)[:40]!r} is not a row id")
    return value + by


def _stored(tx: Tx) -> list[str]:
    digests: list[str] = []
    after = ""
    while rows := tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
        after = rows[-1]["digest"]
        digests.extend(row["digest"] for row in rows)
    return digests
