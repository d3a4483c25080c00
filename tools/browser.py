"""Brings the browser that `tests/web` drives into `build/browser`; it needs no root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools import node

__all__ = ["AXE", "chromium"]

FOLDER = node.BUILD / "browser"
MODULES = FOLDER / "node_modules"
AXE = MODULES / "axe-core" / "axe.min.js"
UNPACK = "import('@sparticuz/chromium').then((c) => c.default.executablePath()).then(console.log)"


def chromium() -> Path:
    """The program, unpacked once."""
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


if __name__ == "__main__":
    sys.exit(print(chromium()))
