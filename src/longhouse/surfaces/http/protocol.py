"""Limits the size of a request's headers and the time they may take to arrive.

uvicorn waits forever for headers that arrive slowly or never, and buffers all of them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.http.limits import RequestLimits
from longhouse.surfaces.http.responses import HeadersTooLarge, HeadersTooSlow

__all__ = ["guarded"]


def guarded(limits: RequestLimits) -> type[HttpToolsProtocol]:
    """uvicorn's protocol with these limits."""

    too_slow = HeadersTooSlow()

    class Guarded(HttpToolsProtocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._head: int | None = 0
            self._timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._begin()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._head is not None and not self.transport.is_closing():
                self._head += len(data)
                if self._head > limits.header_bytes:
                    self._refuse(HeadersTooLarge())

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._begin()

        def on_headers_complete(self) -> None:
            self._end()
            super().on_headers_complete()

        def _begin(self) -> None:
            self._end()
            self._head = 0
            self._timer = self.loop.call_later(limits.header_s, self._refuse, too_slow)

        def _end(self) -> None:
            self._head = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _refuse(self, error: LonghouseError) -> None:
            self._end()
            text = f"ERROR: {error.code} {error.message} | fix: {error.recovery}\n".encode()
            self.transport.write(
                STATUS_LINE[error.status]
                + b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
                + b"content-length: %d\r\n\r\n" % len(text)
                + text
            )
            self.transport.close()

    return Guarded
