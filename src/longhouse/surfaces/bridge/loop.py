"""The loop of a bridge: one thread that waits for the client and for the server's answers.

It ends when the client closes its end. Answers that are still on their way get a moment then, for
whoever pipes a few requests in; after it, or when nobody reads any more, they are called off by
closing their connections, which the server takes as their cancellation.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import sys
import time
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import InternalError, InvalidInput, LonghouseError, Unreachable
from longhouse.surfaces.bridge import messages as say
from longhouse.surfaces.bridge.exchange import Exchange, Lost, Pool, Request, parsed
from longhouse.surfaces.bridge.messages import META, MODERN, Answers, OutcomeUnknown

if TYPE_CHECKING:
    from longhouse.surfaces.bridge.seek import Link
    from longhouse.surfaces.cli.context import Cli

__all__ = ["Bridge", "serve"]

LINGER_S = 2.0
LINE_BYTES = 16 * 1024 * 1024
TRIES = 5
GREETINGS = ("initialize", "server/discover")


def serve(cli: Cli) -> int:
    """Serve one client over standard input and output until it closes them."""
    try:
        return Bridge(cli, sys.stdin.fileno(), sys.stdout.fileno()).run()
    except BrokenPipeError:
        return 0  # the client is gone, and so is the reason to stay


class Bridge:
    """One client's way to the server."""

    def __init__(self, cli: Cli, source: int, sink: int) -> None:
        self._cli = cli
        self._source, self._sink = source, sink
        self._answers = Answers()
        self._client: dict[str, Any] = {META + "clientCapabilities": {}}
        self._selector = selectors.PollSelector()
        self._line = bytearray()
        self._pool: Pool | None = None
        self._waiting: list[Request] = []
        self._exchanges: list[Exchange] = []
        self._search = Search(cli, self._selector)
        self._chosen: Request | None = None
        self._greeted = False
        """Whether a client has just said hello: the server is looked for before it is needed."""

    def run(self) -> int:
        self._selector.register(self._source, selectors.EVENT_READ, self._read)
        reading, ends = True, 0.0
        while reading or self._waiting or self._exchanges:
            left_s = None if reading else max(0.0, ends - time.monotonic())
            for key, _ in self._selector.select(left_s):
                if key.data is None:
                    self._linked(self._search.finish())
                    ends = time.monotonic() + LINGER_S
                elif isinstance(key.data, Exchange):
                    self._arrived(key.data)
                elif not self._read():
                    reading, ends = False, time.monotonic() + LINGER_S
                    self._selector.unregister(self._source)
            if not reading and (self._deserted() or self._is_over(ends)):
                break
        for exchange in self._exchanges:
            exchange.connection.close()
        return 0

    def _is_over(self, ends: float) -> bool:
        return time.monotonic() >= ends and not (self._waiting and self._search.active)

    def _deserted(self) -> bool:
        """Whether nobody reads what is written."""
        look = select.poll()
        look.register(self._sink, 0)
        return bool(look.poll(0))

    # ------------------------------------------------------------------ from the client

    def _read(self) -> bool:
        """Take what the client has sent; False at its end."""
        data = os.read(self._source, 262_144)
        *lines, rest = (bytes(self._line) + data).split(b"\n") if data else (bytes(self._line), b"")
        self._line = bytearray(rest)
        for line in lines:
            if line.strip():
                self._heard(line)
        if len(self._line) > LINE_BYTES:
            raise InvalidInput(f"a line of more than {LINE_BYTES} bytes")
        if self._greeted and self._pool is None and not self._search.active:
            self._greeted = False
            self._seek()
        return bool(data)

    def _heard(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write(say.error(None, say.PARSE_ERROR, "not JSON"))
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            text = "expected one JSON-RPC 2.0 message a line"
            self._write(say.error(None, say.INVALID_REQUEST, text))
            return
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
            return
        if method is None:
            return  # an answer, and nothing was asked
        id_ = message["id"]
        if not isinstance(method, str) or type(id_) not in (str, int):
            text = "expected a method and an id that is a text or a number"
            self._write(say.error(None, say.INVALID_REQUEST, text))
        elif not isinstance(params, dict):
            self._write(say.error(id_, say.INVALID_PARAMS, "params: expected an object"))
        else:
            self._asked(line, id_, method, params)

    def _asked(self, line: bytes, id_: Any, method: str, params: dict[str, Any]) -> None:
        meta = params.get("_meta", {})
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(META + "protocolVersion")
        if version is not None and not (isinstance(version, str) and version.isprintable()):
            text = "params._meta: the protocol version is no text"
            self._write(say.error(id_, say.INVALID_PARAMS, text))
            return
        result = self._answers.here(method, params, version)
        if result is not None:
            if method == "initialize":
                self._meet(params)
            if method in GREETINGS:
                self._greeted = True
            self._write({"jsonrpc": "2.0", "id": id_, "result": result})
            return
        body = line
        if version is None:
            wrapped = {
                **params,
                "_meta": {**meta, **self._client, META + "protocolVersion": MODERN},
            }
            body = say.encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": wrapped})
        self._send(
            Request(
                id_,
                method,
                params,
                headers=say.routing(method, params, version or MODERN),
                body=body,
                modern=version is not None,
                repeatable=method != "tools/call" or self._answers.only_reads(params),
            )
        )

    def _meet(self, params: dict[str, Any]) -> None:
        """Who the client is, for every request that is sent in its name."""
        for ours, theirs in (("clientInfo", "clientInfo"), ("clientCapabilities", "capabilities")):
            if isinstance(params.get(theirs), dict):
                self._client[META + ours] = params[theirs]

    def _cancel(self, id_: Any) -> None:
        """Call a request off; nobody hears of it again."""
        self._waiting = [request for request in self._waiting if request.id != id_]
        for exchange in [one for one in self._exchanges if one.request.id == id_]:
            self._forget(exchange)
            exchange.connection.close()

    # ------------------------------------------------------------------ to the server

    def _send(self, request: Request) -> None:
        if self._pool is None:
            self._waiting.append(request)
            if not self._search.active:
                self._seek()
            return
        try:
            exchange = self._pool.send(request)
        except OSError:
            self._lost()
            self._send(request)
        else:
            self._exchanges.append(exchange)
            self._selector.register(exchange.connection, selectors.EVENT_READ, exchange)

    def _seek(self) -> None:
        self._search.start(self._chosen)

    def _lost(self) -> None:
        """The server is not where it was."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _linked(self, found: Link | LonghouseError) -> None:
        waiting, self._waiting = self._waiting, []
        if isinstance(found, LonghouseError):
            for request in waiting:
                self._refuse(request, found)
            return
        self._pool = Pool(found)
        for request in waiting:
            self._send(request)

    # ---------------------------------------------------------------- from the server

    def _arrived(self, exchange: Exchange) -> None:
        request = exchange.request
        try:
            for message in exchange.receive():
                self._pass_on(exchange, message)
            if exchange.done and not exchange.answered:
                raise Lost("the stream ended before the answer")
        except Lost:
            self._forget(exchange)
            exchange.connection.close()
            self._lost()
            self._again(request)
            return
        if exchange.done and exchange in self._exchanges:
            self._forget(exchange)
            if exchange.reusable and self._pool is not None:
                self._pool.keep(exchange.connection)
            else:
                exchange.connection.close()

    def _again(self, request: Request) -> None:
        """Repeat a request whose answer was lost, if that can do no harm."""
        request.tries += 1
        if request.repeatable and request.tries < TRIES:
            self._send(request)
        elif request.repeatable:
            self._refuse(
                request, Unreachable("the server ended again and again before it answered")
            )
        else:
            command = self._answers.command(request.params)
            self._refuse(
                request,
                OutcomeUnknown(
                    "the server ended before it answered: whether "
                    f"{command or 'the call'} was carried out is not known"
                ),
            )

    def _pass_on(self, exchange: Exchange, data: bytes) -> None:
        request = exchange.request
        as_it_is = request.modern and exchange.status == 200 and not exchange.streams
        message = None if as_it_is else parsed(data)
        exchange.answered = not exchange.streams or (message is not None and "id" in message)
        if exchange.status == 401 and request.tries == 0:
            # The token is read again with the next look: a new server may have made a new one.
            self._lost()
            request.tries += 1
            self._send(request)
        elif as_it_is or (request.modern and message is not None):
            self._write_line(data)
        elif message is not None:
            self._write(say.translated(message))
        else:
            self._write_refused(request, exchange.status, data)
        if request.method == "tools/call" and exchange.status == 200:
            self._notice(request, data)

    def _notice(self, request: Request, data: bytes) -> None:
        """Remember a choice of workspace: a new server has to be told of it."""
        command = self._answers.command(request.params)
        if command in ("workspace.use", "workspace.reset"):
            answer = parsed(data) or {}
            if answer.get("result", {}).get("isError") is False:
                self._chosen = request if command == "workspace.use" else None

    def _write_refused(self, request: Request, status: int, data: bytes) -> None:
        """A refusal at the server's door, before there was any MCP, says why in our own shape."""
        from longhouse.client.replies import error_of

        try:
            found = json.loads(data)
            trouble = error_of(found["error"], found.get("actions"))
        except (ValueError, KeyError, TypeError, AttributeError):
            trouble = Unreachable(f"the server answered with status {status}")
        self._refuse(request, trouble)

    # ------------------------------------------------------------------- to the client

    def _refuse(self, request: Request, trouble: LonghouseError) -> None:
        message = say.refusal(request.id, request.method, request.params, trouble)
        self._write(message if request.modern else say.translated(message))

    def _write(self, message: Any) -> None:
        self._write_line(say.encode(message))

    def _write_line(self, data: bytes) -> None:
        left = memoryview(data + b"\n")
        while left:
            left = left[os.write(self._sink, left) :]

    def _forget(self, exchange: Exchange) -> None:
        self._exchanges.remove(exchange)
        self._selector.unregister(exchange.connection)


class Search:
    """Looks for the server in a thread, and tells the loop when it has found it."""

    def __init__(self, cli: Cli, selector: selectors.BaseSelector) -> None:
        self._cli = cli
        self._selector = selector
        self._found: Link | LonghouseError | None = None
        self._seeker: Any = None
        self._signal: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._signal is not None

    def start(self, chosen: Request | None) -> None:
        import threading

        self._signal = os.pipe()
        self._selector.register(self._signal[0], selectors.EVENT_READ, None)
        threading.Thread(target=self._look, args=(chosen,), daemon=True).start()

    def finish(self) -> Link | LonghouseError:
        assert self._signal is not None
        self._selector.unregister(self._signal[0])
        for end in self._signal:
            os.close(end)
        self._signal = None
        assert self._found is not None
        return self._found

    def _look(self, chosen: Request | None) -> None:
        assert self._signal is not None
        try:
            if self._seeker is None:
                from longhouse.surfaces.bridge.seek import Seeker

                self._seeker = Seeker(self._cli, os.urandom(16).hex())
            headers, body = (chosen.headers, chosen.body) if chosen else ({}, None)
            self._found = self._seeker.seek(headers, body)
        except LonghouseError as error:
            self._found = error
        except Exception as error:
            self._found = InternalError(f"a defect of Longhouse: {type(error).__name__}: {error}")
        os.write(self._signal[1], b".")
