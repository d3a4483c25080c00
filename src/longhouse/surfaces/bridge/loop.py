"""The bridge's loop: one thread that waits for the client and for the server's answers.

It ends when the client closes its pipe, never because of a line's content: each request gets its
answer or a protocol error. Answers still pending then get a moment, for scripts that pipe in a few
requests; after that, or when no one reads any more, their connections are closed, which makes the
server cancel the calls.
"""

from __future__ import annotations

import os
import select
import selectors
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.client import jsonrpc, known_commands, new_key, outcome_of_text, tool_named
from longhouse.client.jsonrpc import META, MODERN, BadMessage, RpcMessage, read_message, routing
from longhouse.kernel.errors import InternalError, LonghouseError, StoreUnusable, Unreachable
from longhouse.surfaces.bridge.changes import ChangeReports
from longhouse.surfaces.bridge.messages import Answers, translated
from longhouse.surfaces.bridge.requests import SentRequest, ServedClient, arguments_of, parsed

if TYPE_CHECKING:
    from longhouse.client import Exchange
    from longhouse.surfaces.bridge.seek import ServerLink
    from longhouse.surfaces.cli.context import Cli

__all__ = ["BridgeLoop", "serve"]

LINGER_S = 2.0
LINE_BYTES = 16 * 1024 * 1024
TRIES = 5
SEND_S = 60.0
GREETINGS = ("initialize", "server/discover")


def serve(cli: Cli, client: ServedClient) -> int:
    """Serve one client over standard input and output until it closes them."""
    try:
        return BridgeLoop(cli, sys.stdin.fileno(), sys.stdout.fileno(), client).run()
    except BrokenPipeError:
        return 0  # the client is gone


