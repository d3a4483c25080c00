"""Checks the Markdown of this repository: links lead somewhere, generated pages are up to date.

`python -m tools.docs --write` writes the generated pages anew. Further checks of the docs belong
here, each a function that yields complaints.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.cli_page import cli_page

SKIPPED = {".git", ".venv", "build", "dist", "node_modules"}
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)>\s]+)>?[^)]*\)")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def main(root: Path = Path(), *, write: bool = False) -> int:
    if write:
        for name, make in GENERATED.items():
            (root / name).write_text(make(), encoding="utf-8")
    complaints = [line for page in pages(root) for check in CHECKS for line in check(root, page)]
    for line in complaints:
        print(line)
    return bool(complaints)


def pages(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.md")):
        if not SKIPPED.intersection(path.relative_to(root).parts):
            yield path


def dead_links(root: Path, page: Path) -> Iterator[str]:
    text = CODE.sub(lambda code: "\n" * code[0].count("\n"), page.read_text(encoding="utf-8"))
    for link in LINK.finditer(text):
        target = link[1].split("#")[0]
        if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        base = root if target.startswith("/") else page.parent
        if not (base / target.lstrip("/")).exists():
            line = text.count("\n", 0, link.start()) + 1
            yield f"{page.relative_to(root)}:{line}: the link leads nowhere: {target}"


def stale_pages(root: Path, page: Path) -> Iterator[str]:
    name = page.relative_to(root).as_posix()
    make = GENERATED.get(name)
    if make and page.read_text(encoding="utf-8") != make():
        yield f"{name}: not what its source says now; run `python -m tools.docs --write`"


GENERATED: dict[str, Callable[[], str]] = {"docs/cli.md": cli_page}
"""Pages that are made from declarations, and what makes them."""

CHECKS: list[Callable[[Path, Path], Iterator[str]]] = [dead_links, stale_pages]

if __name__ == "__main__":
    sys.exit(main(write="--write" in sys.argv[1:]))
