"""Finds tasks and writes their frames: every change to a task goes through this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from longhouse.kernel.errors import Conflict, Forbidden, Suggestion, UnknownId
from longhouse.kernel.refs import seq_ref
from longhouse.kernel.tool_tasks import ENDED
from longhouse.processes.advice import SILENT_MS
from longhouse.processes.frames import STREAM, Frame, frame_from, log_id, log_path
from longhouse.processes.room import sql
from longhouse.processes.spec import TaskSpec
from longhouse.processes.state import TaskState, apply
from longhouse.processes.types.tasks import ListTasks, TaskStatus, TaskView
from longhouse.processes.waking import wake
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = [
    "SILENT_MS",
    "Process",
    "existing",
    "host_of",
    "named",
    "number_of",
    "ref_of",
    "refuse_stranger",
    "state_of",
    "view_of",
]


def ref_of(n: int) -> str:
    return f"PROC-{n:03d}"


def number_of(task_id: str) -> int:
    return int(task_id.removeprefix("PROC-"))


class Process(NamedTuple):
    """One task with its spec and folded state, inside a transaction."""

    row: Row
    spec: TaskSpec
    state: TaskState

    @classmethod
    def from_row(cls, row: Row) -> Process:
        return cls(
            row,
            msgspec.json.decode(row["spec"], type=TaskSpec),
            msgspec.json.decode(row["state"], type=TaskState),
        )

    @property
    def task_id(self) -> str:
        return ref_of(self.row["n"])

    def write(self, tx: Tx, frames: Sequence[tuple[str, Mapping[str, Any]]]) -> Process:
        """Append frames to the log and the task's stream, then store the new fold.

        If the task has ended, apply the wake-up rules.
        """
        state, seq = self.state, self.row["last_seq"]
        legal = []  # a frame that is refused leaves nothing of those before it
        for kind, payload in frames:
            data = {"task_id": self.task_id, **payload}
            legal.append((state.next_seq, kind, data))
            state = apply(state, kind, data)
        places = []
        for at, kind, data in legal:
            seq = tx.append(STREAM, self.task_id, kind, data)
            places.append({"n": self.row["n"], "at": at, "seq": seq})
        tx.many(sql.frames_add, places)
        row = tx.one(
            sql.task_fold,
            n=self.row["n"],
            status=state.status,
            next_at=state.next_seq,
            state=msgspec.json.encode(state).decode(),
            seq=seq,
        )
        assert row is not None
        if state.ended:
            wake(tx, self.task_id, row, state)
        return Process(row, self.spec, state)

    def frames(self, tx: Tx, after: int, limit: int) -> list[Frame]:
        """Frames from position `after` on, oldest first."""
        rows = tx.all(sql.frames_from, n=self.row["n"], at=after, limit=limit)
        return [frame_from(self.task_id, row) for row in rows]


def existing(tx: Tx, task_id: str) -> Process:
    """The task with this id or name; raises UnknownId if there is none."""
    if not task_id.startswith("PROC-"):
        return named(tx, task_id)
    if row := tx.one(sql.task_one, n=number_of(task_id)):
        return Process.from_row(row)
    raise UnknownId(
        f"task_id: there is no {task_id}",
        recovery="list background processes with tool.task_list",
        suggest=[Suggestion(ListTasks(), "list them")],
    )


def named(tx: Tx, name: str) -> Process:
    """The task that has this name now or had it last."""
    if row := tx.one(sql.task_named, name=name):
        return Process.from_row(row)
    raise UnknownId(
        f"name: no background process has ever been named {name!r}",
        recovery="list background processes with tool.task_list",
        suggest=[Suggestion(ListTasks(), "list them")],
    )


def refuse_stranger(tx: Tx, process: Process, what: str) -> None:
    """Refuse callers other than the task's starter and managers."""
    if _is_yours(tx, process):
        return
    see = [Suggestion(TaskStatus(task_id=process.task_id), "see who started it")]
    started = f"task_id: {process.task_id} was started"
    token, _, agent = (process.row["identity"] or process.row["owner"]).partition("/@")
    if token.partition("/")[0] != tx.by.token:
        raise Forbidden(
            f"{started} with another token; {what} needs that token or the role manager",
            recovery="ask the person or agent that started it, or a manager",
            suggest=see,
        ).asking("role:manager")
    if agent:
        raise Forbidden(
            f"{started} on another connection of this client, as {agent}; {what} needs that agent",
            recovery=f"if you are {agent}, prove it with agents.heartbeat and its agent_token, "
            "then repeat this; else ask it, or a manager",
            suggest=see,
        ).asking(agent)
    raise Forbidden(
        f"{started} on another connection of this client, by nobody in particular; {what} needs "
        "that connection or the role manager",
        recovery="ask a manager; an agent that registers (agents.register) before it starts "
        "something keeps it after it reconnects",
        suggest=see,
    ).asking("role:manager")


