"""Installs the browser for tests, benchmarks and pictures into `build/browser`, without root."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tools import node

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["AXE", "chromium", "opened"]

FOLDER = node.BUILD / "browser"
MODULES = FOLDER / "node_modules"
AXE = MODULES / "axe-core" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--disable-gpu",
]
UNPACK = "import('@sparticuz/chromium').then((c) => c.default.executablePath()).then(console.log)"


def chromium() -> Path:
    """The path of Chromium, which is unpacked on first use."""
    with node.alone("browser"):
        node.install(FOLDER, node.ROOT / "tests" / "web")
        stamp, program = FOLDER / ".stamp", FOLDER / "chromium"
        wanted = (MODULES / ".stamp").read_text()
        if stamp.exists() and stamp.read_text() == wanted and program.exists():
            return program
        program.unlink(missing_ok=True)
        env = {**node.environment(), "TMPDIR": str(FOLDER)}
        subprocess.run(
            [str(node.NODE), "-e", UNPACK], cwd=FOLDER, env=env, check=True, capture_output=True
        )
        os.chmod(program, 0o755)  # noqa: PTH101
        stamp.write_text(wanted)
        return program


@contextmanager
def opened(*flags: str) -> Iterator[Browser]:
    """A headless browser; the page is built first."""
    from playwright.sync_api import sync_playwright

    from tools.page import build

    build()
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=[*FLAGS, *flags])
        yield browser
        browser.close()


if __name__ == "__main__":
    sys.exit(print(chromium()))
