"""What one client was told: a line for each call that the server acknowledged or refused.

A client that was killed is started again with the same name: it repeats the act it was in, under
the same keys. So its journal may name a key twice, and both answers must be the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Call", "Journal"]


class Call(NamedTuple):
    """A call and its answer: a result, or the code of a refusal."""

    key: str
    cmd: str
    workspace: str
    args: dict[str, Any]
    result: dict[str, Any] | None
    refused: str | None
    expects: dict[str, Any] | None
    """Of a process: what it prints and how it ends."""


class Journal:
    """One file per client; each line is written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, **line: Any) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def lines(self) -> Iterator[dict[str, Any]]:
        text = self.path.read_text() if self.path.exists() else ""
        return map(json.loads, text.splitlines())

    def began(self) -> int:
        """The number of the act that the client was in, or 0."""
        return max((line["begins"] for line in self.lines() if "begins" in line), default=0)

    def calls(self) -> list[Call]:
        return [Call(**line) for line in self.lines() if "key" in line]
