"""The ASGI application: its routes, the access gate in front, and its lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from longhouse import __version__
from longhouse.client import proof_of
from longhouse.house import House
from longhouse.kernel.errors import InternalError
from longhouse.surfaces.http.access import AccessGate, Activity, Hosts, Tokens, caller_of
from longhouse.surfaces.http.calls import Calls
from longhouse.surfaces.http.crew import CrewReads
from longhouse.surfaces.http.events import Events
from longhouse.surfaces.http.feed import Feeds
from longhouse.surfaces.http.limits import InFlight, RequestLimits
from longhouse.surfaces.http.metrics import Metrics
from longhouse.surfaces.http.openapi import openapi
from longhouse.surfaces.http.page import PageRoutes
from longhouse.surfaces.http.readiness import StoreWatch
from longhouse.surfaces.http.recordings import Recordings
from longhouse.surfaces.http.responses import from_http, respond
from longhouse.surfaces.http.task_streams import TaskStreams
from longhouse.surfaces.http.tasks import ToolTasks
from longhouse.surfaces.mcp.http import McpEndpoint
from longhouse.surfaces.sessions import OpenSessions

__all__ = ["Web"]

SETTLE_S = 1.0
"""How long `/metrics` waits for calls that are answered but not yet counted."""
NONCE_CHARS = 128


class Web:
    """Everything that answers HTTP for one house; create it in the event loop that serves it."""

    def __init__(
        self,
        house: House,
        *,
        tokens: Tokens,
        hosts: Hosts,
        limits: RequestLimits,
        metrics: Metrics,
        instance: str,
        key: str,
    ) -> None:
        sessions = OpenSessions()
        self._house = house
        self._metrics = metrics
        self._instance = instance
        self._key = key
        self._openapi: bytes | None = None
        self._feeds = Feeds(house)
        self._store = StoreWatch(house)
        self._mcp = McpEndpoint(house.dispatcher, sessions)
        self.activity = Activity()
        calls = Calls(house.dispatcher, sessions)
        events = Events(house.dispatcher, self._feeds, metrics)
        streams = TaskStreams(house.dispatcher, lambda: self._feeds.closing)
        routes = [
            Route("/call/{cmd}", calls.answer, methods=["POST"]),
            Route("/events", events.answer, methods=["GET"]),
            Route("/mcp", self._mcp),
            Route("/openapi.json", self._get_openapi, methods=["GET"]),
            Route("/metrics", self._get_metrics, methods=["GET"]),
            Route("/healthz", self._get_health, methods=["GET"]),
            Route("/readyz", self._get_ready, methods=["GET"]),
            *CrewReads(house.dispatcher).routes(),
            *ToolTasks(house.dispatcher, streams).routes(),
            *Recordings(house.dispatcher).routes(),
            *PageRoutes(house).routes(),
        ]
        app = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refused, Exception: self._broken},
        )
        app.router.redirect_slashes = False  # an unknown path is a 404, not a redirect
        bounded = InFlight(app, house.dispatcher, limits)
        self.app = AccessGate(bounded, house, tokens, hosts, self.activity)

    def end_streams(self) -> None:
        """End all streams and waits, because the server is about to stop."""
        self._house.dispatcher.end_waits()
        self._feeds.end_streams()
        self._mcp.end_streams()

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(self.app.watch(), name="tokens")
        async with self._mcp.running():
            try:
                yield
            finally:
                watch.cancel()
                self._feeds.close()

    async def _get_openapi(self, _request: Request) -> Response:
        if self._openapi is None:
            self._openapi = await asyncio.to_thread(
                lambda: msgspec.json.encode(openapi(self._house.registry))
            )
        return Response(self._openapi, media_type="application/json")

    async def _get_metrics(self, request: Request) -> Response:
        only = caller_of(request.scope).workspaces
        store = await self._store.look()
        if only is not None:
            seqs = {name: seq for name, seq in store.seqs.items() if name in only}
            store = store._replace(seqs=seqs)
        await asyncio.to_thread(self._house.settle, SETTLE_S)
        text = self._metrics.text(
            requests_open=self.activity.open,
            followers=self._feeds.followers,
            store=store,
        )
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _get_ready(self, _request: Request) -> Response:
        """Whether calls can be served; a server whose disk is full still answers reads."""
        state = await self._store.look()
        shown = {"ready": state.trouble is None, "read_only": self._house.db.full}
        return JSONResponse(shown, status_code=200 if shown["ready"] else 503)

    async def _get_health(self, request: Request) -> Response:
        """That the server is up and, given a nonce, proof that it wrote `server.json`."""
        shown = {"ok": True, "name": "longhouse", "version": __version__}
        shown["instance"] = self._instance
        if nonce := request.query_params.get("nonce", "")[:NONCE_CHARS]:
            shown["proof"] = proof_of(self._key, nonce)
        return JSONResponse(shown)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        shown = from_http(error, request.method, request.url.path)
        response = respond(self._house.dispatcher.fail("error", shown))
        if error.headers:
            response.headers.update(error.headers)
        return response

    async def _broken(self, _request: Request, error: Exception) -> Response:
        shown = InternalError()
        shown.__cause__ = error
        return respond(self._house.dispatcher.fail("error", shown))
