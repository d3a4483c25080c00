"""Answers to a client: fixed ones from here, and the server's in the client's protocol.

Requests of handshake-era clients are sent in the newest protocol: they get the envelope it
requires, and fields that only it has are removed from the answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longhouse.client.jsonrpc import META, MODERN

__all__ = ["Answers", "translated"]

ANSWERS = Path(__file__).with_name("answers.json")

_ONLY_MODERN = ("resultType", "ttlMs", "cacheScope", "_meta")


class Answers:
    """The generated file of answers that the server would give."""

    def __init__(self, path: Path = ANSWERS) -> None:
        found = json.loads(path.read_bytes())
        self._by_era: dict[str, dict[str, Any]] = found["answers"]
        self._versions: list[str] = found["handshake_versions"]

    def here(self, method: str, params: dict[str, Any], version: str | None) -> Any | None:
        """The fixed result for a method, or None; `version` is None in the handshake era."""
        if version is not None:
            capable = isinstance(params["_meta"].get(META + "clientCapabilities"), dict)
            return self._by_era["modern"].get(method) if version == MODERN and capable else None
        known = self._by_era["handshake"]
        if method == "initialize" and params.get("protocolVersion") in self._versions:
            return {**known[method], "protocolVersion": params["protocolVersion"]}
        return known.get(method)


def translated(message: dict[str, Any]) -> dict[str, Any]:
    """A message from the server in the form that a handshake-era client expects."""
    result = message.get("result")
    if isinstance(result, dict):
        kept = {name: value for name, value in result.items() if name not in _ONLY_MODERN}
        return {**message, "result": kept}
    return message