class BridgeLoop:
    """Connects one client to the server."""

    def __init__(self, cli: Cli, source: int, sink: int, client: ServedClient) -> None:
        self._cli = cli
        self._source, self._sink = source, sink
        self._answers = Answers()
        self._only_reads: bool | None = client.role == "viewer" or None
        self._client: dict[str, Any] = {META + "clientCapabilities": {}}
        self._lines = client.lines
        self._selector = selectors.PollSelector()
        self._line = bytearray()
        self._too_long = False
        self._link: ServerLink | None = None
        self._waiting: list[SentRequest] = []
        self._sent: dict[Exchange, SentRequest] = {}
        self._search = Search(cli, self._selector, client)
        self._changes = ChangeReports(cli, client)
        self._chosen: SentRequest | None = None
        self._greeted = False
        """Whether a client has just connected, so that the server is found before it is needed."""

    def run(self) -> int:
        self._selector.register(self._source, selectors.EVENT_READ, self._read)
        reading, ends = True, 0.0
        while reading or self._waiting or self._sent:
            left_s = None if reading else max(0.0, ends - time.monotonic())
            for key, _ in self._selector.select(left_s):
                if key.data is None:
                    self._linked(self._search.finish())
                    ends = time.monotonic() + LINGER_S
                elif key.data != self._read:
                    self._arrived(key.data)
                elif not self._read():
                    reading, ends = False, time.monotonic() + LINGER_S
                    self._selector.unregister(self._source)
            if not reading and (self._deserted() or self._is_over(ends)):
                break
        for exchange in self._sent:
            exchange.close()
        self._changes.end()
        return 0

    def _is_over(self, ends: float) -> bool:
        return time.monotonic() >= ends and not (self._waiting and self._search.active)

    def _deserted(self) -> bool:
        """Whether the client has closed the pipe we write to."""
        look = select.poll()
        look.register(self._sink, 0)
        return bool(look.poll(0))

    # ------------------------------------------------------------------ from the client

    def _read(self) -> bool:
        """Read what the client has sent; False at end of input."""
        data = os.read(self._source, 262_144)
        *ends, rest = data.split(b"\n")
        for end in ends if data else [b""]:
            self._line += end
            self._take_line()
        self._line += rest
        if len(self._line) > LINE_BYTES:
            self._line.clear()
            self._too_long = True
        if self._greeted and self._link is None and not self._search.active:
            self._greeted = False
            self._seek()
        return bool(data)

    def _take_line(self) -> None:
        """Handle a complete line, whatever it contains."""
        line, too_long = bytes(self._line), self._too_long or len(self._line) > LINE_BYTES
        self._line.clear()
        self._too_long = False
        if too_long:
            text = "the line is too long; send large content in parts (docs.artifact.join)"
            self._write(jsonrpc.error(None, jsonrpc.INVALID_REQUEST, text))
        elif line.strip():
            try:
                self._heard(line)
            except BadMessage as bad:
                self._write(bad.answer)

    def _heard(self, line: bytes) -> None:
        message = read_message(line)
        if message is None:
            return  # an answer, though nothing was asked
        if message.id is not None:
            self._asked(line, message)
        elif message.method == "notifications/cancelled":
            self._cancel(message.params.get("requestId"))

    def _asked(self, line: bytes, asked: RpcMessage) -> None:
        meta = asked.params.get("_meta", {})
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(META + "protocolVersion")
        if version is not None and not (isinstance(version, str) and version.isprintable()):
            text = "params._meta: the protocol version is not printable text"
            self._write(jsonrpc.error(asked.id, jsonrpc.INVALID_PARAMS, text))
            return
        result = self._answers.here(asked.method, asked.params, version)
        if asked.method == "tools/list" and self._may_only_read():
            result = None  # the server knows what a viewer is told
        if result is not None:
            if asked.method == "initialize":
                self._meet(asked.params)
            if asked.method in GREETINGS:
                self._greeted = True
            self._write({"jsonrpc": "2.0", "id": asked.id, "result": result})
            return
        self._send(self._request(line, asked, meta, version))

    def _may_only_read(self) -> bool:
        """Whether the client may be a viewer, by its entry or its token."""
        if self._only_reads is None:
            self._only_reads = self._search.may_only_read()
        return self._only_reads

    def _request(
        self, line: bytes, asked: RpcMessage, meta: dict[str, Any], version: str | None
    ) -> SentRequest:
        """The request to send: the client's line, unless an envelope or a key must be added."""
        params = asked.params
        call = _Call("", params, None, writes=False)
        if asked.method == "tools/call":
            call = _keyed(_in_lines(params) if self._lines else params)
        params = call.params
        if version is None:
            ours = {**meta, **self._client, META + "protocolVersion": MODERN}
            params = {**params, "_meta": ours}
        body = line
        if params is not asked.params:
            body = jsonrpc.encode({**asked._asdict(), "jsonrpc": "2.0", "params": params})
        return SentRequest(
            asked.id,
            asked.method,
            params,
            headers=routing(asked.method, params, version or MODERN),
            body=body,
            modern=version is not None,
            cmd=call.cmd,
            writes=call.writes,
            key=call.key,
        )

    def _meet(self, params: dict[str, Any]) -> None:
        """Remember who the client is, for every request sent on its behalf."""
        for ours, theirs in (("clientInfo", "clientInfo"), ("clientCapabilities", "capabilities")):
            if isinstance(params.get(theirs), dict):
                self._client[META + ours] = params[theirs]

    def _cancel(self, id_: Any) -> None:
        """Cancel a request; it gets no answer."""
        self._waiting = [request for request in self._waiting if request.id != id_]
        for exchange in [one for one, request in self._sent.items() if request.id == id_]:
            self._forget(exchange)
            exchange.close()

    # ------------------------------------------------------------------ to the server

    def _send(self, request: SentRequest) -> None:
        if self._link is None:
            self._waiting.append(request)
            if not self._search.active:
                self._seek()
            return
        try:
            exchange = self._link.wire.send(
                "POST", "/mcp", headers=request.headers, body=request.body, timeout_s=SEND_S
            )
        except Unreachable:
            self._lost()
            self._send(request)
        else:
            request.answered = False
            self._sent[exchange] = request
            self._selector.register(exchange, selectors.EVENT_READ, exchange)

    def _seek(self) -> None:
        self._search.start(self._chosen)

    def _lost(self) -> None:
        """Drop the link to a server that is no longer there."""
        if self._link is not None:
            self._link.wire.close()
            self._link = None

    def _linked(self, found: ServerLink | LonghouseError) -> None:
        waiting, self._waiting = self._waiting, []
        if isinstance(found, LonghouseError):
            for request in waiting:
                self._refuse(request, request.given_up(found))
            return
        self._link = found
        for request in waiting:
            self._send(request)
        if not waiting:
            self._changes.look(found.wire)

    # ---------------------------------------------------------------- from the server

    def _arrived(self, exchange: Exchange) -> None:
        request = self._sent.get(exchange)
        if request is None:
            return  # it was just canceled
        try:
            exchange.receive()
            done = exchange.done
            if exchange.streams:
                for event in exchange.events():
                    self._pass_on(exchange, request, event.data.encode())
            elif done:
                self._pass_on(exchange, request, exchange.reply().body)
            if not done:
                return
            if not request.answered:
                raise Unreachable("the stream ended before the answer")
        except Unreachable:
            self._forget(exchange)
            exchange.close()
            self._lost()
            self._again(request)
            return
        if exchange in self._sent:
            self._forget(exchange)
            if self._link is not None:
                self._link.wire.release(exchange)
            else:
                exchange.close()

    def _again(self, request: SentRequest) -> None:
        """Repeat a request whose answer was lost, if that is safe."""
        request.tries += 1
        if request.repeatable and request.tries < TRIES:
            self._send(request)
            return
        trouble = Unreachable(f"the connection to the server was lost {TRIES} times in a row")
        self._refuse(request, request.given_up(trouble))

    def _pass_on(self, exchange: Exchange, request: SentRequest, data: bytes) -> None:
        status, streams = exchange.status, exchange.streams
        as_it_is = request.modern and status == 200 and not streams
        message = None if as_it_is else parsed(data)
        request.answered = not streams or (message is not None and "id" in message)
        if status == 401 and not request.denied:
            # The next search finds out whether the token was revoked or the store is another one.
            request.denied = self._search.refused = True
            self._lost()
            self._send(request)
        elif as_it_is or (request.modern and message is not None):
            self._write_line(data)
        elif message is not None:
            self._write(translated(message))
        else:
            self._write_refused(request, status, data)
        if request.method == "tools/call" and status == 200:
            self._notice(request, data)

    def _notice(self, request: SentRequest, data: bytes) -> None:
        """Remember the acting agent, and the chosen workspace to restore on a new server."""
        self._changes.answered(request, data)
        if self._link is not None:
            self._changes.look(self._link.wire)
        if request.cmd in ("workspace.use", "workspace.reset"):
            result = (parsed(data) or {}).get("result")
            if isinstance(result, dict) and result.get("isError") is False:
                self._chosen = request if request.cmd == "workspace.use" else None

    def _write_refused(self, request: SentRequest, status: int, data: bytes) -> None:
        """Pass on a refusal from before the MCP layer, which is in Longhouse's own format."""
        try:
            trouble = outcome_of_text(data.decode("utf-8", "replace")).error
        except Unreachable:
            trouble = None
        self._refuse(request, trouble or Unreachable(f"the server answered with status {status}"))

    # ------------------------------------------------------------------- to the client

    def _refuse(self, request: SentRequest, trouble: LonghouseError) -> None:
        message = jsonrpc.refusal(request.id, request.method, request.params, trouble)
        self._write(message if request.modern else translated(message))

    def _write(self, message: Any) -> None:
        self._write_line(jsonrpc.encode(message))

    def _write_line(self, data: bytes) -> None:
        left = memoryview(data + b"\n")
        while left:
            left = left[os.write(self._sink, left) :]

    def _forget(self, exchange: Exchange) -> None:
        del self._sent[exchange]
        self._selector.unregister(exchange)


