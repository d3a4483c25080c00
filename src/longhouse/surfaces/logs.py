"""The server's structured log: one JSON object per line, or readable text on a terminal.

Libraries log through the same handler. Secrets are masked, as in every answer.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import structlog

from longhouse.kernel.private_files import append_private
from longhouse.kernel.redact import redact_fields

__all__ = ["LOG_NAME", "configure"]

LOG_NAME = "server.log"
_BYTES = 5 * 1024 * 1024
_BACKUPS = 3
_CHATTY = ("uvicorn", "mcp", "httpx2", "asyncio")


def configure(level: str, folder: Path | None) -> None:
    """Log to `server.log` in the folder, rotated and bounded, or to standard error."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _hide_secrets,
    ]
    terminal = folder is None and sys.stderr.isatty()
    last = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=False,
    )
    handler = _handler(folder)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def _handler(folder: Path | None) -> logging.Handler:
    if folder is None:
        return logging.StreamHandler()
    return _PrivateFile(folder / LOG_NAME, maxBytes=_BYTES, backupCount=_BACKUPS, encoding="utf-8")


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read, and that is never opened through a link."""

    def _open(self) -> TextIOWrapper:
        return append_private(Path(self.baseFilename))


def _hide_secrets(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event.update(redact_fields({k: v for k, v in event.items() if not k.startswith("_")}))
    return event
