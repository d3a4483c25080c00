"""A clone of a repository that an attacker wrote, and Longhouse run inside it as people run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import load

SCRIPT = str(Path(sys.executable).with_name("longhouse"))
GIT = shutil.which("git") or "git"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ASK = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status"}}
REQUESTS = "".join(json.dumps(message) + "\n" for message in (HELLO, ASK))


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out.splitlines()[-1])["error"]
        return value


class Clone:
    """What `git clone` gives to somebody who trusts nobody."""

    def __init__(
        self, base: Path, files: Mapping[str, str], links: Mapping[str, str] | None = None
    ) -> None:
        origin = base / "origin" / "acme"
        for name, text in files.items():
            path = origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        for name, target in (links or {}).items():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            (origin / name).symlink_to(target)
        origin.mkdir(parents=True, exist_ok=True)
        git(origin, "init", "-q", "-b", "main")
        git(origin, "add", "--all", "--force")
        git(origin, "commit", "-q", "--allow-empty", "-m", "Looks harmless")
        self.base = base
        self.root = base / "acme"
        self.home = base / "home"
        self.home.mkdir()
        self.dir = self.root / ".longhouse"
        git(base, "clone", "-q", str(origin), str(self.root))

    @property
    def store(self) -> Path:
        """The store that this machine made for the clone, or would make."""
        return load({}, environ={"HOME": str(self.home)}, cwd=self.root).dir

    @property
    def user_file(self) -> Path:
        return self.home / ".config" / "longhouse" / "config.toml"

    def write_user_file(self, text: str) -> None:
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text)

    def run(
        self,
        *words: str,
        program: Sequence[str] = (SCRIPT,),
        stdin: str = "",
        cwd: Path | None = None,
        **environ: str,
    ) -> Ran:
        ran = subprocess.run(
            [*program, *words],
            cwd=cwd or self.root,
            env=self.environ(**environ),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def environ(self, **changes: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LONGHOUSE_RUNNER_AUTOSTART": "0",
            **changes,
        }

    def down(self) -> None:
        self.run("down", "--force")


def git(cwd: Path, *words: str) -> str:
    named = ["-c", "user.name=Eve", "-c", "user.email=eve@example.com"]
    ran = subprocess.run([GIT, *named, *words], cwd=cwd, check=True, capture_output=True, text=True)
    return ran.stdout.strip()
