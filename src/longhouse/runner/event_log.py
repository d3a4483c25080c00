"""The runner's log: one readable line per event, on standard error or in a size-limited file."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from longhouse.kernel.private_files import append_private
from longhouse.kernel.redact import redact_fields

__all__ = ["EventLog"]

MAX_BYTES = 5_000_000


class EventLog:
    """Writes lines of the form `time event key=value …`, or JSON for programs.

    Secrets are redacted and control characters escaped: agent output must not control the
    terminal of the person who reads the log.
    """

    def __init__(self, *, as_json: bool = False, path: Path | None = None) -> None:
        self._as_json = as_json
        self._path = path
        self._lock = threading.Lock()
        self._out: TextIO = sys.stderr if path is None else _open(path)

    def __call__(self, event: str, **facts: Any) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        facts = redact_fields({name: fact for name, fact in facts.items() if fact is not None})
        if self._as_json:
            line = json.dumps({"at": at, "event": event, **facts})
        else:
            line = " ".join(
                [at, event, *(f"{name}={_shown(fact)}" for name, fact in facts.items())]
            )
        with self._lock:
            try:
                self._out.write(line + "\n")
                self._out.flush()
                if self._path is not None and self._out.tell() > MAX_BYTES:
                    self._out.close()
                    self._path.replace(self._path.with_suffix(".old.log"))
                    self._out = _open(self._path)
            except (OSError, ValueError):
                return  # a full disk or a closed terminal must not stop the work


def _open(path: Path) -> TextIO:
    """Open for appending; a symbolic link is refused, not followed."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return append_private(path)


def _shown(fact: Any) -> str:
    text = " ".join(str(fact).split())
    if " " in text or not text:
        text = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
