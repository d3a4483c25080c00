"""Commands of the registry as tasks: carried out at once, as whoever spawned them.

The task's frames and what the command wrote commit together or not at all, so a command never runs
twice. Its output is its result as JSON, kept as an artifact.
"""

from __future__ import annotations

from types import GeneratorType
from typing import Any

import msgspec

from longhouse.kernel.errors import Forbidden
from longhouse.kernel.redact import redact
from longhouse.kernel.registry import Command
from longhouse.kernel.tool_tasks import DELTA_BYTES
from longhouse.kernel.values import Request
from longhouse.processes.frames import log_id, named_logs, status_payload
from longhouse.processes.records import Process
from longhouse.processes.state import LogSeal
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.text import whole
from longhouse.store.tx import Refused, Tx, Wait

__all__ = ["call_as_task", "refuse_above"]


def refuse_above(tx: Tx, command: Command, args: dict[str, Any]) -> None:
    """Refuse what the caller could not call directly."""
    needed = command.writes_role if command.writes_given(args) and not command.writes else None
    if tx.by.role < max(command.role, needed or command.role):
        raise Forbidden(
            f"{command.cmd} needs the role {command.role.name.lower()}",
            recovery="ask whoever has it",
        )


def call_as_task(tx: Tx, process: Process, command: Command, request: Request) -> Process:
    """Carry the command out and write the frames of a task that ran and ended."""
    result = _result(tx, command, request)
    data = msgspec.json.encode(redact(msgspec.to_builtins(result))) + b"\n"
    started: dict[str, Any] = {"started_at_ms": tx.now_ms}
    kept, _ = artifacts_of(tx).put(
        tx, data, name=f"{process.task_id} stdout", media_type="application/json"
    )
    size = len(data)
    seals = {
        "stdout": LogSeal(
            bytes_total=size,
            bytes_stored=size,
            sha256=kept.digest,
            stored_sha256=kept.digest,
            artifact=kept.digest,
        ),
        "stderr": LogSeal(bytes_total=0, bytes_stored=0),
    }
    logs = {stream: msgspec.to_builtins(seal) for stream, seal in seals.items()}
    return process.write(
        tx,
        [
            ("tool_task_status", status_payload(status="running", **started)),
            *(
                ("tool_stdout", delta)
                for delta in _deltas(process, data, process.spec.number("max_bytes"))
            ),
            (
                "tool_task_status",
                status_payload(
                    status="exited",
                    exit_code=0,
                    ended_at_ms=tx.now_ms,
                    artifacts={"logs": named_logs(process.task_id, logs)},
                    **started,
                ),
            ),
        ],
    )


def _result(tx: Tx, command: Command, request: Request) -> Any:
    more = (command.ahead(tx, request),) if command.ahead else ()
    made = command.handler(tx, request, *more)
    if isinstance(made, GeneratorType):
        made = _answered(tx, made)
    if isinstance(made, Refused):
        raise made.error
    return made.result if isinstance(made, Wait) else made


def _answered(tx: Tx, steps: GeneratorType[Any, Any, Any]) -> Any:
    """Answer the questions of a handler that yields them."""
    try:
        question = next(steps)
        while True:
            question = steps.send(tx.answer(question))
    except StopIteration as end:
        return end.value


def _deltas(process: Process, data: bytes, inline: int) -> list[dict[str, Any]]:
    """Output in pieces of whole characters; past the budget, one reference to the rest."""
    deltas: list[dict[str, Any]] = []
    at = 0
    while at < len(data):
        piece = data[at : at + DELTA_BYTES]
        size = whole(piece) if at + len(piece) < len(data) else len(piece)
        chunk: str | None = piece[:size].decode("utf-8", "replace")
        log = None
        if at + size > inline:
            size, chunk = len(data) - at, None
            log = {"id": log_id(process.task_id, "stdout"), "offset_bytes": at, "bytes": size}
        deltas.append(
            {
                "stream": "stdout",
                "chunk": chunk,
                "offset_bytes": at,
                "bytes": size,
                "artifacts": None if log is None else {"log": log},
            }
        )
        at += size
    return deltas
