"""A fake runner and host for tests: they call the commands, and no process runs."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from longhouse.kernel.tool_policy import PolicyRule
from longhouse.processes.facts import ProcessFacts
from longhouse.terminals import recording as rec
from tests.kit import Lh

HOST = "host-3f9a1c07"

PART = 1_000_000

_HI = hashlib.sha256(b"hi\r\n").hexdigest()
RECORDED = (
    '{"type":"longhouse-recording","version":1,"mode":"pty","tool":"bash","command":"echo hi",'
    '"started_at_ms":1800000000000}\n'
    '{"type":"output","at":12,"stream":"pty","offset":0,"text":"hi\\r\\n"}\n'
    '{"type":"end","at":15,"status":"exited","exit_code":0,'
    f'"streams":{{"pty":{{"bytes":4,"sha256":"{_HI}"}}}}}}\n'
)
"""A recording; the example of `tool.recording_import` names it by its digest."""


def allow(lh: Lh) -> None:
    """Let the policy allow every command."""
    facts = lh.house.facts
    facts.put(facts.of(ProcessFacts)._replace(profile="full-auto"))


def spawned(lh: Lh, command: str = "make test", **more: Any) -> str:
    allow(lh)
    args = {"command": command, **more.pop("args", {})}
    return str(lh("tool.task_spawn", tool="bash", args=args, **more)["task_id"])


class Runner:
    """Plays the runner of one host."""

    def __init__(self, lh: Lh, runner_id: str = "runner-1", host_id: str = HOST) -> None:
        self.lh, self.runner_id, self.host_id = lh, runner_id, host_id
        self.revision = 0

    def hold(self) -> dict[str, Any]:
        held = self.lh("tool.task_held", **self.me)
        self.revision = held["revision"]
        return held

    @property
    def me(self) -> dict[str, Any]:
        return {"runner_id": self.runner_id, "host_id": self.host_id}

    def claim(self, limit: int = 32) -> list[dict[str, Any]]:
        if not self.revision:
            self.hold()
        claimed = self.lh("tool.task_claim", revision=self.revision, limit=limit, **self.me)
        tasks: list[dict[str, Any]] = claimed["tasks"]
        return tasks

    def watch(self, **more: Any) -> dict[str, Any]:
        return self.lh("tool.task_watch", revision=self.revision, timeout_ms=0, **self.me, **more)

    def args(self, task_id: str, frames: list[dict[str, Any]], base_seq: int | None) -> dict:
        if base_seq is None:
            base_seq = self.lh("tool.task_status", task_id=task_id)["task"]["next_seq"]
        fence = {"runner_id": self.runner_id, "revision": self.revision}
        return {"task_id": task_id, "base_seq": base_seq, "frames": frames, **fence}

    def append(self, task_id: str, *frames: dict[str, Any], base_seq: int | None = None) -> Any:
        return self.lh("tool.task_append", **self.args(task_id, list(frames), base_seq))

    def refused(self, task_id: str, *frames: dict[str, Any], base_seq: int | None = None) -> Any:
        return self.lh.refused("tool.task_append", **self.args(task_id, list(frames), base_seq))

    def start(self, lh_task: str | None = None, **more: Any) -> str:
        """A running task."""
        task_id = lh_task or spawned(self.lh, **more)
        self.claim()
        self.append(task_id, running())
        return task_id


def running(**more: Any) -> dict[str, Any]:
    return {"type": "tool_task_status", "status": "running", "pid": 7, "started_at_ms": 1, **more}


def out(offset: int, chunk: str, stream: str = "stdout") -> dict[str, Any]:
    size = len(chunk.encode())
    return {"type": f"tool_{stream}", "offset_bytes": offset, "bytes": size, "chunk": chunk}


def ended(status: str = "exited", exit_code: int | None = 0, **more: Any) -> dict[str, Any]:
    base = {"type": "tool_task_status", "status": status, "ended_at_ms": 9}
    return base | ({"exit_code": exit_code} if exit_code is not None else {}) | more


def rule(**fields: Any) -> PolicyRule:
    return msgspec.convert({"id": "RULE-001", **fields}, PolicyRule)


def recorded(lh: Lh, task_id: str) -> bytes:
    """The recording of a task, from all its pages."""
    page = lh("tool.recording_export", task_id=task_id)
    lines = base64.b64decode(page["data_b64"])
    while page["has_more"]:
        page = lh("tool.recording_export", task_id=task_id, cursor=page["next_cursor"])
        lines += base64.b64decode(page["data_b64"])
    return lines


def long_recording(lines: int) -> bytes:
    """A recording of many pages, with multibyte characters."""
    totals, told = rec.Totals("pty"), list[rec.Header | rec.Event]()
    told.append(rec.Header(version=1, mode="pty", started_at_ms=1_800_000_000_000))
    for n in range(lines):
        data = f"{n} grün ".encode() * 40
        piece = rec.Output.of(n, "pty", totals.sizes["pty"], data)
        totals.take(piece)
        told.append(piece)
    told.append(rec.End(at=lines, status="exited", exit_code=0, streams=totals.ends()))
    return b"".join(map(rec.encoded, told))


def imported(lh: Lh, recording: bytes) -> str:
    """The task that importing a recording creates."""
    task: str = lh("tool.recording_import", artifact=stored(lh, recording))["task"]["task_id"]
    return task


def stored(lh: Lh, data: bytes) -> str:
    """Store bytes as an artifact, added in parts as clients do."""
    parts = [
        lh("docs.artifact.add", name=f"part {at}", content_b64=_b64(data[at : at + PART]))["ref"]
        for at in range(0, len(data), PART)
    ]
    digest = hashlib.sha256(data).hexdigest()
    ref: str = lh("docs.artifact.join", name="recording", parts=parts, digest=digest)["ref"]
    return ref


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
