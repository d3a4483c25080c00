"""Hosts and their tasks: a task goes to one host, once; one runner at a time speaks for a host.

A host is the process that owns the programs of one workspace on one machine. It outlives the
runners that speak for it: `tool.task_held` makes a runner its speaker under a new revision, and
from then on calls by earlier runners for that host are refused.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import Conflict, Forbidden, Suggestion
from longhouse.kernel.tool_policy import env_source
from longhouse.kernel.tool_tasks import DELTAS
from longhouse.kernel.values import Json
from longhouse.processes.cancelling import ops_for
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.frames import OUTCOMES
from longhouse.processes.records import SILENT_MS, Process, number_of, ref_of, state_of
from longhouse.processes.room import room, sql
from longhouse.processes.rules import still_allowed
from longhouse.processes.typed import kept
from longhouse.processes.types.running import (
    ClaimTasks,
    EnvVar,
    HeldTasks,
    HostHeld,
    HostList,
    HostView,
    HostWatched,
    ListHosts,
    Op,
    TasksClaimed,
    WatchHost,
    WorkTask,
)
from longhouse.store.engine import Row
from longhouse.store.projects import require_bound
from longhouse.store.tx import Concern, Tx, Wait

__all__ = [
    "claim",
    "heard",
    "held",
    "list_hosts",
    "refuse_mute",
    "refuse_no_host",
    "runner_is_missing",
    "watch",
]

_PAGE = 200
_MOST_CHARS = 200_000
"""How much an answer with tasks holds, unless its first task alone is larger: the answer goes to a
program that runs what it says, so it is never trimmed."""
_HOST = "host-3f9a1c07"
_OWN = frozenset((*DELTAS.values(), *OUTCOMES))
"""What a runner appends itself and brings no work: output, and the outcomes of operations."""


@room.command(
    "tool.task_held",
    writes=True,
    idempotent=True,
    example=HeldTasks(runner_id="runner-1", host_id=_HOST),
    profile="audit",
    whole=True,
)
def held(tx: Tx, req: HeldTasks) -> HostHeld:
    """Become the runner that speaks for a host, and get its tasks and open operations."""
    refuse_no_host(tx)
    host = tx.one(
        sql.host_take,
        host_id=req.host_id,
        runner_id=req.runner_id,
        owner=tx.by.owner,
        leads=int(tx.by.leads),
        only_if_silent=int(req.only_if_silent),
        since=tx.now_ms - SILENT_MS,
        now=tx.now_ms,
    )
    known = tx.one(sql.host_one, host_id=req.host_id) if host is None else None
    if known is not None and (tx.by.leads or known["owner"] == tx.by.owner):
        raise Conflict(
            f"host_id: {known['runner_id']!r} speaks for {req.host_id} and is not silent",
            recovery="wait until its lease ends: tool.host_list says state=silent",
            suggest=[Suggestion(ListHosts(), "see who speaks for which host")],
        )
    if host is None:
        raise Forbidden(
            f"host_id: {req.host_id} belongs to another token",
            recovery="use the token of the runner that created it, or one with the role manager",
        )
    after = number_of(req.after) if req.after else 0
    rows = tx.all(sql.tasks_held, host_id=req.host_id, after=after, limit=_PAGE + 1)
    claimed = map(Process.from_row, rows[:_PAGE])
    tasks = list(_that_fit(_work(tx, process, process.spec.rules) for process in claimed))
    tx.append("hosts", req.host_id, "held", {"runner_id": req.runner_id, "tasks": len(tasks)})
    return HostHeld(
        host_id=req.host_id,
        revision=host["revision"],
        tasks=tasks,
        ops=_ops(tx, req.host_id, 0),
        count=len(tasks),
        has_more=len(rows) > len(tasks),
        seq=tx.last_seq(),
    )


@room.command(
    "tool.task_claim",
    writes=True,
    example=ClaimTasks(runner_id="runner-1", host_id=_HOST, revision=1),
    profile="audit",
    whole=True,
)
def claim(tx: Tx, req: ClaimTasks) -> TasksClaimed:
    """Claim the tasks that have waited longest, within the workspace's limit on running tasks."""
    require_bound(tx, req.projects)
    heard(tx, req.runner_id, req.host_id, req.revision)
    tx.one(
        sql.host_answers,
        host_id=req.host_id,
        answers=int(req.host_answers),
        stalled_ms=None if req.host_answers else tx.now_ms,
    )
    taken = []
    waiting_rows = tx.all(sql.tasks_waiting, limit=min(req.limit, _room(tx)))
    for wanted in _that_fit(_work(tx, Process.from_row(row), []) for row in waiting_rows):
        claimed = tx.one(sql.task_claim, n=number_of(wanted.task_id), host_id=req.host_id)
        if claimed is None:
            continue
        process = Process.from_row(claimed)
        rules = still_allowed(tx, process, claimed["tool"])
        if rules is not None:
            taken.append(_work(tx, process, rules))
    if taken:
        ids = [task.task_id for task in taken]
        tx.append("hosts", req.host_id, "claimed", {"runner_id": req.runner_id, "tasks": ids})
    waiting = tx.value(sql.waiting_count, limit=_PAGE)
    return TasksClaimed(tasks=taken, count=len(taken), waiting=int(waiting))


