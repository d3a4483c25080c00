"""Bytes as they are: for callers who work here, and never with a token of this house among them.

Nothing can be starred out of what must stay byte for byte. So whoever may only look is shown text
alone, and a file that holds a token is refused as a whole until that token has been revoked.
"""

from __future__ import annotations

from longhouse.kernel.errors import Forbidden
from longhouse.kernel.registry import Role
from longhouse.kernel.secret_shapes import own_tokens
from longhouse.store.artifacts.disk import sha256
from longhouse.store.artifacts.masking import bytes_around
from longhouse.store.artifacts.room import sql
from longhouse.store.artifacts.types import Artifact
from longhouse.store.artifacts.view import ArtifactView, Piece
from longhouse.store.tx import Tx

__all__ = ["refuse_bytes", "refuse_tokens_at"]

_BLOCK = 1 << 20
_OVERLAP = 256


def refuse_bytes(tx: Tx, artifact: Artifact, view: ArtifactView) -> None:
    """Refuse a viewer, and bytes that hold a token of this house which is not known to be dead."""
    if tx.by.role < Role.AGENT:
        raise Forbidden(
            f"{artifact.ref} is not text; reading bytes needs the role agent",
            recovery="ask an agent, or use a token made by `longhouse token create --role agent`",
        )
    at, before = 0, b""
    while (piece := view.read(at, _BLOCK)).data:
        _refuse_tokens(tx, artifact.ref, before + piece.data)
        at, before = piece.next_offset, piece.data[-_OVERLAP:]


def refuse_tokens_at(tx: Tx, what: str, view: ArtifactView, piece: Piece) -> None:
    """Refuse a piece that holds a part of such a token, or lies right beside one."""
    before, after = bytes_around(view, piece)
    _refuse_tokens(tx, what, before[-_OVERLAP:] + piece.data + after[:_OVERLAP])


def _refuse_tokens(tx: Tx, what: str, data: bytes) -> None:
    for token in own_tokens(data.decode("latin-1")):
        if tx.one(sql.token_is_dead, digest=sha256(token.encode()).hexdigest()) is None:
            raise Forbidden(
                f"{what} holds a token of this house; its bytes are not handed out",
                recovery="revoke that token (`longhouse token list`), then read it again",
            )
