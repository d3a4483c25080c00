"""The page `src/longhouse/DOORS.md`: what each package offers to the others, with one line each.

Written by `python -m tools.commands`. A name without a docstring is an error: who meets a name at a
door must not have to look behind it. `pyproject.toml` says which packages have doors.
"""

from __future__ import annotations

import ast
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from longhouse.kernel.doors import public_names

__all__ = ["DOORS", "PublicName", "doors_page", "packages", "public_modules", "public_of"]

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
DOORS = SOURCE / "longhouse" / "DOORS.md"
HEAD = """\
# Doors

What each package offers to the others. `make check` refuses any other import, except of a room's
`types`. `python -m tools.commands` writes this page from the `__init__.py` of each package and the
docstrings behind it. Add a name only if no function here gives you what you want; one function that
does all of it is better than several parts.
"""


class PublicName(NamedTuple):
    """One name at a door: where it is defined, and the first line of what is said about it."""

    name: str
    home: str
    says: str


def packages() -> list[str]:
    """The packages that have doors."""
    return list(_contract()["packages"])


def public_modules() -> list[str]:
    """The modules that are public as a whole."""
    return list(_contract()["modules"])


def public_of(package: str) -> list[PublicName]:
    """The names at a package's door, sorted."""
    importlib.import_module(package)
    found = []
    for name, home in sorted(public_names(package).items(), key=lambda one: one[0].lower()):
        says = _module_says(f"{home}.{name}") if home == package else _says(home, name)
        found.append(PublicName(name, home, says))
    return found


def doors_page() -> str:
    parts = [HEAD]
    for package in packages():
        names = public_of(package)
        rows = "".join(f"| `{one.name}` | {one.says} |\n" for one in names)
        table = f"| name | what it is |\n| --- | --- |\n{rows}" if names else "Only its types.\n"
        parts.append(f"## longhouse.{package.removeprefix('longhouse.')}\n\n{table}")
    return "\n".join(parts)


def _contract() -> dict[str, list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (found,) = (one for one in contracts if one["id"] == "doors")
    return dict(found)


def _module_says(module: str) -> str:
    return _first_line(ast.get_docstring(_tree(module)) or "")


def _says(module: str, name: str) -> str:
    """The first line about a definition: its docstring, or the string after an assignment."""
    body = _tree(module).body
    for at, node in enumerate(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                return _first_line(ast.get_docstring(node) or "")
        elif name in _assigned(node):
            after = body[at + 1] if at + 1 < len(body) else None
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return _first_line(str(after.value.value))
    return ""


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else ()
    for target in targets or ((node.target,) if isinstance(node, ast.AnnAssign) else ()):
        if isinstance(target, ast.Name):
            yield target.id


def _tree(module: str) -> ast.Module:
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _first_line(text: str) -> str:
    """The first sentence, or its first line if the sentence is longer."""
    return text.strip().split("\n\n")[0].split("\n")[0].replace("|", "\\|")
