"""Builds the page (`web/`) into the package, and checks it; instant when nothing changed.

`python -m tools.page` builds; `python -m tools.page check` checks format, lint and types, and
`python -m tools.page unit` runs the tests of what needs no browser. The scripts that the first
view downloads have a size budget.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools import node
from tools.node import BUILD, ROOT

__all__ = ["STATIC", "build", "check", "initial_bytes", "unit"]

WEB = ROOT / "web"
STATIC = ROOT / "src" / "longhouse" / "surfaces" / "http" / "static"
MODULES = WEB / "node_modules"
MOST_INITIAL = 250 * 1024
"""The most compressed bytes of script that the first view may need."""


def build() -> None:
    """Rebuild the page in the package if its sources have changed."""
    with node.alone("page"):
        wanted = node.digest_of(_sources())
        stamp = STATIC / ".digest"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        node.install(WEB, WEB)
        node.run(_js("vite/bin/vite.js", "build", "--logLevel=warn"), cwd=WEB)
        size = initial_bytes(STATIC)
        if size > MOST_INITIAL:
            sys.exit(
                f"the first view needs {size:,} compressed bytes of script, more than "
                f"{MOST_INITIAL:,}: load what it does not need with import()"
            )
        stamp.write_text(wanted)


def initial_bytes(folder: Path) -> int:
    """The compressed size of the entry script and everything it imports statically."""
    chunks: dict[str, dict[str, Any]] = json.loads((folder / "manifest.json").read_text())
    todo = [name for name, chunk in chunks.items() if chunk.get("isEntry")]
    found = set(todo)
    while todo:
        fresh = set(chunks[todo.pop()].get("imports", ())) - found
        found |= fresh
        todo += fresh
    scripts = {chunks[name]["file"] for name in found}
    return sum(len(gzip.compress((folder / name).read_bytes(), 9)) for name in scripts)


def check() -> int:
    """Check format, lint and types; prints only failures."""
    with node.alone("page"):
        wanted = node.digest_of(_sources())
        stamp = BUILD / "page.checked"
        if stamp.exists() and stamp.read_text() == wanted:
            return 0
        node.install(WEB, WEB)
        biome = _js("@biomejs/biome/bin/biome", "check", "--error-on-warnings", "--colors=off")
        failed = [argv for argv in (biome, _js("typescript/bin/tsc", "--noEmit")) if _fails(argv)]
        if failed:
            return 1
        stamp.write_text(wanted)
        return 0


def unit() -> int:
    """Run the page's unit tests (`web/unit`); prints only failures."""
    with node.alone("page"):
        node.install(WEB, WEB)
    return _fails(_js("vitest/vitest.mjs", "run", "--reporter=default", "--silent"))


def _fails(argv: list[str]) -> bool:
    done = subprocess.run(
        argv, cwd=WEB, env=node.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        print((done.stdout + done.stderr).rstrip())
    return bool(done.returncode)


def _js(program: str, *arguments: str) -> list[str]:
    return [str(node.NODE), str(MODULES / program), *arguments]


def _sources() -> list[Path]:
    """Everything that the build and the checks read."""
    found = [node.PINS, *(path for path in WEB.iterdir() if path.is_file())]
    for folder in (WEB / "src", WEB / "public", WEB / "unit"):
        found += [path for path in folder.rglob("*") if path.is_file()]
    return sorted(found)


if __name__ == "__main__":
    if sys.argv[1:] in (["check"], ["unit"]):
        sys.exit(check() if sys.argv[1] == "check" else unit())
    build()
