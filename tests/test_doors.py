"""Doors: what each package offers to the others, and that nobody comes in another way."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from grimp import ImportGraph

from longhouse.kernel.doors import public_names
from tools.doors import PublicName, packages, public_modules, public_of
from tools.import_contracts import DoorsContract

ROOT = Path(__file__).parents[1]
MOST_NAMES = 39
"""More than that is not a door but a wall that is missing. Lower it when you can."""


def listed_for_type_checkers(package: str) -> dict[str, str]:
    """What mypy reads: the imports under TYPE_CHECKING, by a real parser."""
    path = ROOT.joinpath("src", *package.split("."), "__init__.py")
    (block,) = (
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname in (None, alias.name)
    }


WITH_NAMES = [package for package in packages() if package != "longhouse.ledger"]


@pytest.mark.parametrize("package", WITH_NAMES)
def test_a_door_opens_to_what_it_lists_and_to_nothing_else(package: str) -> None:
    module = importlib.import_module(package)
    listed = listed_for_type_checkers(package)
    assert public_names(package) == listed
    for name, home in listed.items():
        there = importlib.import_module(home)
        expected = importlib.import_module(f"{home}.{name}") if home == package else None
        assert getattr(module, name) is (expected or getattr(there, name)), name
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        _ = module.no_such_name


@pytest.mark.parametrize("package", WITH_NAMES)
def test_each_name_at_a_door_says_what_it_is(package: str) -> None:
    names = public_of(package)
    assert len(names) <= MOST_NAMES
    assert [one.name for one in names if not one.says] == []


@pytest.mark.parametrize("package", WITH_NAMES)
def test_a_name_at_a_door_is_not_also_the_name_of_a_module(package: str) -> None:
    """Importing such a module would put it in the place of what the door lists."""
    folder = ROOT.joinpath("src", *package.split("."))
    modules = {path.stem for path in folder.iterdir()}
    whole = {name for name in public_of(package) if name.home == package}
    assert {f"{package}.{one.name}" for one in whole} <= set(public_modules())
    assert not modules & {one.name for one in public_of(package) if one not in whole}


def test_a_name_loads_only_the_module_that_defines_it() -> None:
    code = (
        "import sys; from longhouse.work import CLOSED;"
        "print(*sorted(m for m in sys.modules if m.startswith('longhouse.work')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["longhouse.work", "longhouse.work.states"]


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("longhouse.terminals")
    monkeypatch.delitem(package.__dict__, "Screen", raising=False)
    screen = package.Screen
    assert package.__dict__["Screen"] is screen


def test_the_rule_finds_who_comes_in_by_a_window() -> None:
    graph = ImportGraph()
    for module in ("a", "a.b", "a.b.inner", "a.b.types", "a.b.whole", "a.c", "a.c.user"):
        graph.add_module(module)
    for imported in ("a.b", "a.b.inner", "a.b.types", "a.b.whole"):
        graph.add_import(importer="a.c.user", imported=imported)
    graph.add_import(importer="a.b", imported="a.b.inner")
    options = {"packages": ["a.b"], "open": ["types"], "modules": ["a.b.whole"]}
    contract = DoorsContract("doors", {"root_packages": ["a"]}, options)
    checked = contract.check(graph, verbose=False)
    assert not checked.kept
    assert checked.metadata["strays"] == ["a.c.user imports a.b.inner"]
    graph.remove_import(importer="a.c.user", imported="a.b.inner")
    assert contract.check(graph, verbose=False).kept


def test_the_manual_sends_nobody_to_an_inner_module() -> None:
    """Public are the package, `api`, `executors` for plug-ins, and the library of subagents."""
    pages = [*ROOT.glob("docs/*.md"), ROOT / "README.md"]
    named = {
        found
        for page in pages
        for found in re.findall(
            r"^(?:from|import) (longhouse[\w.]*)", page.read_text(), re.MULTILINE
        )
    }
    optional = {f"longhouse.subagents.{name}" for name in ("executor_runner", "openai_runner")}
    assert named == {
        "longhouse",
        "longhouse.api",
        "longhouse.executors",
        "longhouse.subagents",
        "longhouse.subagents.recorder",
        *optional,
    }


def test_what_a_plug_in_needs_is_public_to_its_type_checker() -> None:
    (page,) = (ROOT / "docs" / "runner.md").read_text().split("```python\n")[1:]
    source = (ROOT / "src" / "longhouse" / "executors" / "__init__.py").read_text()
    needed = re.search(r"from longhouse.executors import \(([^)]*)\)", page)
    assert needed
    for name in needed[1].replace(",", " ").split():
        assert f"import {name} as {name}\n" in source


def test_the_list_of_a_door_is_readable() -> None:
    (name,) = (one for one in public_of("longhouse.work") if one.name == "scene_of")
    assert name == PublicName(
        "scene_of",
        "longhouse.work.radar",
        "A plan or task with its steps, proofs and horizon; UnknownId if there is none.",
    )
