"""Serves the page: one document for all views, its static files, and `/api/me`.

The files are built from `web/` into `static/` next to this module. Each document gets a fresh nonce
for styles; scripts come only from our own files, and nothing may inject markup.
"""

from __future__ import annotations

import gzip
import secrets
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from longhouse import __version__
from longhouse.crew import CrewFacts
from longhouse.house import House
from longhouse.surfaces.http.access import VIEWS, caller_of

__all__ = ["PageRoutes"]

STATIC = Path(str(files("longhouse.surfaces.http"))) / "static"
_NONCE = b"__NONCE__"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_FOR_EVER = "public, max-age=31536000, immutable"


class PageRoutes:
    """Everything the browser requests before it calls commands."""

    def __init__(self, house: House) -> None:
        self._house = house

    def routes(self) -> list[Route]:
        return [
            Route("/", _document, methods=["GET"]),
            *(Route(f"/{view}", _document, methods=["GET"]) for view in VIEWS),
            *(Route(f"/{view}/{{rest:path}}", _document, methods=["GET"]) for view in VIEWS),
            Route("/favicon.ico", _icon, methods=["GET"]),
            Route("/static/{name:path}", _static, methods=["GET"]),
            Route("/api/me", self._me, methods=["GET"]),
        ]

    async def _me(self, request: Request) -> Response:
        """What the token may do, and what the page needs to know before it renders."""
        caller = caller_of(request.scope)
        facts = self._house.dispatcher.facts
        shown = {
            "role": caller.role.name.lower(),
            "name": caller.agent or caller.name,
            "workspaces": list(caller.workspaces) if caller.workspaces is not None else None,
            "default_workspace": facts.default_workspace,
            "stale_minutes": facts.of(CrewFacts).stale_minutes,
            "version": __version__,
        }
        return JSONResponse(shown, headers={"cache-control": "no-store"})


async def _document(_request: Request) -> Response:
    document = _read("index.html")
    if document is None:
        text = "This installation does not include the page. In a source tree, run: make page\n"
        return Response(text, 503, media_type="text/plain; charset=utf-8")
    nonce = secrets.token_urlsafe(16)
    headers = {
        "cache-control": "no-store",
        "content-security-policy": _POLICY.format(nonce=nonce),
    }
    body = document.replace(_NONCE, nonce.encode())
    return Response(body, headers=headers, media_type=_KINDS[".html"])


async def _icon(request: Request) -> Response:
    return _file(request, "icon.svg")


async def _static(request: Request) -> Response:
    return _file(request, request.path_params["name"])


def _file(request: Request, name: str) -> Response:
    kind = _KINDS.get(Path(name).suffix)
    body = _read(name) if kind else None
    if body is None or name == "index.html":
        raise HTTPException(404)
    hashed = name.startswith("assets/")
    headers = {
        "cache-control": _FOR_EVER if hashed else "no-cache",
        "content-security-policy": "default-src 'none'",
        "vary": "accept-encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        body = _squeezed(body)
    return Response(body, headers=headers, media_type=kind)


def _read(name: str) -> bytes | None:
    """A built file; only names that the build wrote are accepted, so no path escapes."""
    if name not in {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*")}:
        return None
    path = STATIC / name
    return path.read_bytes() if path.is_file() else None


@lru_cache(maxsize=64)
def _squeezed(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)
