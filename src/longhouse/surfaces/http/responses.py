"""HTTP responses: the dispatcher's answers, and errors raised before it, in one shape."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import Forbidden, InvalidInput, LonghouseError, StoreBusy, UnknownId

__all__ = [
    "BodyTooLarge",
    "BodyTooSlow",
    "HeadersTooLarge",
    "HeadersTooSlow",
    "HostNotAllowed",
    "MethodNotAllowed",
    "OriginNotAllowed",
    "PathNotFound",
    "RepeatedHeader",
    "ServerFull",
    "from_http",
    "respond",
]


class PathNotFound(UnknownId):
    """There is nothing at that path."""

    code = "NOT_FOUND"
    fix = "commands are at POST /call/{cmd}; GET /openapi.json lists them all"


class MethodNotAllowed(InvalidInput):
    """That path does not support this method."""

    code = "METHOD_NOT_ALLOWED"
    status = 405
    fix = "commands are called with POST; GET /openapi.json lists every path and method"


class BodyTooLarge(InvalidInput):
    """The body is larger than this server accepts."""

    code = "BODY_TOO_LARGE"
    status = 413
    fix = "send less at once: one note per call, large content in parts (docs.artifact.join)"


class BodyTooSlow(InvalidInput):
    """The body did not arrive in time."""

    code = "BODY_TOO_SLOW"
    status = 408
    fix = "send it again, all at once"


class HeadersTooLarge(InvalidInput):
    """The headers are larger than this server accepts."""

    code = "HEADERS_TOO_LARGE"
    status = 431
    fix = "send arguments in the body, not in the URL or in headers"


class HeadersTooSlow(InvalidInput):
    """The headers did not arrive in time."""

    code = "HEADERS_TOO_SLOW"
    status = 408
    fix = "send the request all at once"


class HostNotAllowed(Forbidden):
    """This server does not answer to that host name."""

    code = "HOST_NOT_ALLOWED"
    status = 421
    fix = "use the address that the server printed, or add the host to LONGHOUSE_ALLOWED_HOSTS"


class OriginNotAllowed(Forbidden):
    """A page from another origin may not call this server."""

    code = "ORIGIN_NOT_ALLOWED"
    fix = "open the page from the server's own address"


class RepeatedHeader(InvalidInput):
    """A header used for access control was given more than once."""

    code = "REPEATED_HEADER"
    fix = "send Host, Origin and Authorization at most once each"


class ServerFull(StoreBusy):
    """This server has reached its limit of open streams."""

    code = "SERVER_FULL"
    fix = "close a stream, or try again in a moment"


def respond(answer: Answer) -> Response:
    """The envelope as JSON, or the lines as plain text, with the status of its code."""
    kind = "application/json" if answer.text is None else "text/plain; charset=utf-8"
    response = Response(answer.body(), answer.status, {"cache-control": "no-store"}, kind)
    if answer.status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="longhouse"'
    if not answer.success and answer.envelope["error"]["retryable"]:
        response.headers["retry-after"] = "1"
    return response


def from_http(error: HTTPException, method: str, path: str) -> LonghouseError:
    """The router's own refusals as Longhouse errors."""
    if error.status_code == 405:
        return MethodNotAllowed(f"{path[:200]} does not support {method}")
    if error.status_code == 404:
        return PathNotFound(f"there is nothing at {path[:200]}")
    return InvalidInput(f"HTTP {error.status_code}")
