"""`docs.artifact.join`: what is too large for one call comes in parts and is put together here.

Parts are artifacts like any other, added in any order and by any server of the store; whoever sends
them lets them expire soon. The whole is recorded only if its bytes have the digest that was asked
for, so that a part that was lost, changed or sent twice is never taken for the thing itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.disk import CHUNK
from longhouse.store.artifacts.keeper import Artifacts, artifacts_of
from longhouse.store.artifacts.owners import refuse_another_owner
from longhouse.store.artifacts.room import room
from longhouse.store.artifacts.types import Artifact, ArtifactAdded, JoinArtifacts
from longhouse.store.tx import Tx

__all__ = ["MOST_BYTES", "copy_parts", "join_artifacts"]

MOST_BYTES = 128 << 20
"""More than this is for `longhouse artifact add`, which reads the file itself."""

_EXAMPLE = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def copy_parts(tx: Tx, req: JoinArtifacts) -> Blob:
    """Put the parts together on disk, while others write; nothing stays of what is refused."""
    refuse_another_owner(tx, req.owner)
    keeper = artifacts_of(tx)
    parts = [_part(keeper, tx, number, wanted) for number, wanted in enumerate(req.parts)]
    blob = Blob(req.digest, sum(part.size for part in parts))
    if blob.size > MOST_BYTES:
        raise InvalidInput(
            f"parts: {blob.size} bytes in all, at most {MOST_BYTES}",
            recovery="store several artifacts, or the file itself with `longhouse artifact add`",
        )
    keeper.expect(tx, blob, name=req.name, owner=req.owner)
    try:
        return keeper.stage(_bytes(keeper, tx, parts), now_ms=tx.now_ms, digest=req.digest)
    except Conflict as error:
        raise Conflict(
            f"{error.message}; nothing is stored",
            recovery="add the parts again and join them in their order",
        ) from None


@room.command(
    "docs.artifact.join",
    writes=True,
    idempotent=True,
    ahead=copy_parts,
    example=JoinArtifacts(name="all.log", parts=[f"artifact:{_EXAMPLE[:12]}"], digest=_EXAMPLE),
)
def join_artifacts(tx: Tx, req: JoinArtifacts, blob: Blob) -> ArtifactAdded:
    """Make one artifact of parts that were added before, if it has the digest you give."""
    expires = None if req.expires_in_s is None else tx.now_ms + req.expires_in_s * 1000
    artifact, created = artifacts_of(tx).record(
        tx, blob, name=req.name, media_type=req.media_type, owner=req.owner, expires_at_ms=expires
    )
    return ArtifactAdded(ref=artifact.ref, artifact=artifact, created=created)


def _part(keeper: Artifacts, tx: Tx, number: int, wanted: str) -> Artifact:
    found = keeper.find(tx, wanted)
    if found.digest is None or found.gap is not None:
        raise InvalidInput(
            f"parts[{number}]: {wanted} is a log whose bytes are not all there",
            recovery="join what was stored with docs.artifact.add",
        )
    return found


def _bytes(keeper: Artifacts, tx: Tx, parts: list[Artifact]) -> Iterator[bytes]:
    for part in parts:
        for offset in range(0, part.size, CHUNK):
            yield keeper.read(part, tx.ws, offset, min(CHUNK, part.size - offset))
