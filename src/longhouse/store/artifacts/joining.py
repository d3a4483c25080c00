"""`docs.artifact.join`: combines the parts of an artifact that is too large for one call.

Parts are ordinary artifacts, added in any order through any server of the store; the sender gives
them a short expiry. The whole is recorded only if its bytes have the requested digest, so a part
that was lost, changed or sent twice cannot go unnoticed.

Joining reveals no more of the parts than reading them does. A caller who can name the digest of the
whole has its bytes: no refusal reveals it, and parts from whose digests it could be computed are
refused. Text, which is shown with secrets starred out, stays text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain, islice

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
"""Larger files need `longhouse artifact add`, which reads the file itself."""

_EXAMPLE = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def copy_parts(tx: Tx, req: JoinArtifacts) -> Blob:
    """Join the parts on disk without blocking other writes; a refusal leaves nothing behind."""
    refuse_another_owner(tx, req.owner)
    keeper = artifacts_of(tx)
    parts = [_part(keeper, tx, number, req) for number in range(len(req.parts))]
    blob = Blob(req.digest, sum(part.size for part in parts))
    if blob.size > MOST_BYTES:
        raise InvalidInput(
            f"parts: {blob.size} bytes in total, at most {MOST_BYTES} allowed",
            recovery="store several artifacts, or the file itself with `longhouse artifact add`",
        )
    _refuse_padding(keeper, tx, parts)
    keeper.expect(tx, blob, name=req.name, owner=req.owner)
    try:
        return keeper.stage(_bytes(keeper, tx, parts), now_ms=tx.now_ms, digest=req.digest)
    except Conflict:
        raise Conflict(
            f"digest: the joined parts do not have digest {req.digest}; nothing was stored",
            recovery="add the parts again and join them in order",
        ) from None


@room.command(
    "docs.artifact.join",
    writes=True,
    additive=True,
    idempotent=True,
    ahead=copy_parts,
    example=JoinArtifacts(
        name="all.log",
        parts=[f"artifact:{_EXAMPLE[:12]}"],
        digest=_EXAMPLE,
        media_type="text/plain",
    ),
)
def join_artifacts(tx: Tx, req: JoinArtifacts, blob: Blob) -> ArtifactAdded:
    """Make one artifact from parts added before, if it has the digest you give."""
    expires = None if req.expires_in_s is None else tx.now_ms + req.expires_in_s * 1000
    artifact, created = artifacts_of(tx).record(
        tx, blob, name=req.name, media_type=req.media_type, owner=req.owner, expires_at_ms=expires
    )
    return ArtifactAdded(ref=artifact.ref, artifact=artifact, created=created)


def _part(keeper: Artifacts, tx: Tx, number: int, req: JoinArtifacts) -> Artifact:
    wanted = req.parts[number]
    found = keeper.find(tx, wanted)
    if found.digest is None or found.gap is not None:
        raise InvalidInput(
            f"parts[{number}]: {wanted} is an incomplete log",
            recovery="join only artifacts stored with docs.artifact.add",
        )
    if found.media_type.startswith("text/") and not req.media_type.startswith("text/"):
        raise InvalidInput(
            f"media_type: parts[{number}] is text, so the whole is too; fix: media_type=text/plain",
            recovery="join it as text; for a binary file, add the parts with content_b64",
        )
    return found


def _refuse_padding(keeper: Artifacts, tx: Tx, parts: list[Artifact]) -> None:
    """Refuse parts that begin with the SHA-256 padding of the parts before them.

    The digest of the whole could then be computed from the digest of those, without their bytes.
    """
    for number, size in enumerate(accumulate(part.size for part in parts[:-1]), 1):
        padding = b"\x80" + bytes((55 - size) % 64) + (size * 8).to_bytes(8, "big")
        following = chain.from_iterable(_bytes(keeper, tx, parts[number:]))
        if bytes(islice(following, len(padding))) == padding:
            raise InvalidInput(
                f"parts[{number}]: begins with the SHA-256 padding of the parts before it",
                recovery="add the same bytes again, split at other offsets",
            )


def _bytes(keeper: Artifacts, tx: Tx, parts: list[Artifact]) -> Iterator[bytes]:
    for part in parts:
        for offset in range(0, part.size, CHUNK):
            yield keeper.read(part, tx.ws, offset, min(CHUNK, part.size - offset))
