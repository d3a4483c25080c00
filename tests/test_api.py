"""`longhouse.api` is the one public path of every type that crosses a surface."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import longhouse.api
from longhouse.house import registry
from longhouse.kernel import errors
from longhouse.kernel.values import Request, Result
from tools.api_names import STUB, api_homes, opened_types
from tools.typescript import TYPES

SRC = Path(longhouse.api.__file__).parent


def test_it_exports_every_request_result_and_error() -> None:
    types = {kind for command in registry() for kind in (command.request, command.result)}
    types |= set(opened_types(registry()))
    names = {kind.__name__ for kind in types - {Result}} | set(errors.__all__)
    assert names <= set(longhouse.api.__all__)
    for kind in types - {Result}:
        assert getattr(longhouse.api, kind.__name__) is kind


def test_it_exports_nothing_else_than_the_code_says() -> None:
    assert longhouse.api.__all__ == sorted(api_homes(registry()))
    stub = ast.parse(STUB.read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    told = [name.asname or name.name for node in imports for name in node.names]
    assert sorted(told) == longhouse.api.__all__
    with pytest.raises(AttributeError, match="no_such_name"):
        longhouse.api.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_every_request_and_result_is_in_the_types_of_its_room() -> None:
    strays = {
        f"{kind.__module__}.{kind.__name__}"
        for command in registry()
        for kind in (command.request, command.result)
        if ".types" not in kind.__module__ and kind is not Result
    }
    assert strays == set()
    assert all(issubclass(command.request, Request) for command in registry())


def test_importing_it_loads_no_room_and_types_load_no_handlers() -> None:
    code = (
        "import sys, longhouse.api as api;"
        "rooms = ('memory', 'work', 'jobs', 'crew', 'ledger', 'desk');"
        "mine = lambda: {m for m in sys.modules if m.startswith("
        "    tuple(f'longhouse.{room}.' for room in rooms))};"
        "assert not mine(), mine();"
        "[getattr(api, name) for name in api.__all__];"
        "heavy = {m for m in mine() if '.types' not in m} - {f'longhouse.{r}.room' for r in rooms};"
        "light = {'longhouse.jobs.routing', 'longhouse.jobs.states', 'longhouse.jobs.values',"
        "    'longhouse.work.proof', 'longhouse.work.states', 'longhouse.work.tree',"
        "    'longhouse.crew.liveness', 'longhouse.memory.names'};"
        "assert heavy <= light, heavy - light"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_page_has_a_type_for_each_command_error_and_event() -> None:
    text = TYPES.read_text(encoding="utf-8")
    for command in registry():
        assert f'"{command.cmd}": {{ request: {command.request.__name__}; ' in text
    for name in ("Envelope<R = unknown>", "ErrorBody", "LogRow", "Action", "Warned"):
        assert f"export interface {name} {{" in text
    assert '  | "UNKNOWN_ID"' in text
