"""Real runner processes on a real server, with the faked agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.kit import FAKE_CODEX
from tests.surfaces.serving import ROOT, Served

GATE = "[time.sleep(0.02) for _ in iter(lambda: (STATE / 'go').exists(), True)]"
"""What an agent does that waits until its gate is opened."""
QUICK = {
    "heartbeat-ms": 1_000,
    "slice-s": 20,
    "kill-grace-s": 1,
    "retry-pause-ms": 0,
    "drain-s": 0,
    "server-start-s": 0,
}


class RunnerProcess:
    """`longhouse runner` with short times."""

    def __init__(
        self, base: Path, name: str, *words: str, limit_kb: int | None = None, **flags: Any
    ) -> None:
        self.name = name
        self.log = base / f"{name}.log"
        given = {**QUICK, **{key.replace("_", "-"): value for key, value in flags.items()}}
        argv = [
            sys.executable,
            "-m",
            "longhouse",
            "runner",
            "--dir",
            str(base / ".longhouse"),
            "--workspace",
            "acme",
            "--runner-id",
            name,
            *words,
        ]
        argv += [word for key, value in given.items() for word in (f"--{key}", str(value))]
        if limit_kb:  # no file of it, nor of its children, may be larger
            argv = ["bash", "-c", f'ulimit -f {limit_kb}; exec "$@"', "bash", *argv]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                argv,
                cwd=base,
                env=environment(base),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def said(self) -> str:
        return self.log.read_text()

    def await_line(self, words: str) -> None:
        until(lambda: words in self.said(), f"{words!r} in {self.name}: ", self.said)

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self) -> int:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait(60)


def environment(base: Path) -> dict[str, str]:
    (base / "home").mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(base / "home"),
        "LANG": "C.UTF-8",
        "FAKE_STATE": str(base / "state"),
        "LONGHOUSE_CODEX_BIN": FAKE_CODEX,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }


def bind(base: Path, root: Path, *words: str, db: str | None = None) -> None:
    """What a person types in a repository for the store in `base`, so that its work is done there.

    Call it while the server runs: it makes the store.
    """
    store = ["--dir", str(base / ".longhouse"), *(["--db", db] if db else [])]
    argv = [sys.executable, "-m", "longhouse", "workspace", "bind", "acme", *store, *words]
    done = subprocess.run(argv, cwd=root, env=environment(base), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Desk:
    """What a manager does in these tests."""

    def __init__(self, base: Path, **flags: Any) -> None:
        self.base = base
        self.served = Served(base, **flags)
        self._runners: list[RunnerProcess] = []

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        return self.served(cmd, workspace="acme", **args)

    def restart(self) -> None:
        flags = dict(self.served.flags)
        self.served.kill()
        self.served = Served(self.base, **{k: v for k, v in flags.items() if k != "dir"})

    def runner(self, name: str, *words: str, **flags: Any) -> RunnerProcess:
        self._runners.append(RunnerProcess(self.base, name, *words, **flags))
        return self._runners[-1]

    def job(self, *script: str, **more: Any) -> str:
        last = len(script)
        lines = [f"[[{n if n < last else '*'}: {line}]]" for n, line in enumerate(script, 1)]
        made = self("jobs.create", title="Look", prompt="\n".join(lines), **more)
        job: str = made["job"]["id"]
        return job

    def note(self) -> str:
        ref: str = self("vcs.notes.commit", content="what was done")["ref"]
        return ref

    def status(self, job: str) -> str:
        status: str = self("jobs.open", job=job)["job"]["status"]
        return status

    def await_status(self, job: str, status: str) -> None:
        until(
            lambda: self.status(job) == status,
            f"{job} {status}: ",
            lambda: "\n".join(runner.said() for runner in self._runners),
        )

    def open_gate(self, job: str) -> None:
        (self.base / "state" / job / "go").touch()

    def trace(self, job: str) -> list[str]:
        path = self.base / "state" / job / "trace"
        return path.read_text().split() if path.exists() else []

    def kinds(self, job: str) -> list[str]:
        return [event["kind"] for event in self("jobs.tail", job=job, limit=200)["events"]]

    def radar(self) -> list[str]:
        args = {"workspace": "acme", "fmt": "lines"}
        return self.served.http.post("/call/jobs.radar", json=args).text.splitlines()

    def close(self) -> None:
        for runner in self._runners:
            if runner.process.poll() is None:
                runner.kill()
        self.served.stop()


def join(desk: Desk, there: Path, **flags: Any) -> None:
    """What a person does so that a folder of another machine does the work: as the refusal says."""
    refused = RunnerProcess(there, "stranger", url=desk.served.url, **flags)
    refused.await_line("--project ")
    desk("workspace.bind", project=refused.said().partition("--project ")[2].split()[0])
    refused.kill()


def until(
    ready: Callable[[], bool],
    what: str = "",
    more: Callable[[], str] = lambda: "",
    timeout_s: float = 90,
) -> None:
    """Wait for something that another process does."""
    ends = time.monotonic() + timeout_s
    while not ready():
        assert time.monotonic() < ends, what + more()
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether it runs: one that was killed may not have been reaped yet, which is init's affair."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return after_name.split()[0] not in "ZX"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()
