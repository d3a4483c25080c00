"""The process that serves a store: `longhouse serve`.

    claim the store → open the house → listen → announce → serve → drain → close → withdraw

Import this only to serve: it loads the web server, which is slow to import.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

import structlog
import uvicorn

from longhouse import __version__
from longhouse.client.locate import Running, process_start
from longhouse.config import DEFAULT_PORT, Settings
from longhouse.dispatch import Observer
from longhouse.house import House
from longhouse.jobs import STARTER, RunnerProcesses
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import (
    Conflict,
    InvalidInput,
    LonghouseError,
    StoreBusy,
    StoreError,
    is_full,
)
from longhouse.surfaces import logs
from longhouse.surfaces.http.access import Hosts, Tokens, is_loopback
from longhouse.surfaces.http.app import Web
from longhouse.surfaces.http.limits import RequestLimits
from longhouse.surfaces.http.metrics import Metrics
from longhouse.surfaces.http.protocol import guarded
from longhouse.surfaces.presence import Presence, local_token
from longhouse.surfaces.tracing import to_collector

__all__ = ["PortTaken", "UnsafeBind", "serve"]

DRAIN_S = 10
IDLE_LOOK_S = 1.0
LOOPBACK = "127.0.0.1"
ANY_PORT = 0
TRY_AGAIN_S = 1.0
SWITCH_S = 0.0001
"""How long a thread may keep the interpreter while the event loop waits for it."""
WEAK_TOKEN_CHARS = 16

log = structlog.get_logger()


class UnsafeBind(InvalidInput):
    """A server that other machines can reach needs a token."""

    code = "UNSAFE_BIND"
    fix = (
        "run `longhouse token create` first, or set LONGHOUSE_TOKEN to a long random string, "
        "or bind to 127.0.0.1"
    )


class PortTaken(Conflict):
    """Another program is listening on that port."""

    code = "PORT_TAKEN"
    fix = "choose another --port, or omit it to get a free one"


def serve(
    settings: Settings,
    *,
    log_to_file: bool = False,
    announce: Callable[[Running, str], None] = lambda _running, _sign_in_url: None,
    is_local: Callable[[str], bool] = is_loopback,
) -> None:
    """Serve until a signal or idleness ends it; calls `announce` once it listens.

    `is_local` says which addresses other machines cannot reach.
    """
    settings.make_dir()
    sys.setswitchinterval(SWITCH_S)
    logs.configure(settings.log_level, settings.dir if log_to_file else None)
    metrics = Metrics()
    with (
        Presence(settings.dir, alone=settings.is_sqlite) as presence,
        _observers(settings, metrics) as observe,
        House(settings, observe=observe, services={STARTER: _starter(settings)}) as house,
    ):
        _say_if_the_store_is_away(house)
        token = local_token(settings.dir)
        tokens = Tokens(house, token, settings.token)
        if not is_local(settings.host):
            _check_bind(settings, tokens)
        with ExitStack() as sockets:
            listeners = _listen(settings.host, settings.port, presence.last_port(), is_local)
            for listener in listeners:
                sockets.enter_context(listener)
            port = listeners[0].getsockname()[1]
            loopback = _loopback_of(listeners[0], is_local) or LOOPBACK
            running = Running(
                folder=settings.dir,
                pid=os.getpid(),
                process_start=process_start(os.getpid()),
                url=f"http://{loopback}:{port}",
                version=__version__,
                started_at_ms=house.dispatcher.clock.now_ms(),
                instance=presence.instance,
                store=settings.store,
                key=presence.key,
                moved_from=_moved_from(settings.port, presence.last_port(), port),
            )
            if running.moved_from:
                log.warning("server.moved", moved_from=running.moved_from, url=running.url)
            server = _Server(settings, house, tokens, metrics, running)

            def write_note() -> None:
                """Record the address for clients; while the disk is too full, serve only reads."""
                try:
                    presence.announce(running, token)
                except OSError as error:
                    if not is_full(error):
                        raise
                    log.warning("server.read_only", why=error.strerror, url=running.url)
                    house.db.full = True
                    asyncio.get_running_loop().call_later(TRY_AGAIN_S, write_note)
                else:
                    house.db.full = False
                    log.info("server.listening", url=running.url, dir=str(settings.dir))

            def listening() -> None:
                write_note()
                gc.freeze()  # what is loaded now stays: nobody waits while it is looked through
                announce(running, f"{running.url}/#token={token}")

            with house.maintenance(_report_loop) as upkeep:
                metrics.leading = lambda: upkeep.leading
                server.serve_on(listeners, listening)
    log.info("server.stopped", url=running.url)


def _starter(settings: Settings) -> RunnerProcesses:
    def agents() -> Mapping[str, Sequence[str]]:
        """What a runner that this server starts would find: it has the same settings and PATH."""
        from longhouse.executors import agents_here, load_options

        try:
            return agents_here(load_options({}, settings.place))
        except LonghouseError:  # the settings are wrong, as the runner itself will say
            return {}

    return RunnerProcesses(
        str(settings.dir),
        most=settings.autostart_runners,
        policy=settings.policy,
        agents=agents,
    )


@contextmanager
def _observers(settings: Settings, metrics: Metrics) -> Iterator[Observer]:
    """The observer of every call: metrics always, traces if they are enabled."""
    if not settings.otel:
        yield metrics.observe
        return
    tracing = to_collector()

    def both(cmd: str, answer: Answer, seconds: float, defect: BaseException | None) -> None:
        metrics.observe(cmd, answer, seconds, defect)
        tracing.observe(cmd, answer, seconds, defect)

    try:
        yield both
    finally:
        tracing.close()


class _Server:
    """uvicorn around one house; on shutdown calls may finish and streams are ended."""

    def __init__(
        self, settings: Settings, house: House, tokens: Tokens, metrics: Metrics, running: Running
    ) -> None:
        self._settings = settings
        self._house = house
        self._tokens = tokens
        self._metrics = metrics
        self._running = running

    def serve_on(self, listeners: list[socket.socket], listening: Callable[[], None]) -> None:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve(listeners, listening))

    async def _serve(self, listeners: list[socket.socket], listening: Callable[[], None]) -> None:
        limits = RequestLimits.of(self._settings)
        web = Web(
            self._house,
            tokens=self._tokens,
            hosts=Hosts(self._settings.host, self._settings.allowed_hosts),
            limits=limits,
            metrics=self._metrics,
            instance=self._running.instance,
            key=self._running.key,
        )
        config = uvicorn.Config(
            web.app,
            http=guarded(limits),
            lifespan="on",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=DRAIN_S,
        )
        server = _Uvicorn(config, listening)

        def stop(why: str) -> None:
            log.info("server.stopping", why=why)
            web.end_streams()
            server.should_exit = True

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, signal.Signals(number).name)
        idle = asyncio.create_task(self._leave_when_idle(web, stop))
        try:
            await server.serve(sockets=listeners)
        finally:
            idle.cancel()

    async def _leave_when_idle(self, web: Web, stop: Callable[[str], None]) -> None:
        limit_s = self._settings.idle_exit_s
        while limit_s:
            await asyncio.sleep(min(IDLE_LOOK_S, limit_s / 4))
            if web.activity.idle_s() >= limit_s:
                stop("idle")
                return


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers, and with a callback once it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening()


def _report_loop(name: str, error: BaseException) -> None:
    log.warning("loop.failed", loop=name, error=repr(error))


def _check_bind(settings: Settings, tokens: Tokens) -> None:
    """Refuse to listen for other machines unless a strong token is set or one was created."""
    if settings.token is None and not _when_the_store_answers(tokens.any_made):
        raise UnsafeBind(f"refusing to listen on {settings.host} without a token")
    if settings.token is not None and len(settings.token) < WEAK_TOKEN_CHARS:
        raise UnsafeBind(f"the token is shorter than {WEAK_TOKEN_CHARS} characters")


def _say_if_the_store_is_away(house: House) -> None:
    try:
        house.db.workspaces()
    except StoreError as error:
        log.warning("server.store_away", why=error.message)


def _when_the_store_answers(ask: Callable[[], bool]) -> bool:
    """The answer, however long the database is down."""
    while True:
        try:
            return ask()
        except StoreBusy as error:
            log.warning("server.waiting", why=error.message)
            time.sleep(TRY_AGAIN_S)


def _listen(
    host: str, port: int, last: int | None, is_local: Callable[[str], bool]
) -> list[socket.socket]:
    """Listening sockets: on that port; if it is 0, on the last, the default or any free one."""
    if port:
        return _bind_all(host, port, is_local)
    for likely in (last, DEFAULT_PORT, ANY_PORT):
        if likely is not None and 0 <= likely < 65_536:
            with suppress(PortTaken):
                return _bind_all(host, likely, is_local)
    return _bind_all(host, ANY_PORT, is_local)


def _moved_from(asked: int, last: int | None, port: int) -> int:
    """The port where clients still look for the server, unless it is there, or moved on request."""
    if asked or last is None or not 0 < last < 65_536:
        return 0
    return 0 if last == port else last


def _bind_all(host: str, port: int, is_local: Callable[[str], bool]) -> list[socket.socket]:
    """A socket on that address and, if it is not loopback, one on loopback on the same port."""
    first = _bind(host, port)
    if _loopback_of(first, is_local) is not None:
        return [first]
    try:
        return [first, _bind(LOOPBACK, first.getsockname()[1])]
    except PortTaken:
        first.close()
        raise


def _bind(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InvalidInput(f"host: cannot listen on {host!r}: {error}") from None
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise PortTaken(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def _loopback_of(listener: socket.socket, is_local: Callable[[str], bool]) -> str | None:
    """The socket's loopback address, the only one local programs use; None if it has none."""
    address = ipaddress.ip_address(listener.getsockname()[0])
    if address.is_unspecified:
        address = ipaddress.ip_address("::1" if address.version == 6 else LOOPBACK)
    if not is_local(str(address)):
        return None
    return f"[{address}]" if address.version == 6 else str(address)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return None
    return uvloop.new_event_loop