class _Call(NamedTuple):
    """A tool call: its command, its parameters including a key if it writes, and that key."""

    cmd: str
    params: dict[str, Any]
    key: str | None
    writes: bool


def _in_lines(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a tool call that asks for lines, if it only reads and says no format."""
    given = params.get("arguments")
    if given is not None and not isinstance(given, dict):
        return params
    return {
        **params,
        "arguments": known_commands().in_lines(tool_named(params.get("name")), given) or {},
    }


def _keyed(params: dict[str, Any]) -> _Call:
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    given = arguments_of(params)
    cmd = known_commands().command(tool_named(params.get("name")), arguments)
    may_write = not known_commands().reads(cmd, given)
    key = given.get("idempotency_key")
    if key is not None or not known_commands().writes(cmd, given):
        return _Call(cmd, params, None if key is None else str(key), may_write)
    key = new_key()
    params = {**params, "arguments": {**arguments, "idempotency_key": key}}
    return _Call(cmd, params, key, may_write)


class Search:
    """Searches for the server in a thread, and wakes the loop when it is found."""

    def __init__(self, cli: Cli, selector: selectors.BaseSelector, client: ServedClient) -> None:
        self._cli = cli
        self._client = client
        self._selector = selector
        self.refused = False
        """Whether the server found last rejected the client's token."""
        self._found: ServerLink | LonghouseError | None = None
        self._seeker: Any = None
        self._signal: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._signal is not None

    def may_only_read(self) -> bool:
        """Whether the client's own token is a viewer's, or may be: an older file does not say."""
        from longhouse.surfaces.client_tokens import ClientTokens

        if self._client.agent_token:
            return False
        try:
            kept = ClientTokens(self._cli.settings, self._client.name).kept()
        except LonghouseError:
            return False  # the first call says what is wrong
        return kept is not None and kept.role in (None, "viewer")

    def start(self, chosen: SentRequest | None) -> None:
        import threading

        self._signal = os.pipe()
        self._selector.register(self._signal[0], selectors.EVENT_READ, None)
        threading.Thread(target=self._look, args=(chosen,), daemon=True).start()

    def finish(self) -> ServerLink | LonghouseError:
        assert self._signal is not None
        self._selector.unregister(self._signal[0])
        for end in self._signal:
            os.close(end)
        self._signal = None
        assert self._found is not None
        return self._found

    def _look(self, chosen: SentRequest | None) -> None:
        assert self._signal is not None
        try:
            if self._seeker is None:
                from longhouse.surfaces.bridge.seek import Seeker

                self._seeker = Seeker(self._cli, os.urandom(16).hex(), self._client)
            headers, body = (chosen.headers, chosen.body) if chosen else ({}, None)
            self._found = self._seeker.seek(headers, body, refused=self.refused)
            self.refused = False
        except LonghouseError as error:
            self._found = error
        except OSError as error:
            self._found = StoreUnusable.refused(error)
        except Exception as error:
            self._found = InternalError(f"a bug in Longhouse: {type(error).__name__}: {error}")
        os.write(self._signal[1], b".")