@room.command(
    "tool.task_watch",
    role=None,
    example=WatchHost(runner_id="runner-1", host_id=_HOST, revision=1, timeout_ms=0),
    profile="audit",
    whole=True,
)
def watch(tx: Tx, req: WatchHost) -> HostWatched | Wait:
    """Wait for a task to claim or an operation to perform; answers within 25 seconds."""
    refuse_mute(tx, req.runner_id, req.host_id, req.revision)
    waiting = int(tx.value(sql.waiting_count, limit=_PAGE)) if _room(tx) else 0
    ops = _ops(tx, req.host_id, req.after_seq)
    quiet = not waiting and not ops
    concern = Concern(besides=_OWN, knocks=(ops_for(req.host_id),))
    answer = HostWatched(timed_out=quiet, waiting=waiting, ops=ops, seq=tx.last_seq())
    return Wait(answer, req.timeout_ms, on=concern) if quiet else answer


@room.command(
    "tool.host_list",
    also="tool.hosts",
    example=ListHosts(),
    trim=[Pop("hosts", leave=1)],
)
def list_hosts(tx: Tx, req: ListHosts) -> HostList:
    """Show the process hosts of this workspace, and which are silent or frozen."""
    hosts = [
        HostView(
            host_id=row["host_id"],
            runner_id=row["runner_id"],
            state=state_of(tx, row),
            seen_at_ms=row["seen_ms"],
            unfinished=row["held"],
        )
        for row in tx.all(sql.hosts_all, limit=req.limit)
    ]
    return HostList(hosts=hosts, count=len(hosts))


@room.provides("jobs.processes_wait")
def runner_is_missing(tx: Tx) -> bool:
    """Whether tasks are queued or running but no runner of this workspace reports."""
    return bool(tx.value(sql.runner_missing, since=tx.now_ms - SILENT_MS))


def refuse_no_host(tx: Tx) -> None:
    """Refuse a token that is not a runner's: a host runs others' programs and gets what they type.

    Checked in every call, so that a host that such a token made earlier is of no use to it.
    """
    if not tx.by.hosts:
        raise Forbidden(
            "only a runner's token, or the role manager, may host background processes",
            recovery="the person who runs the runner gives it a token from "
            "`longhouse token create --role agent --runner`; its jobs go on without one",
        )


def heard(tx: Tx, runner_id: str, host_id: str | None, revision: int) -> None:
    """Record that the host's runner is alive; refuse a runner that no longer speaks for it."""
    refuse_no_host(tx)
    if host_id is None or not tx.one(
        sql.host_heard,
        host_id=host_id,
        runner_id=runner_id,
        revision=revision,
        owner=tx.by.owner,
        now=tx.now_ms,
    ):
        raise _lost(runner_id, host_id)


