"""The pages tell the truth: their walks are walked and their snippets are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a walk, and what the page says it prints."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, said = part.partition("\n")
            yield command, said


def matches(said: str, printed: str) -> bool:
    """`…` stands for anything, a line of its own for any lines."""
    pattern = ".*".join(re.escape(part) for part in said.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A fresh repository named acme, and an environment with nothing but our commands."""
    root = tmp_path / "acme"
    (root / ".git").mkdir(parents=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    environment = {**clean, "PATH": path, "LONGHOUSE_PORT": "0", "NO_COLOR": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.org"}
    yield root, environment
    subprocess.run(["longhouse", "down", "--force"], cwd=root, env=environment, check=True)


@pytest.mark.parametrize("page", ["README.md", "docs/crew.md", "docs/memory.md", "docs/work.md"])
def test_the_walk_of_a_page_goes_as_it_says(shop: tuple[Path, dict[str, str]], page: str) -> None:
    root, environment = shop
    walk = list(steps(page))
    assert len(walk) > 8
    for command, said in walk:
        ran = subprocess.run(
            ["bash", "-c", command], cwd=root, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert matches(said, ran.stdout), f"$ {command}\n{ran.stdout}\nbut the page says\n{said}"


@pytest.mark.parametrize("number", range(len(blocks("docs/sdk.md", "python"))))
@pytest.mark.parametrize("server", [False, True])
def test_the_snippets_of_the_sdk_page_run(
    shop: tuple[Path, dict[str, str]], number: int, server: bool
) -> None:
    root, environment = shop
    if server:
        subprocess.run(["longhouse", "up", "--json"], cwd=root, env=environment, check=True)
    snippet = blocks("docs/sdk.md", "python")[number]
    subprocess.run([sys.executable, "-c", snippet], cwd=root, env=environment, check=True)
