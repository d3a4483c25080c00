"""`system.token.*`: who may call this server. A credential is shown once; only its digest is kept.

The digest is a plain SHA-256: tokens are 256 random bits, so there is nothing to guess.
"""

from __future__ import annotations

import hashlib

from longhouse.desk.room import room
from longhouse.desk.types.system import (
    CreateToken,
    ListTokens,
    RevokeToken,
    TokenCreated,
    TokenPage,
    TokenRevoked,
    TokenRow,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.registry import Role
from longhouse.store.tx import Tx, sql

__all__ = [
    "TOKEN_PREFIX",
    "digest_of",
]

TOKEN_PREFIX = "lh_"  # noqa: S105  (a prefix, not a secret)


def digest_of(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


@room.command(
    "system.token.create",
    writes=True,
    role=Role.OPERATOR,
    needs_workspace=False,
    reveals=["token"],
    example=CreateToken(role="viewer", name="wall"),
)
def create_token(tx: Tx, req: CreateToken) -> TokenCreated:
    """Make a token; the answer is the only place that ever shows it."""
    token = TOKEN_PREFIX + tx.ids.token(32)
    token_id = f"TOK-{tx.ids.token(5)}"
    tx.run(
        sql.token_add,
        token_id=token_id,
        digest=digest_of(token),
        role=req.role,
        name=req.name,
        now=tx.now_ms,
    )
    tx.append("system", token_id, "token_created", {"role": req.role, "name": req.name})
    return TokenCreated(id=token_id, role=req.role, name=req.name, token=token)


@room.command(
    "system.token.list",
    role=Role.OPERATOR,
    needs_workspace=False,
    example=ListTokens(),
    trim=[Pop("tokens")],
)
def list_tokens(tx: Tx, req: ListTokens) -> TokenPage:
    """Which tokens there are, newest first, without the credentials."""
    rows = tx.all(sql.token_list, limit=req.limit + 1)
    page = [
        TokenRow(
            id=row["token_id"],
            role=row["role"],
            name=row["name"],
            created_at_ms=row["created_at_ms"],
            revoked_at_ms=row["revoked_at_ms"],
        )
        for row in rows[: req.limit]
    ]
    return TokenPage(tokens=page, count=len(page), has_more=len(rows) > req.limit)


@room.command(
    "system.token.revoke",
    writes=True,
    destructive=True,
    role=Role.OPERATOR,
    needs_workspace=False,
    example=RevokeToken(id="TOK-0a1b2c3d4e"),
)
def revoke_token(tx: Tx, req: RevokeToken) -> TokenRevoked:
    """End a token; it stops working with the next call."""
    if tx.one(sql.token_revoke, token_id=req.id, now=tx.now_ms) is None:
        raise UnknownId(
            f"id: there is no live token {req.id[:64]!r}", recovery="list them: system.token.list"
        )
    tx.append("system", req.id, "token_revoked")
    return TokenRevoked(id=req.id, revoked=True)
