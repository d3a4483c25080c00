"""Finds the store's server for a bridge, or starts one.

A server of another version is replaced, but only by a bridge that has just started: bridges of two
versions running side by side share a server instead of stopping each other's.

The client's requests carry the client's own token. The user's token is used only to start the
server and to create the client's token if there is none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.__about__ import __version__
from longhouse.client import Wire, launch, locate, outcome_of
from longhouse.kernel.errors import Forbidden, LonghouseError, Unreachable
from longhouse.kernel.refs import check_workspace
from longhouse.surfaces.client_tokens import ClientTokens

if TYPE_CHECKING:
    from longhouse.surfaces.bridge.requests import ServedClient
    from longhouse.surfaces.cli.context import Cli

__all__ = ["Seeker", "ServerLink"]

IDLE_EXIT_S = 900
"""A server that a bridge started exits after 15 minutes without a call."""

PATIENCE_S = 45.0
PAUSE_S = 0.05


class ServerLink(NamedTuple):
    """A server that answered, and a wire to it with the headers every request needs."""

    wire: Wire
    instance: str


class Seeker:
    """Finds the server as often as needed; it blocks, so it runs in its own thread."""

    def __init__(self, cli: Cli, session: str, client: ServedClient) -> None:
        self._cli = cli
        self._client = client
        self._session = session
        self._may_replace = True
        self._seen = ""

    def seek(
        self, restore: Mapping[str, str], body: bytes | None, *, refused: bool = False
    ) -> ServerLink:
        """A link to the server; a new one is first sent `body`, which restores its session.

        `refused` if the last one rejected the client's token.
        """
        ends = time.monotonic() + PATIENCE_S
        while True:
            running, wire = self._found(ends)
            try:
                wire.headers.update(self._credential(wire, refused=refused))
                wire.headers.update(self._headers())
                if body and self._seen not in ("", running.instance):
                    wire.request("POST", "/mcp", headers=restore, body=body)
                self._seen = running.instance
                return ServerLink(wire, running.instance)
            except Unreachable:
                wire.close()
                if time.monotonic() > ends:
                    raise

    def _found(self, ends: float) -> tuple[locate.Running, Wire]:
        settings = self._cli.settings
        while True:
            found = locate.server_of(settings)
            if found and (found[0].version == __version__ or not self._may_replace):
                self._may_replace = False
                return found
            try:
                if found:
                    found[1].close()
                    self._replace(found[0])
                self._start()
            except LonghouseError as error:
                # A server that is starting or stopping holds the store: wait until it is done.
                if error.code != "SERVER_RUNNING" or time.monotonic() > ends:
                    raise
                time.sleep(PAUSE_S)

    def _replace(self, running: locate.Running) -> None:
        self._may_replace = False
        try:
            launch.stop(running)
        except ProcessLookupError:
            return
        except PermissionError:
            return  # another user's server: use it as it is

    def _start(self) -> None:
        from longhouse.surfaces.cli.commands.up import server_arguments, server_environment

        self._cli.need_a_store()
        idle_s = self._cli.settings.idle_exit_s or IDLE_EXIT_S
        arguments = [*server_arguments(self._cli), "--idle-exit", str(idle_s)]
        launch.start(self._cli.settings, arguments, environment=server_environment(self._cli))

    def _credential(self, wire: Wire, *, refused: bool) -> dict[str, str]:
        """The headers that authenticate the client; each of its processes is its own caller."""
        least = "viewer" if self._client.role == "viewer" else "agent"
        if self._client.agent_token:  # an entry may name any file of the user's, with any token
            return {**locate.bearer(self._client.agent_token), "Longhouse-Role": least}

        def ask(cmd: str, **args: Any) -> Any:
            headers = {"Content-Type": "application/json"}
            body = json.dumps(args).encode()
            return outcome_of(
                wire.request("POST", f"/call/{cmd}", headers=headers, body=body)
            ).result()

        tokens = ClientTokens(self._cli.settings, self._client.name)
        try:
            own = tokens.obtain(ask, refused=refused)
        except Forbidden:  # the user's token may not create others
            # An entry in a repository asks for this role, so it may lower the user's, not lend it.
            return {"Longhouse-Role": least}
        most = self._client.role or "operator"
        return {**locate.bearer(own.token), "Longhouse-Role": most}

    def _headers(self) -> dict[str, str]:
        settings = self._cli.settings
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Longhouse-Session": self._session,
            "Longhouse-Workspace": check_workspace(settings.workspace),
        }
        agent = settings.agent_id
        if agent and agent.isascii() and agent.isprintable():
            headers["Longhouse-Agent-Id"] = agent
        return headers
