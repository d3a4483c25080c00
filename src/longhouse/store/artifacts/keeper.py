"""The artifact store of a house: bytes first, row second, so a row never lacks its bytes.

`stage` stores bytes outside any transaction; `record` makes them an artifact of a workspace inside
one. Bytes that never get a row are garbage and are swept after an hour.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import Conflict, StoreError, Suggestion, UnknownId
from longhouse.store.artifacts.blobs import Blob, BytesPlace, LogWriter, QuotaExceeded
from longhouse.store.artifacts.disk import Dir, sha256
from longhouse.store.artifacts.folder import FolderPlace
from longhouse.store.artifacts.growing import Gap
from longhouse.store.artifacts.room import sql
from longhouse.store.artifacts.types import Artifact, ListArtifacts
from longhouse.store.artifacts.view import ArtifactView, LineCounts, Pread, nearby
from longhouse.store.recall.index import Text, index_part
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["DEFAULT_CAP", "Artifacts", "QuotaExceeded", "artifacts_of", "log_name"]

DEFAULT_CAP = 16 << 20
DEFAULT_QUOTA = 10 << 30
_INDEXED = 32
_NO_QUOTA = 2**62


class Artifacts:
    """Artifacts in one place: a folder, or the store's database."""

    def __init__(self, place: Path | BytesPlace, *, quota_bytes: int = DEFAULT_QUOTA) -> None:
        self.place: BytesPlace = FolderPlace(place) if isinstance(place, Path) else place
        self.blobs, self.logs = self.place.blobs, self.place.logs
        self.quota_bytes = quota_bytes
        self._counts: dict[tuple[str, Gap | None], LineCounts] = {}

    @classmethod
    def from_house(cls, house: HouseFacts) -> Artifacts:
        settings = house.settings
        return cls(
            _place(settings.artifacts, settings.dir, house.store_engine),
            quota_bytes=settings.artifact_quota_mb << 20,
        )

    @property
    def folder(self) -> FolderPlace:
        """The folder; only for callers that know that these artifacts are in one."""
        assert isinstance(self.place, FolderPlace)
        return self.place

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def growing(self) -> Dir:
        return self.folder.growing

    # Bytes, outside transactions

    def stage(
        self,
        data: bytes | Iterable[bytes],
        *,
        now_ms: int,
        digest: str | None = None,
        most: int | None = None,
    ) -> Blob:
        """Store bytes and return what to `record`; a failed attempt leaves nothing behind.

        Bytes that do not have the given `digest`, or are more than `most`, are refused.
        """
        chunks = [data] if isinstance(data, bytes) else data
        return self.blobs.stage(chunks, now_ms=now_ms, digest=digest, most=most)

    def log(self, artifact: Artifact, workspace_id: int, *, cap: int | None) -> LogWriter:
        """The writer's end of a log that `begin` recorded; reopen it the same way after a crash."""
        return self.logs.open(log_name(workspace_id, artifact.handle), cap=cap)

    def finish(
        self, log: LogWriter, *, now_ms: int, shared: bool = False
    ) -> tuple[Blob, int, Gap | None]:
        """Put a log's bytes under their digest and return what to `seal`.

        With `shared`, the log goes on growing. Its readers keep it until a sweep finds it sealed.
        """
        return self.logs.finish(log, now_ms=now_ms, shared=shared)

    # Rows, inside transactions

    def record(
        self,
        tx: Tx,
        blob: Blob,
        *,
        name: str,
        media_type: str = "application/octet-stream",
        owner: str | None = None,
        expires_at_ms: int | None = None,
    ) -> tuple[Artifact, bool]:
        """Make staged bytes an artifact; the same bytes, name and owner give the same artifact."""
        if self.blobs.size(blob.digest) != blob.size:
            raise StoreError("the staged bytes are gone; nothing was recorded")
        if row := tx.one(sql.artifact_same, digest=blob.digest, name=name, owner=owner):
            return self._prolong(tx, Artifact.from_row(row), expires_at_ms), False
        self._take(tx, blob.size)
        made = self._add(
            tx, blob=blob, name=name, media_type=media_type, owner=owner, expires=expires_at_ms
        )
        return made, True

    def put(
        self, tx: Tx, data: bytes, *, name: str, owner: str | None = None, **about: Any
    ) -> tuple[Artifact, bool]:
        """Stage and record in one step, for handlers with little to store."""
        self.expect(tx, Blob(sha256(data).hexdigest(), len(data)), name=name, owner=owner)
        blob = self.stage(data, now_ms=tx.now_ms)
        return self.record(tx, blob, name=name, owner=owner, **about)

    def expect(self, tx: Tx, blob: Blob, *, name: str, owner: str | None) -> None:
        """Refuse bytes that the quota has no room for, before any of them is written."""
        if not tx.one(sql.artifact_same, digest=blob.digest, name=name, owner=owner):
            self._refuse_beyond(tx, blob.size)

    def expect_more(self, tx: Tx, handle: str, size: int) -> None:
        """The same for bytes to append to a growing log, counting all growing logs as if sealed."""
        rows = {log_name(tx.ws, row["handle"]): row for row in tx.all(sql.artifacts_growing)}
        held = 0
        for name, kept in self.logs.held(list(rows)).items():
            row = rows[name]
            kept += size if row["handle"] == handle else 0
            held += kept if row["cap"] is None else min(kept, row["cap"])
        self._refuse_beyond(tx, held)

    def left(self, tx: Tx) -> int:
        """How many bytes this workspace's quota has left."""
        return max(0, self.quota_bytes - int(tx.value(sql.usage_now) or 0))

    def begin(
        self,
        tx: Tx,
        *,
        name: str,
        media_type: str = "text/plain",
        owner: str | None = None,
        cap: int | None = DEFAULT_CAP,
        expires_at_ms: int | None = None,
    ) -> Artifact:
        """Record a log that is about to grow; refused if the quota is used up."""
        self._take(tx, 0)
        return self._add(
            tx,
            blob=None,
            name=name,
            media_type=media_type,
            owner=owner,
            expires=expires_at_ms,
            cap=cap,
        )

    def seal(self, tx: Tx, handle: str, blob: Blob, size: int, gap: Gap | None) -> Artifact:
        """Seal a finished log; a log can be sealed only once.

        From now on its bytes count against the quota, and may exceed it, so that no process's
        output is lost.
        """
        if self.blobs.size(blob.digest) != blob.size:
            raise StoreError("the log's bytes are gone; it was not sealed")
        seq = tx.seqs(1)
        row = tx.one(
            sql.artifact_seal,
            handle=handle,
            digest=blob.digest,
            size=size,
            stored=blob.size,
            gap_at=gap.at if gap else None,
            gap_bytes=gap.bytes if gap else 0,
            gap_lines=gap.lines if gap else 0,
            now=tx.now_ms,
            seq=seq,
        )
        if row is None:
            raise Conflict(
                f"{handle} is not a growing log; nothing was sealed",
                recovery=f"read it with docs.artifact.show id={handle}",
            )
        tx.one(sql.usage_take, bytes=blob.size, quota=_NO_QUOTA)
        made = Artifact.from_row(row)
        tx.append("artifacts", handle, "sealed", _logged(made), seq=seq)
        return made

    def find(self, tx: Tx, wanted: str) -> Artifact:
        """Find by handle, digest or digest prefix, with or without `artifact:`."""
        text = wanted.strip().removeprefix("artifact:")
        if row := tx.one(sql.artifact_by_handle, handle=text):
            return Artifact.from_row(row)
        rows = []
        if 8 <= len(text) <= 64 and not text.strip("0123456789abcdef"):
            rows = tx.all(sql.artifacts_by_digest, low=text, high=text + "g", limit=2)
        if not rows:
            raise UnknownId(
                f"id: there is no artifact {wanted[:80]!r}",
                recovery="list them with docs.artifact.list; eight digits of a digest are enough",
                suggest=[Suggestion(ListArtifacts(), "list the artifacts")],
            )
        if len({row["digest"] for row in rows}) > 1:
            raise Conflict(
                f"id: more than one digest begins with {text}", recovery="give more of its digits"
            )
        return Artifact.from_row(rows[0])

    # Reading

    def view(self, artifact: Artifact, workspace_id: int) -> ArtifactView:
        """The bytes of an artifact by the offsets of its stream."""
        if artifact.digest is not None:
            gap, digest, blobs = artifact.cut, artifact.digest, self.blobs
            stored = artifact.size - (gap.bytes if gap else 0)
            return ArtifactView(
                self._near(lambda at, length: blobs.get(digest, at, length), 0, stored),
                artifact.size,
                gap,
                counts=self._counts_of(digest, gap),
            )
        name = log_name(workspace_id, artifact.handle)
        log = self.logs.look(name)
        if log is None:
            return ArtifactView(lambda _offset, _length: b"", 0)
        pread = log.pread if log.gap else self._near(log.pread, 0, log.size)
        return ArtifactView(
            pread, log.size, log.gap, compact=False, counts=self._counts_of(name, log.gap)
        )

    def read(self, artifact: Artifact, workspace_id: int, offset: int, length: int) -> bytes:
        """Just the bytes of a range, by the fastest path."""
        if artifact.digest is not None and artifact.gap is None:
            return self.blobs.get(artifact.digest, offset, length)
        return self.view(artifact, workspace_id).read(offset, length).data

    def held(self, artifact: Artifact, workspace_id: int) -> int:
        """How many of its bytes are stored, without its gap; for a growing log, so far."""
        if artifact.digest is not None:
            return artifact.size - (artifact.cut.bytes if artifact.cut else 0)
        name = log_name(workspace_id, artifact.handle)
        return self.logs.held([name])[name]

    def undisturbed(self) -> AbstractContextManager[None]:
        """Prevents sweeps while held; for backups and exports."""
        return self.place.lock(alone=False)

    def alone(self) -> AbstractContextManager[None]:
        """The exclusive lock for the sweep, which waits for backups and exports to finish."""
        return self.place.lock(alone=True)

    def _near(self, pread: Pread, start: int, end: int) -> Pread:
        """From a folder, as it is; from a database, with what surrounds it, in one round trip."""
        return pread if isinstance(self.place, FolderPlace) else nearby(pread, start, end)

    def _counts_of(self, key: str, gap: Gap | None) -> LineCounts:
        while len(self._counts) >= _INDEXED:
            self._counts.pop(next(iter(self._counts)), None)
        return self._counts.setdefault((key, gap), LineCounts())

    def _add(
        self,
        tx: Tx,
        *,
        blob: Blob | None,
        name: str,
        media_type: str,
        owner: str | None,
        expires: int | None,
        cap: int | None = None,
    ) -> Artifact:
        seq = tx.seqs(1)
        row = tx.one(
            sql.artifact_add,
            handle=f"ART-{tx.count('artifact'):03d}",
            name=name,
            media_type=media_type,
            owner=owner,
            state="sealed" if blob else "growing",
            digest=blob.digest if blob else None,
            size=blob.size if blob else 0,
            cap=cap,
            now=tx.now_ms,
            sealed=tx.now_ms if blob else None,
            expires=expires,
            seq=seq,
        )
        assert row is not None
        made = Artifact.from_row(row)
        kind = "added" if blob else "begun"
        tx.append("artifacts", made.handle, kind, _logged(made), seq=seq)
        if blob:
            text = Text(seq, "artifact", name, media_type, (made.handle,), author=tx.actor)
            index_part(tx, text)
        return made

    def _prolong(self, tx: Tx, artifact: Artifact, expires: int | None) -> Artifact:
        before = artifact.expires_at_ms
        if before is None or (expires is not None and expires <= before):
            return artifact
        seq = tx.seqs(1)
        row = tx.one(sql.artifact_prolong, handle=artifact.handle, expires=expires, seq=seq)
        tx.append("artifacts", artifact.handle, "prolonged", {"expires_at_ms": expires}, seq=seq)
        return Artifact.from_row(row) if row else artifact

    def _take(self, tx: Tx, size: int) -> None:
        quota = self.quota_bytes if size else self.quota_bytes - 1
        if tx.one(sql.usage_take, bytes=size, quota=quota) is None:
            raise self._exceeded(tx, size)

    def _refuse_beyond(self, tx: Tx, size: int) -> None:
        if size > self.left(tx):
            raise self._exceeded(tx, size)

    def _exceeded(self, tx: Tx, size: int) -> QuotaExceeded:
        used = int(tx.value(sql.usage_now) or 0)
        return QuotaExceeded(
            f"{size} bytes do not fit: {used} of {self.quota_bytes} are used in this workspace"
        )


def _place(folder: Path | None, store: Path, engine: Any) -> BytesPlace:
    """The folder that is set; otherwise the database, and the store's own folder from before."""
    if folder is not None:
        return FolderPlace(folder)
    from longhouse.store.artifacts.database import DatabasePlace

    before = store / "artifacts"
    return DatabasePlace(engine, FolderPlace(before) if (before / "blobs").is_dir() else None)


def log_name(workspace_id: int, handle: str) -> str:
    """The file name of a growing log: only numbers, nothing that a caller chose."""
    return f"{workspace_id}.{handle}.log"


def artifacts_of(where: Any) -> Artifacts:
    """The artifact store of a house, or of the house of a transaction or call."""
    keeper: Artifacts = where.facts.of(Artifacts)
    return keeper


def _logged(artifact: Artifact) -> dict[str, Any]:
    about = {"name": artifact.name, "size": artifact.size}
    return about | {k: v for k in ("digest", "owner") if (v := getattr(artifact, k)) is not None}
