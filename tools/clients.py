"""Installs the third-party clients that `make test-clients` drives, into `build/clients`."""

from __future__ import annotations

from tools import node
from tools.node import NODE, ROOT

__all__ = ["FOLDER", "NODE", "bin_of", "claude", "codex", "install"]

FOLDER = node.BUILD / "clients"
MODULES = FOLDER / "node_modules"


def install() -> None:
    """Make everything available; instant when nothing changed."""
    node.install(FOLDER, ROOT / "tests" / "clients")


def bin_of(name: str) -> list[str]:
    """How to run a program that is written for Node."""
    return [str(NODE), str(MODULES / ".bin" / name)]


def codex() -> str:
    """The native program itself: the one on npm's path only starts it."""
    return str(next(MODULES.glob("@openai/codex-*/vendor/*/bin/codex")))


def claude() -> str:
    return str(next(MODULES.glob("@anthropic-ai/claude-code-*/claude")))


if __name__ == "__main__":
    install()
