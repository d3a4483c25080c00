"""Installs the third-party clients that `make test-clients` drives, into `build/clients`."""

from __future__ import annotations

from tools import node
from tools.node import NODE, ROOT

__all__ = ["FOLDER", "NODE", "bin_of", "claude", "codex", "install"]

FOLDER = node.BUILD / "clients"
MODULES = FOLDER / "node_modules"


def install() -> None:
    """Install the clients; instant when nothing changed."""
    node.install(FOLDER, ROOT / "tests" / "clients")


def bin_of(name: str) -> list[str]:
    """The argv prefix for a Node program."""
    return [str(NODE), str(MODULES / ".bin" / name)]


def codex() -> str:
    """The native program; the one in `.bin` is only a launcher."""
    return str(next(MODULES.glob("@openai/codex-*/vendor/*/bin/codex")))


def claude() -> str:
    return str(next(MODULES.glob("@anthropic-ai/claude-code-*/claude")))


if __name__ == "__main__":
    install()