def refuse_mute(tx: Tx, runner_id: str, host_id: str | None, revision: int) -> None:
    """Refuse a runner that does not speak for the host; records nothing."""
    refuse_no_host(tx)
    host = tx.one(sql.host_one, host_id=host_id) if host_id else None
    fence = (runner_id, revision, tx.by.owner)
    if host is None or (host["runner_id"], host["revision"], host["owner"]) != fence:
        raise _lost(runner_id, host_id)


def _lost(runner_id: str, host_id: str | None) -> Conflict:
    return Conflict(
        f"revision: {runner_id!r} does not speak for the host {host_id or 'of this task'}",
        recovery="another runner took over; to take it back, call tool.task_held with this host_id",
        suggest=[
            Suggestion(
                HeldTasks(runner_id=runner_id, host_id=host_id), "become the host's runner again"
            )
        ]
        if host_id
        else [],
    )


def _room(tx: Tx) -> int:
    """How many more tasks the workspace may run now."""
    most: int = tx.facts.of(ProcessFacts).max_running
    held = tx.value(sql.held_count, since=tx.now_ms - SILENT_MS)
    return max(0, most - int(held)) if most else _PAGE


def _ops(tx: Tx, host_id: str, after: int) -> list[Op]:
    """The first open operations, as far as one answer holds them; the next call gets the rest."""
    ops: list[Op] = []
    size = 0
    for row in tx.all(sql.ops_pending, host_id=host_id, after=after, limit=_PAGE):
        if size > _MOST_CHARS:
            break
        op = Op(
            op_id=f"{ref_of(row['n'])}.{row['k']}",
            task_id=ref_of(row["n"]),
            kind=row["kind"],
            payload=_payload(tx, row),
            seq=row["turn"],
        )
        size += len(msgspec.json.encode(op))
        ops.append(op)
    return ops


def _payload(tx: Tx, row: Row) -> dict[str, Any]:
    """The operation's payload, plus its typed input, which is not stored with it."""
    payload: dict[str, Any] = msgspec.json.decode(row["payload"])
    if row["kind"] != "stdin":
        return payload
    typed = kept(tx, row["n"], row["k"])
    if typed is None:
        return {**payload, "lost": True}
    return {
        **payload,
        "chunk_b64": _spaced(typed.plain),
        "application_b64": _spaced(typed.application),
    }


def _spaced(data: bytes) -> str:
    """Base64 in short groups: a long run of letters could be mistaken for a secret and masked."""
    text = binascii.b2a_base64(data, newline=False).decode()
    return " ".join(text[at : at + 8] for at in range(0, len(text), 8))


def _that_fit(tasks: Iterable[WorkTask]) -> Iterator[WorkTask]:
    """The first of these tasks, at least one, as far as one answer holds them."""
    size = 0
    for work in tasks:
        own = len(msgspec.json.encode(work))
        if size and size + own > _MOST_CHARS:
            return
        size += own
        yield work


def _work(tx: Tx, process: Process, rules: list[Json]) -> WorkTask:
    row, spec, state = process
    named = ("cwd", "env", "artifact_max_bytes", "max_bytes", "rows", "cols")
    return WorkTask(
        task_id=process.task_id,
        made_ms=row["created_at_ms"],
        status=state.status,
        tool=row["tool"],
        args={name: value for name, value in spec.args.items() if name not in named},
        execution_mode=state.mode,
        cwd=spec.cwd,
        env=[
            EnvVar(
                name=name, value=value if isinstance(value, str) else None, source=env_source(value)
            )
            for name, value in (spec.args.get("env") or {}).items()
        ],
        timeout_ms=spec.timeout_ms,
        idle_timeout_ms=spec.idle_timeout_ms,
        grace_ms=spec.grace_ms,
        max_processes=spec.max_processes,
        artifact_max_bytes=spec.number("artifact_max_bytes"),
        max_bytes=spec.number("max_bytes"),
        rows=spec.number("rows"),
        cols=spec.number("cols"),
        lifetime=row["lifetime"],
        rules=rules,
        profile=tx.facts.of(ProcessFacts).profile,
        next_seq=state.next_seq,
        streams=state.streams,
        cancel_reason=state.cancel_reason,
    )
