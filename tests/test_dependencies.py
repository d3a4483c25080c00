"""What installing Longhouse brings along: all that it imports, nothing else, and no next major."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PUBLISHED = [Requirement(one) for one in chain(PROJECT["dependencies"], *EXTRAS.values())]

MODULES = {
    "httptools": ("uvicorn.protocols.http.httptools_impl",),
    "mcp": ("mcp", "mcp_types"),
    "opentelemetry-exporter-otlp-proto-http": ("opentelemetry.exporter.otlp.proto.http",),
    "opentelemetry-sdk": ("opentelemetry.sdk", "opentelemetry.trace"),
    "psycopg": ("psycopg", "psycopg_pool"),
}
"""What is imported of a distribution, where that is not simply its name."""

NUMBERED_BY_YEAR = {"structlog"}
"""A new year is no break: a bound would only keep fixes out."""


@cache
def _imported() -> set[str]:
    """The modules of others that the package imports, but for what only a type checker sees."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in _statements(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {f"{node.module}.{name.name}" for name in node.names}
    ours = {*sys.stdlib_module_names, "longhouse"}
    return {name for name in found if name.partition(".")[0] not in ours}


def _statements(module: ast.Module) -> Iterator[ast.stmt]:
    left: list[ast.AST] = [module]
    while left:
        node = left.pop()
        if isinstance(node, ast.stmt):
            yield node
        checks = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ("orelse",) if checks else ("body", "orelse", "finalbody", "handlers"):
            inner = getattr(node, part, [])
            left += inner if isinstance(inner, list) else []


def _modules(name: str) -> tuple[str, ...]:
    return MODULES.get(name, (name,))


def _is_of(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("name", [one.name for one in PUBLISHED])
def test_every_dependency_is_used(name: str) -> None:
    assert [module for module in _imported() if _is_of(module, _modules(name))]


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.name)
def test_no_dependency_comes_in_a_next_major_that_nobody_has_tried(one: Requirement) -> None:
    bounds = [limit.version for limit in one.specifier if limit.operator in ("<", "<=", "==", "~=")]
    assert bool(bounds) is not (one.name in NUMBERED_BY_YEAR)


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.name)
def test_a_dependency_is_taken_with_the_extras_that_are_used_alone(one: Requirement) -> None:
    assert one.extras <= ({"binary", "pool"} if one.name == "psycopg" else set())


def test_nothing_is_imported_that_only_a_dependency_brings_along() -> None:
    known = [package for one in PUBLISHED for package in _modules(one.name)]
    assert sorted(module for module in _imported() if not _is_of(module, known)) == []
