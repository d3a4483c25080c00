"""Public import path of every request, result, value and error.

    from longhouse.api import CreateJob

Cheap to import: the manifest maps each name to its module, which is imported on first use.
"""

from __future__ import annotations

import json
from importlib import import_module

from longhouse.sparse import MANIFEST

_HOMES: dict[str, str] = json.loads(MANIFEST.read_text(encoding="utf-8")).get("api", {})

__all__ = sorted(_HOMES)  # noqa: PLE0605  (the manifest is the list)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
