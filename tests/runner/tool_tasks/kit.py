"""A real server, real runners and a real host, and what they report about a task."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from longhouse.runner.host.client import HostClient
from tests.runner.processes import Desk, RunnerProcess, until

ENDED = ("exited", "cancelled", "failed")


class TaskDesk(Desk):
    """Starts and reads background processes as a user does."""

    def __init__(self, base: Path, *, policy: str = "full-auto", **flags: Any) -> None:
        super().__init__(base, policy=policy, **flags)
        self.folder = base / ".longhouse" / "tasks" / "acme"

    def runner(self, name: str, *words: str, **flags: Any) -> RunnerProcess:
        return super().runner(name, *words, **{"policy": "full-auto", **flags})

    def bash(self, command: str, **more: Any) -> str:
        args = {"command": command, **more.pop("args", {})}
        task: str = self("tool.task_spawn", tool="bash", args=args, **more)["task_id"]
        return task

    def task(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = self("tool.task_status", task_id=task)["task"]
        return found

    def await_task(self, task: str, *statuses: str) -> dict[str, Any]:
        until(
            lambda: self.task(task)["status"] in statuses,
            f"{task} {statuses}: ",
            lambda: f"{self.task(task)}\n" + "\n".join(one.said() for one in self._runners),
        )
        return self.task(task)

    def ended(self, task: str) -> dict[str, Any]:
        return self.await_task(task, *ENDED)

    def frames(self, task: str) -> list[dict[str, Any]]:
        """All frames of its stream, oldest first."""
        found: list[dict[str, Any]] = []
        after = -1
        while True:
            page = self("tool.task_stream_events", task_id=task, after_seq=after, max_chars=20_000)
            found += page["frames"]
            after = page["next_cursor"]
            if not page["has_more"]:
                return found

    def text(self, task: str, stream: str = "stdout") -> str:
        return "".join(
            frame.get("chunk") or ""
            for frame in self.frames(task)
            if frame["type"] == f"tool_{stream}"
        )

    def log(self, task: str, stream: str = "stdout") -> bytes:
        path = self.folder / task / f"{stream}.log"
        return path.read_bytes() if path.exists() else b""

    @property
    def host_pid(self) -> int:
        client = HostClient(self.folder)
        try:
            pid: int = client.ask("list")["pid"]
        finally:
            client.close()
        return pid

    def close(self) -> None:
        super().close()
        if (self.folder / "host.sock").exists():
            pid = self.host_pid
            os.kill(pid, signal.SIGTERM)
            until(lambda: not Path(f"/proc/{pid}").exists(), "the host has left")
