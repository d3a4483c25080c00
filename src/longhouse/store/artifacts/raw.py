"""Raw bytes: only for agents and above, and never with a live Longhouse token among them.

Nothing can be starred out of binary data. A viewer is therefore shown only text, and a file that
contains a token is refused as a whole until that token has been revoked.
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

_BLOCK = 1 << 16
"""Small: other threads cannot run while a block is searched."""
_OVERLAP = 4_096
"""Longer than a token with a color around each of its characters."""


def refuse_bytes(tx: Tx, artifact: Artifact, view: ArtifactView) -> None:
    """Refuse a viewer, and bytes that contain a Longhouse token not known to be revoked."""
    if tx.by.role < Role.AGENT:
        raise Forbidden(
            f"{artifact.ref} is not text; reading bytes requires the agent role",
            recovery="use a token from `longhouse token create --role agent`",
        )
    at, before = 0, b""
    while (piece := view.read(at, _BLOCK)).data:
        _refuse_tokens(tx, artifact.ref, before + piece.data)
        at, before = piece.next_offset, piece.data[-_OVERLAP:]


def refuse_tokens_at(tx: Tx, what: str, view: ArtifactView, piece: Piece) -> None:
    """Refuse a piece that contains part of such a token, or is adjacent to one."""
    before, after = bytes_around(view, piece)
    _refuse_tokens(tx, what, before[-_OVERLAP:] + piece.data + after[:_OVERLAP])


def _refuse_tokens(tx: Tx, what: str, data: bytes) -> None:
    for token in own_tokens(data.decode("latin-1")):
        if tx.one(sql.token_is_dead, digest=sha256(token.encode()).hexdigest()) is None:
            raise Forbidden(
                f"{what} contains a Longhouse token, so its bytes cannot be read",
                recovery="revoke that token (`longhouse token list`), then read it again",
            )
