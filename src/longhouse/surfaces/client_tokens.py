"""The token that an MCP client of this machine works under: one of its own, not the person's.

It is made once for each store and client, by the person's right, and kept in the person's own
folder, which no repository writes to. Its role is the person's word (`longhouse init --role`):
whatever an entry in a repository says, a client that nobody set up is an agent. One that was
revoked is replaced by `longhouse init` alone.
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
from longhouse.kernel.errors import InvalidInput, Unauthenticated, UnknownId
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = ["CLIENTS", "OTHER", "Ask", "ClientToken", "ClientTokens"]

OTHER = "other"
CLIENTS = ("claude-code", "codex", "cursor", OTHER)
Ask = Callable[..., Any]
"""Makes a call as the person and returns its result: `ask("system.token.list", id=…)`."""


class ClientToken(NamedTuple):
    """A token as it is kept."""

    id: str
    token: str


class ClientTokens:
    """Where the token of one client of one store is kept, and how it comes and goes."""

    def __init__(self, settings: Settings, client: str) -> None:
        self._client = client
        own = user_file()
        if own is None:
            raise InvalidInput(
                "nothing says where your own folder is, in which the client's token is kept",
                recovery="set HOME or XDG_CONFIG_HOME to an absolute path",
            )
        store = hashlib.sha256(os.fsencode(f"{settings.dir}\n{settings.store}")).hexdigest()[:24]
        self.path = own.parent / "clients" / store / f"{client}.json"

    def kept(self) -> ClientToken | None:
        try:
            found = json.loads(read_private(self.path))
            return ClientToken(str(found["id"]), str(found["token"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise self._unusable(error) from error

    def obtain(self, ask: Ask, *, refused: bool = False) -> ClientToken:
        """The client's token, made on first use; `refused` when the server did not take it."""
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
                        recovery="if it may work here again, the person who revoked it runs "
                        f"`longhouse init --client {self._client}`",
                    )
                if row is not None:
                    return kept
            # None yet, or one of a store that was here before this one.
            return self._make(ask, "agent")

    def renew(self, ask: Ask, role: str) -> ClientToken:
        """The person's word: a live token of that role, whatever was before."""
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
        """End the token, and keep it no longer."""
        kept = self.kept()
        if kept is None:
            return
        with suppress(UnknownId):  # revoked before, or of an earlier store
            ask("system.token.revoke", id=kept.id)
        self.path.unlink(missing_ok=True)

    def _make(self, ask: Ask, role: str) -> ClientToken:
        made = ask("system.token.create", role=role, client=self._client)
        kept = ClientToken(made["id"], made["token"])
        try:
            write_private(self.path, json.dumps(kept._asdict()).encode())
        except OSError as error:
            raise self._unusable(error) from error
        return kept

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two processes of one client that start together make one token."""
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
        why = error.strerror if isinstance(error, OSError) else "it is not what Longhouse wrote"
        return InvalidInput(
            f"{self.path}: the client's token cannot be kept there: {why}",
            recovery="make that path writable, or set XDG_CONFIG_HOME to a folder that is",
        )


def _row(ask: Ask, kept: ClientToken) -> dict[str, Any] | None:
    """What the store knows of it."""
    rows: list[dict[str, Any]] = ask("system.token.list", id=kept.id)["tokens"]
    return rows[0] if rows else None
