"""Checks the Markdown in this repository: every relative link points to an existing file, and every
page of docs/ is listed in docs/README.md.

Each check is a function that yields complaints; add new ones to `CHECKS`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

SKIPPED = {".git", ".venv", "build", "dist", "node_modules"}
LINK = re.compile(
    r"""!?\[[^\]]*\]\(<?(?P<to>[^)>\s]+)>?[^)]*\)|\bsrc(?:set)?="(?P<picture>[^"]+)\""""
)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def main(root: Path = Path()) -> int:
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
        target = (link["to"] or link["picture"]).split("#")[0]
        if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        base = root if target.startswith("/") else page.parent
        if not (base / target.lstrip("/")).exists():
            line = text.count("\n", 0, link.start()) + 1
            yield f"{page.relative_to(root)}:{line}: broken link: {target}"


def unlisted(root: Path, page: Path) -> Iterator[str]:
    """A page of docs/ that docs/README.md does not list."""
    index = root / "docs" / "README.md"
    if page.parent == index.parent and page != index:
        listed = index.read_text(encoding="utf-8") if index.exists() else ""
        if f"]({page.name})" not in listed:
            yield f"{page.relative_to(root)}: not listed in docs/README.md"


CHECKS: list[Callable[[Path, Path], Iterator[str]]] = [dead_links, unlisted]

if __name__ == "__main__":
    sys.exit(main())
