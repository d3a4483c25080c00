"""`system.token.*`: who may call this server. A token is shown once; only its digest is stored.

The digest is a plain SHA-256: tokens are 256 random bits, so guessing is hopeless. A token with a
name acts as the agent with that name and as no other.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

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
from longhouse.kernel.errors import Conflict, InvalidInput, UnknownId
from longhouse.kernel.refs import check_workspace
from longhouse.kernel.registry import Role
from longhouse.store.tx import Tx, sql

__all__ = [
    "TOKENS",
    "TOKEN_PREFIX",
    "digest_of",
    "workspaces_of",
]

TOKEN_PREFIX = "lh_"  # noqa: S105  (a prefix, not a secret)
HOUR_MS = 3_600_000
TOKENS = "tokens"
"""The key of the knock (`tx.knock`) that says that a token no longer works."""


def digest_of(token: str) -> str:
    """The digest that is stored for a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_token(tx: Tx) -> str:
    return TOKEN_PREFIX + tx.ids.token(32)


def _reissue(tx: Tx, answer: dict[str, Any], before: str) -> str:
    """Issue a new secret for a token whose first answer may have been lost."""
    token = new_token(tx)
    tx.knock(TOKENS)
    if not tx.one(
        sql.token_reissue,
        token_id=answer["id"],
        before=before,
        digest=digest_of(token),
        now=tx.now_ms,
    ):
        raise Conflict(
            f"idempotency_key: it created {answer['id']}, which has been revoked",
            recovery="create another token with a new key",
        )
    tx.append("system", answer["id"], "token_reissued")
    return token


@room.command(
    "system.token.create",
    also="system.token.new system.tokens.create token.create token",
    writes=True,
    role=Role.OPERATOR,
    needs_workspace=False,
    reveals=["token"],
    reissue=_reissue,
    example=CreateToken(role="viewer", name="wall"),
)
def create_token(tx: Tx, req: CreateToken) -> TokenCreated:
    """Create a token; only this answer ever shows it."""
    workspaces = sorted({check_workspace(name) for name in req.workspaces})
    if workspaces and req.role == "operator":
        raise InvalidInput(
            "workspaces: an operator can create tokens for any workspace, so this limits nothing",
            recovery="choose a lower role, or leave workspaces out",
        )
    if req.runner and (req.client or req.role == "viewer"):
        raise InvalidInput(
            "runner: a viewer and an MCP client cannot host background processes",
            recovery="longhouse token create --role agent --runner",
        )
    token = new_token(tx)
    token_id = f"TOK-{tx.ids.token(5)}"
    expires = tx.now_ms + req.expires_hours * HOUR_MS if req.expires_hours else None
    tx.run(
        sql.token_add,
        token_id=token_id,
        digest=digest_of(token),
        role=req.role,
        name=req.name.strip(),
        client=req.client,
        now=tx.now_ms,
        workspaces=msgspec.json.encode(workspaces).decode() if workspaces else None,
        expires_at_ms=expires,
        runner=int(req.runner),
    )
    if not req.client:  # a client's automatic token is not an event of the workspace
        told = {"role": req.role, "name": req.name.strip(), "runner": req.runner}
        tx.append("system", token_id, "token_created", told)
    return TokenCreated(
        id=token_id,
        role=req.role,
        name=req.name.strip(),
        client=req.client,
        token=token,
        workspaces=workspaces,
        expires_at_ms=expires,
        runner=req.runner,
    )


def workspaces_of(stored: str | None) -> tuple[str, ...] | None:
    """The workspaces a token is limited to; None means no limit."""
    return tuple(msgspec.json.decode(stored)) if stored else None


@room.command(
    "system.token.list",
    also="tokens token.list token",
    role=Role.OPERATOR,
    needs_workspace=False,
    example=ListTokens(),
    trim=[Pop("tokens")],
)
def list_tokens(tx: Tx, req: ListTokens) -> TokenPage:
    """List the tokens, newest first, without their secrets."""
    rows = tx.all(sql.token_list, token_id=req.id, limit=req.limit + 1)
    page = [
        TokenRow(
            id=row["token_id"],
            role=row["role"],
            name=row["name"],
            client=row["client"],
            created_at_ms=row["created_at_ms"],
            revoked_at_ms=row["revoked_at_ms"],
            workspaces=list(workspaces_of(row["workspaces"]) or ()),
            expires_at_ms=row["expires_at_ms"],
            runner=bool(row["runner"]),
        )
        for row in rows[: req.limit]
    ]
    return TokenPage(tokens=page, count=len(page), has_more=len(rows) > req.limit)


@room.command(
    "system.token.revoke",
    also="system.token.delete token.revoke system.token.remove revoke",
    writes=True,
    destructive=True,
    role=Role.OPERATOR,
    needs_workspace=False,
    example=RevokeToken(id="TOK-0a1b2c3d4e"),
)
def revoke_token(tx: Tx, req: RevokeToken) -> TokenRevoked:
    """Revoke a token: its calls are refused, its open streams and waits end within a second."""
    if tx.one(sql.token_revoke, token_id=req.id, now=tx.now_ms) is None:
        raise UnknownId(
            f"id: there is no active token {req.id[:64]!r}", recovery="list them: system.token.list"
        )
    tx.append("system", req.id, "token_revoked")
    tx.knock(TOKENS)
    return TokenRevoked(id=req.id, revoked=True)
