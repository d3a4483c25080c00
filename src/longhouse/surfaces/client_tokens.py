"""The token of an MCP client on this machine: the client's own, not the user's.

It is created once for each store and client, with the user's authority, and kept in the user's own
configuration folder, outside any repository. Only the user sets its role (`longhouse init --role`):
whatever an entry in a repository says, a client starts with the role agent. Only `longhouse init`
replaces a revoked token.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import Settings, user_file
from longhouse.kernel.errors import InvalidInput, Unauthenticated, UnknownId, is_full
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = [
    "CLIENTS",
    "OTHER",
    "Ask",
    "ClientToken",
    "ClientTokens",
    "known_tokens",
    "move_tokens",
]

OTHER = "other"
CLIENTS = ("claude-code", "codex", "cursor", OTHER)
Ask = Callable[..., Any]
"""Makes a call as the user and returns its result: `ask("system.token.list", id=…)`."""


class ClientToken(NamedTuple):
    """A token as stored in the client's file; files of earlier versions do not say its role."""

    id: str
    token: str
    role: str | None = None


class ClientTokens:
    """Stores, creates and revokes the token of one client of one store."""

    def __init__(self, settings: Settings, client: str) -> None:
        self._client = client
        own = user_file()
        if own is None:
            raise InvalidInput(
                "your configuration folder, where the client's token is kept, is unknown",
                recovery="set HOME or XDG_CONFIG_HOME to an absolute path",
            )
        self.path = _folder(own, settings) / f"{client}.json"

    def kept(self) -> ClientToken | None:
        try:
            found = json.loads(read_private(self.path))
            return ClientToken(str(found["id"]), str(found["token"]), found.get("role"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise self._unusable(error) from error

    def obtain(self, ask: Ask, *, refused: bool = False) -> ClientToken:
        """The client's token, created on first use; `refused` if the server rejected it."""
        kept = self.kept()
        if kept is not None and not refused:
            return kept
        with self._alone():
            kept = self.kept()
            if kept is not None:
                row = _row(ask, kept)
                if row is not None and row.get("revoked_at_ms"):
                    raise Unauthenticated(
                        f"the token of this client, {kept.id}, was revoked",
                        recovery="to readmit the client, the person who revoked it runs "
                        f"`longhouse init --client {self._client}`",
                    )
                if row is not None:
                    return kept
            # There is none yet, or it belongs to an earlier store in this folder.
            return self._make(ask, "agent")

    def renew(self, ask: Ask, role: str) -> ClientToken:
        """A valid token with that role, replacing any other; only `longhouse init` calls this."""
        with self._alone():
            kept = self.kept()
            row = _row(ask, kept) if kept else None
            live = row is not None and not row.get("revoked_at_ms")
            if kept and row and live and row["role"] == role:
                return kept
            made = self._make(ask, role)
            if kept and live:
                ask("system.token.revoke", id=kept.id)
            return made

    def forget(self, ask: Ask) -> None:
        """Revoke the token and delete its file."""
        kept = self.kept()
        if kept is None:
            return
        with suppress(UnknownId):  # already revoked, or of an earlier store
            ask("system.token.revoke", id=kept.id)
        self.path.unlink(missing_ok=True)

    def _make(self, ask: Ask, role: str) -> ClientToken:
        made = ask("system.token.create", role=role, client=self._client)
        kept = ClientToken(made["id"], made["token"], role)
        try:
            write_private(self.path, json.dumps(kept._asdict()).encode())
        except OSError as error:
            raise self._unusable(error) from error
        return kept

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold a lock, so that two processes of one client create only one token."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open_private(Path(f"{self.path}.lock"), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _unusable(self, error: Exception) -> InvalidInput:
        why = error.strerror if isinstance(error, OSError) else "the file is damaged"
        is_short = isinstance(error, OSError) and is_full(error)
        return InvalidInput(
            f"{self.path}: the client's token cannot be read or stored: {why}",
            recovery="free up space, then run it again"
            if is_short
            else "make that path writable, or set XDG_CONFIG_HOME to a folder that is",
        )


def _folder(own: Path, settings: Settings) -> Path:
    store = hashlib.sha256(os.fsencode(f"{settings.dir}\n{settings.store}")).hexdigest()[:24]
    return own.parent / "clients" / store


def move_tokens(before: Settings, after: Settings) -> None:
    """Let the tokens of a store's clients follow it to another folder."""
    own = user_file()
    if own is None:
        return
    source, target = _folder(own, before), _folder(own, after)
    if source.is_dir() and source != target and not target.exists():
        source.rename(target)


def known_tokens(settings: Settings) -> list[ClientToken]:
    """The tokens that this user's own configuration keeps for a store's clients."""
    own = user_file()
    found = sorted(_folder(own, settings).glob("*.json")) if own else []
    return [kept for path in found if (kept := ClientTokens(settings, path.stem).kept())]


def _row(ask: Ask, kept: ClientToken) -> dict[str, Any] | None:
    """The token's record in the store."""
    rows: list[dict[str, Any]] = ask("system.token.list", id=kept.id)["tokens"]
    return rows[0] if rows else None