def _is_yours(tx: Tx, process: Process) -> bool:
    return tx.by.leads or tx.by.owns(process.row["owner"], process.row["identity"])


def name_taken(tx: Tx, name: str) -> Conflict | None:
    """Why a name cannot be used now, if it is taken."""
    row = tx.one(sql.task_named, name=name)
    if row is None or row["status"] in ENDED:
        return None
    return Conflict(
        f"name: {ref_of(row['n'])} is {row['status']} and has the name {name!r}",
        recovery=f"use that one, end it with tool.task_cancel task_id={ref_of(row['n'])}, "
        "or choose another name",
        suggest=[Suggestion(TaskStatus(name=name), "see what it is")],
    )


def view_of(tx: Tx, process: Process) -> TaskView:
    """The task as readers see it: its fold, its spec, and its position in the queue."""
    row, spec, state = process
    task_id = process.task_id
    queued = state.status == "queued" and row["host_id"] is None and row["held"] is None
    return TaskView(
        task_id=task_id,
        ref=seq_ref(task_id, row["last_seq"]),
        status=state.status,
        held=row["held"],
        tool=row["tool"],
        args=spec.args,
        title=spec.title,
        name=row["name"],
        execution_mode=state.mode,
        cwd=spec.args.get("cwd"),
        agent_id=row["agent_id"],
        yours=_is_yours(tx, process),
        job=row["job_id"],
        step=spec.step,
        lifetime=row["lifetime"],
        created_at_ms=row["created_at_ms"],
        started_at_ms=state.started_at_ms,
        ended_at_ms=state.ended_at_ms,
        exit_code=state.exit_code,
        signal=state.signal,
        cause=state.cause,
        error=state.error,
        cancel_reason=state.cancel_reason,
        pid=state.pid,
        ports=state.ports,
        leftovers=state.leftovers,
        queue_position=int(tx.value(sql.waiting_before, n=row["n"])) + 1 if queued else None,
        host=host_of(tx, process),
        next_seq=state.next_seq,
        artifacts={"logs": _logs(process)},
    )


def host_of(tx: Tx, process: Process) -> Any:
    """The state of an unfinished task's host; None if it has none."""
    if process.state.ended or process.row["host_id"] is None:
        return None
    return state_of(tx, tx.one(sql.host_one, host_id=process.row["host_id"]))


def state_of(tx: Tx, host: Row | None) -> Literal["connected", "silent", "frozen"]:
    """Whether the server hears the host's runner, and that runner the host."""
    if host is None or tx.now_ms - host["seen_ms"] > SILENT_MS:
        return "silent"
    return "connected" if host["stalled_ms"] is None else "frozen"


def _logs(process: Process) -> dict[str, Any]:
    task_id, removed_at_ms = process.task_id, process.row["removed_at_ms"]
    removed = {} if removed_at_ms is None else {"removed_at_ms": removed_at_ms}
    return {
        stream: {
            "id": log_id(task_id, stream),
            "path": log_path(task_id, stream),
            "bytes": state.bytes,
            **(msgspec.to_builtins(state.seal) if state.seal else {}),
            **removed,
        }
        for stream, state in process.state.streams.items()
    }
