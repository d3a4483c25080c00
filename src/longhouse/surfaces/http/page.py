"""The page at `/`: plain files from the package, with a policy that lets in nothing else."""

from __future__ import annotations

from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["routes"]

_FILES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
}


def routes() -> list[Route]:
    return [
        Route("/", _index, methods=["GET"]),
        Route("/favicon.ico", _icon, methods=["GET"]),
        Route("/static/{name}", _static, methods=["GET"]),
    ]


def _file(name: str) -> Response:
    kind = _FILES.get(name)
    if kind is None:
        raise HTTPException(404)
    body = files("longhouse.surfaces.http").joinpath("static", name).read_bytes()
    return Response(body, headers=_HEADERS, media_type=kind)


async def _index(_request: Request) -> Response:
    return _file("page.html")


async def _icon(_request: Request) -> Response:
    return _file("icon.svg")


async def _static(request: Request) -> Response:
    return _file(request.path_params["name"])
