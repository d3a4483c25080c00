"""`longhouse docs`: the manual, which ships with the package and needs no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import longhouse
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Shown

_ALL = ("list", "ls", "all", "index", "topics", "pages")
_PACKAGE = Path(longhouse.__file__).parent


def run(cli: Cli, topic: str | None = None) -> Shown | int:
    known = pages()
    if topic is None or (topic.lower() in _ALL and topic.lower() not in known):
        rows = [{"topic": name, "about": _title(path)} for name, path in known.items()]
        lines = [*table(rows, ("topic", "about")), "", "to read one: longhouse docs TOPIC"]
        return Shown({"topics": rows}, lines)
    path = known.get(topic.lower().removesuffix(".md"))
    if path is None:
        import difflib

        near = difflib.get_close_matches(topic.lower(), known, n=1, cutoff=0.5)
        raise UnknownId(
            f"the manual has no page {topic!r}",
            recovery=f"longhouse docs {near[0]}" if near else "`longhouse docs` lists the pages",
        )
    text = path.read_text(encoding="utf-8").rstrip("\n")
    if cli.as_json or not cli.out.for_people or not _paged(text):
        return Shown({"topic": path.stem, "text": text}, [text])
    return 0


def pages() -> dict[str, Path]:
    """The pages by topic, in reading order: from the package, or in a clone from `docs/`."""
    folder = next(
        (one for one in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs") if one.is_dir()), None
    )
    if folder is None:
        return {}
    first = folder / "README.md"
    found = {path.stem: path for path in sorted(folder.glob("*.md")) if path != first}
    order = first.read_text(encoding="utf-8") if first.is_file() else ""
    names = sorted(found, key=lambda name: (order.find(f"({name}.md") + 1 or len(order) + 1, name))
    return {name: found[name] for name in names}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()


def _paged(text: str) -> bool:
    """Whether a pager showed the text; without a pager, it is printed."""
    less = shutil.which("less")
    if less is None or text.count("\n") < os.get_terminal_size(sys.stdout.fileno()).lines:
        return False
    shown = subprocess.run([less, "-FRX"], input=tame(text), text=True, check=False)
    return shown.returncode == 0


command = Command(
    "docs",
    "Read the manual offline",
    args=[Arg("topic", "a page, such as runner (default: list all pages)", False)],
    run=run,
    examples=["longhouse docs", "longhouse docs runner"],
)
