"""A real host in its own folder, and access to its journals."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from longhouse.runner.host.client import HostClient
from longhouse.runner.host.journal import read_journal
from tests.runner.processes import until

PLAIN = {"mode": "pipes", "cap_bytes": 1 << 20, "grace_ms": 2_000}
BOMB = """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        pass
    time.sleep(0.05)
"""
"""Doubles twenty times a second, and ends on its own after twenty seconds."""


class Hosted:
    """Starts tasks as a runner does, and waits for the host's records."""

    def __init__(self, base: Path) -> None:
        self.root = base / "repo"
        self.root.mkdir()
        self.folder = base / "tasks" / "acme"
        self.client = HostClient(self.folder)
        self._count = 0

    @property
    def pid(self) -> int:
        pid: int = self.client.ask("list")["pid"]
        return pid

    def ask(self, *argv: str, env: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        self._count += 1
        environ = {"PATH": os.environ["PATH"], **(env or {})}
        about = {"task": f"PROC-{self._count:03}", "root": str(self.root), "argv": list(argv)}
        return self.client.ask("spawn", **{**PLAIN, **about, "env": environ, **more})

    def spawn(self, *argv: str, **more: Any) -> str:
        said = self.ask(*argv, **more)
        assert "error" not in said, said
        task: str = said["task"]
        return task

    def bash(self, script: str, **more: Any) -> str:
        return self.spawn("bash", "-c", script, **more)

    def cancel(self, task: str, op_id: str = "op-1") -> dict[str, Any]:
        return self.client.ask("control", task=task, op="cancel", op_id=op_id)

    def records(self, task: str) -> list[dict[str, Any]]:
        return read_journal(self.folder / task / "journal.jsonl")[0]

    def started(self, task: str) -> dict[str, Any]:
        return next(one for one in self.records(task) if one["kind"] == "started")

    def ended(self, task: str) -> dict[str, Any]:
        """The record of its end, which is the last one; waits for it."""
        until(lambda: self.records(task)[-1]["kind"] == "ended", f"{task} has ended")
        return self.records(task)[-1]

    def log(self, task: str, stream: str = "stdout") -> bytes:
        return (self.folder / task / f"{stream}.log").read_bytes()

    def await_output(self, task: str, words: bytes) -> bytes:
        until(lambda: words in self.log(task), f"{words!r} in {task}")
        return self.log(task)

    def kill(self) -> None:
        """Kill only the host."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        self.client.close()
        until(lambda: not lives(pid), "the host is gone")

    def close(self) -> None:
        """Have the host end all its tasks and exit."""
        if not (self.folder / "host.sock").exists():
            self.client.close()
            return
        pid = self.pid
        os.kill(pid, signal.SIGTERM)
        self.client.close()
        until(lambda: not lives(pid), "the host has left")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
