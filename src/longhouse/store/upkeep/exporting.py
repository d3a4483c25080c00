"""Export: a whole workspace as one file, from one snapshot, while the house keeps running.

The file has a header, the bytes of the artifacts by digest, what processes printed, the rows table
by table, and the manifest. A growing log is exported as if it had been sealed at that moment.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import msgspec

from longhouse.kernel.errors import BytesLost, LonghouseError, StoreBusy, UnknownWorkspace
from longhouse.kernel.values import Value
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.keeper import Artifacts, log_name
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import NO_WORKSPACE, Database
from longhouse.store.engine import Row
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.archive import ArchiveWriter
from longhouse.store.upkeep.printed import Printed, PrintedStreams, SavedOutput, save
from longhouse.store.upkeep.tables import Table, unhurried, workspace_tables

__all__ = [
    "FORMAT",
    "Contents",
    "ExportHeader",
    "ExportSummary",
    "chunks_of",
    "export_workspace",
    "is_whole",
]

FORMAT = 2
_PART = 1 << 20
_CHUNK = 1 << 20


class ExportHeader(Value, frozen=True, kw_only=True):
    """The first member: the exported workspace, and the columns of its tables."""

    format: int
    schema: int
    workspace: str
    seq: int
    tables: dict[str, list[str]]


class Contents(Value, frozen=True, kw_only=True):
    """The member after the artifacts: what processes printed, and what is not in the file."""

    outputs: list[SavedOutput] = []
    damaged: list[str] = []
    """The digests of artifacts that were left out because their bytes are damaged."""


class ExportSummary(Value, frozen=True, kw_only=True):
    """The contents of an export, and what is not in it."""

    workspace: str
    seq: int
    bytes: int
    artifacts: int
    rows: dict[str, int]
    outputs: int = 0
    without_output: list[str] = []
    damaged: list[str] = []


def export_workspace(
    db: Database,
    artifacts: Artifacts,
    workspace: str,
    file: BinaryIO,
    call: Call,
    *,
    outputs: PrintedStreams | None = None,
    max_output: int | None = None,
    without_damaged: bool = False,
) -> ExportSummary:
    """Write the workspace to `file`; the same state gives the same bytes.

    Damaged artifacts end the export, or are left out. `outputs` has what processes printed, of
    which more than `max_output` bytes of one process are left out unless they are cited.
    """
    begun = False

    def run(tx: Tx) -> ExportSummary:
        """Runs again if its connection breaks, but `file` cannot take back what was written."""
        nonlocal begun
        unhurried(tx)
        export = _Export(tx, artifacts, file, schema, without_damaged)
        if begun:
            raise StoreBusy("the connection broke during the export", recovery="export again")
        begun = True
        return export.run(outputs.listed(tx, max_output) if outputs else ())

    with artifacts.undisturbed():
        schema = db.engine.schema_version()
        return db.read(workspace, run, call)


class _Export:
    def __init__(
        self, tx: Tx, artifacts: Artifacts, file: BinaryIO, schema: int, without_damaged: bool
    ) -> None:
        if tx.ws == NO_WORKSPACE:
            raise UnknownWorkspace(
                f"there is no workspace {tx.workspace!r}",
                recovery="`longhouse call workspace.list` lists all workspaces",
            )
        self.tx = tx
        self.schema = schema
        self.artifacts = artifacts
        self.without_damaged = without_damaged
        self.damaged: list[str] = []
        self.archive = ArchiveWriter(file)
        self.tables = workspace_tables(tx)
        self.shift = {t.name: min(0, 1 - t.edge(tx, "MIN")) for t in self.tables if t.surrogate}
        self.sealed = {
            row["handle"]: self._as_sealed(row) for row in tx.all(artifact_sql.artifacts_growing)
        }

    def run(self, printed: Iterable[Printed]) -> ExportSummary:
        header = ExportHeader(
            format=FORMAT,
            schema=self.schema,
            workspace=self.tx.workspace,
            seq=self.tx.last_seq(),
            tables={t.name: list(t.columns) for t in self.tables},
        )
        data = msgspec.json.encode(header)
        self.archive.add("longhouse.json", len(data), [data])
        count = 0
        for blob in self._blobs():
            if self.without_damaged and not is_whole(self.artifacts, blob):
                self.damaged.append(blob.digest)
                continue
            self.archive.add(f"artifacts/{blob.digest}", blob.size, self._bytes(blob))
            count += 1
        outputs = self._outputs(printed)
        rows = {table.name: self._table(table) for table in self.tables}
        self.archive.close(artifacts=count, rows=rows)
        return ExportSummary(
            workspace=self.tx.workspace,
            seq=header.seq,
            bytes=self.archive.bytes,
            artifacts=count,
            rows=rows,
            outputs=sum(one.missing is None for one in outputs),
            without_output=sorted({one.task for one in outputs if one.missing}),
            damaged=self.damaged,
        )

    def _outputs(self, printed: Iterable[Printed]) -> list[SavedOutput]:
        """What was printed: first the list, then the bytes, each copied before it is written."""
        with TemporaryDirectory(prefix="longhouse-") as folder:
            found = []
            for one in printed:
                with (Path(folder) / f"{one.task}.{one.stream}").open("w+b") as file:
                    found.append(save(one, file))
            data = msgspec.json.encode(Contents(outputs=found, damaged=self.damaged))
            self.archive.add("contents.json", len(data), [data])
            for saved in found:
                if saved.missing is None:
                    name = f"{saved.task}.{saved.stream}"
                    with (Path(folder) / name).open("rb") as file:
                        chunks = iter(partial(file.read, _CHUNK), b"")
                        self.archive.add(f"output/{name}", saved.stored, chunks)
        return found

    def _blobs(self) -> Iterator[Blob]:
        """Every digest of the workspace, once and in order."""
        extra = sorted({Blob(row["digest"], row["stored"]) for row in self.sealed.values()})
        after = ""
        while rows := self.tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
            after = rows[-1]["digest"]
            for row in rows:
                while extra and extra[0].digest <= row["digest"]:
                    if (blob := extra.pop(0)).digest < row["digest"]:
                        yield blob
                yield Blob(row["digest"], row["stored"])
        yield from extra

    def _bytes(self, blob: Blob) -> Iterator[bytes]:
        """The bytes; raises at their end if they are not those of the digest."""
        hashed = hashlib.sha256()
        for chunk in chunks_of(self.artifacts, blob):
            hashed.update(chunk)
            yield chunk
        if hashed.hexdigest() != blob.digest:
            raise BytesLost(
                f"the bytes of artifact:{blob.digest[:12]} are damaged; nothing was exported",
                recovery="add the same file again, or leave damaged ones out: --without-damaged",
            )

    def _table(self, table: Table) -> int:
        """The rows as lines of JSON arrays, in parts that fit in memory."""
        shifts = table.shifts(self.shift)
        lines: list[bytes] = []
        size = count = part = 0
        for row in self._rows(table):
            values = [_plain(row[column]) for column in table.columns]
            for index, by in shifts:
                if values[index] is not None:
                    values[index] += by
            lines.append(msgspec.json.encode(values) + b"\n")
            size += len(lines[-1])
            count += 1
            if size >= _PART:
                self._part(table, part, size, lines)
                part, size, lines = part + 1, 0, []
        if lines:
            self._part(table, part, size, lines)
        return count

    def _part(self, table: Table, part: int, size: int, lines: Iterable[bytes]) -> None:
        self.archive.add(f"tables/{table.name}.{part:06d}.jsonl", size, lines)

    def _rows(self, table: Table) -> Iterator[Row]:
        """The rows unchanged, except that growing logs count as sealed."""
        rows = table.rows(self.tx)
        if table.name == "artifacts":
            return (self.sealed.get(row["handle"], row) for row in rows)
        if table.name == "artifact_usage":
            more = sum(row["stored"] for row in self.sealed.values())
            return ({**row, "bytes": row["bytes"] + more} for row in rows)
        return rows

    def _as_sealed(self, row: Row) -> Row:
        name = log_name(self.tx.ws, row["handle"])
        log = self.artifacts.logs.open(name, cap=row["cap"])
        blob, size, gap = self.artifacts.finish(log, now_ms=self.tx.now_ms, shared=True)
        return {
            **row,
            "state": "sealed",
            "digest": blob.digest,
            "size": size,
            "stored": blob.size,
            "gap_at": gap.at if gap else None,
            "gap_bytes": gap.bytes if gap else 0,
            "gap_lines": gap.lines if gap else 0,
            "sealed_at_ms": row["created_at_ms"],
        }


def chunks_of(artifacts: Artifacts, blob: Blob) -> Iterator[bytes]:
    """The bytes stored under a digest, right or wrong; raises if some are missing."""
    for at in range(0, blob.size, _CHUNK):
        size = min(_CHUNK, blob.size - at)
        data = artifacts.blobs.get(blob.digest, at, size)
        yield data
        if len(data) < size:
            raise BytesLost(f"artifact:{blob.digest[:12]} has only {at + len(data)} bytes")


def is_whole(artifacts: Artifacts, blob: Blob) -> bool:
    """Whether the bytes stored under a digest are there and have that digest."""
    hashed = hashlib.sha256()
    try:
        for chunk in chunks_of(artifacts, blob):
            hashed.update(chunk)
    except StoreBusy:
        raise  # it says nothing about the bytes
    except LonghouseError:
        return False
    return hashed.hexdigest() == blob.digest


def _plain(value: Any) -> Any:
    """The value as JSON; bytes become an object, which is unambiguous because no column has any."""
    if isinstance(value, bytes | memoryview):
        return {"b64": base64.b64encode(value).decode()}
    return value
