"""The pages tell the truth: their walks are walked and their snippets are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhouse.terminals.screen import Screen
from tests.surfaces.cli.person import Person
from tests.walks import blocks, matches, steps


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A fresh repository named acme, and an environment with nothing but our commands."""
    root = tmp_path / "acme"
    (root / ".git").mkdir(parents=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    environment = {
        **clean,
        "PATH": path,
        "LONGHOUSE_PORT": "0",
        "NO_COLOR": "1",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LONGHOUSE_RUNNER_AUTOSTART": "0",
    }
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.org"}
    yield root, environment
    subprocess.run(["longhouse", "down", "--force"], cwd=root, env=environment, check=True)


PAGES = [
    "README.md",
    "docs/crew.md",
    "docs/desk.md",
    "docs/memory.md",
    "docs/recall.md",
    "docs/operations.md",
    "docs/processes.md",
    "docs/runner.md",
    "docs/team.md",
    "docs/thinking.md",
    "docs/work.md",
]


def in_a_second_terminal(command: str, said: str, root: Path, environ: dict[str, str]) -> str:
    """What somebody sees there who types what the page shows behind each prompt of Python."""
    person = Person(["bash", "-c", command], root, environ)
    try:
        seen = 0
        for typed in re.findall(r"^>>> (.*)$", said, re.MULTILINE):
            seen = person.sees(b">>>", after=seen)
            person.type(b"\x1d" if typed == "^]" else typed.encode() + b"\r")
        person.leaves()
        screen = Screen(24, 80)
        screen.feed(person.seen)
        return re.sub(r"\n\s*\n", "\n", screen.text())
    finally:
        person.close()


@pytest.mark.parametrize("page", PAGES)
def test_the_walk_of_a_page_goes_as_it_says(shop: tuple[Path, dict[str, str]], page: str) -> None:
    root, environment = shop
    del environment["LONGHOUSE_RUNNER_AUTOSTART"]  # a reader has it as it comes
    walk = list(steps(page))
    assert len(walk) > 8
    for where, command, said in walk:
        if where == "second":
            shown = in_a_second_terminal(command, said, root, environment)
            told = said.replace(" ^]", "")
            assert matches(told, shown), f"{command}\n{shown}\nbut the page says\n{said}"
            continue
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
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
