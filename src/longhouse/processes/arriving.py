"""Processes and rules that an import or a restored backup brought, and `tool.task_release`.

Nothing that arrives runs: queued tasks are held until a manager releases them, tasks that had a
host have lost it, and rules from elsewhere arrive withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from longhouse.kernel.contributions import Arrival, HeldBack
from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.kernel.registry import Role
from longhouse.processes.calling import standing_of
from longhouse.processes.cancelling import OPS, give_up
from longhouse.processes.records import Process, existing, ref_of, view_of
from longhouse.processes.room import room, sql
from longhouse.processes.types.tasks import ReleaseTask, TaskStatus, ToolTaskStatus
from longhouse.processes.waking import POLICY
from longhouse.store.queries import Query
from longhouse.store.tx import Tx

__all__ = ["arrive", "release_task"]

_PAGE = 200


@room.arrives
def arrive(tx: Tx, arrival: Arrival) -> Iterator[HeldBack]:
    """Withdraw foreign rules first, so that no ending wakes anyone; then hold or end the tasks."""
    if arrival.foreign:
        if arrival.hold:
            yield from _withdraw(tx, "rule", "RULE", sql.rules_in_force, sql.rule_withdraw)
        yield from _withdraw(tx, "wake-up", "WAKE", sql.wakeups_in_force, sql.wakeup_withdraw)
        tx.run(sql.tasks_of_nobody)
    tx.run(sql.hosts_disown)
    after = 0
    while rows := tx.all(sql.tasks_unfinished, after=after, limit=_PAGE):
        after = rows[-1]["n"]
        for row in rows:
            if row["host_id"] is not None or row["status"] == "running":
                give_up(tx, Process.from_row(row), f"{arrival.how}: its host is elsewhere")
            elif arrival.hold:
                tx.run(sql.task_hold, n=row["n"], how=arrival.how)
                tx.append(OPS, ref_of(row["n"]), "held", {"why": arrival.how})
                yield HeldBack("process", ref_of(row["n"]), _line(Process.from_row(row)))


@room.command(
    "tool.task_release",
    also="tool.release tool.unhold",
    role=Role.MANAGER,
    writes=True,
    example=ReleaseTask(task_id="PROC-001"),
)
def release_task(tx: Tx, req: ReleaseTask) -> ToolTaskStatus:
    """Let a held process start; from now on it runs in your name, with at most your rights."""
    process = existing(tx, req.task_id)
    spec = msgspec.structs.replace(process.spec, by=standing_of(tx))
    row = tx.one(
        sql.task_release,
        n=process.row["n"],
        owner=tx.by.owner,
        identity=tx.by.identity,
        role=int(tx.by.role),
        spec=msgspec.json.encode(spec).decode(),
    )
    if row is None:
        raise Conflict(
            f"task_id: {process.task_id} is {process.state.status} and not held",
            recovery="there is nothing to release",
            suggest=[Suggestion(TaskStatus(task_id=process.task_id), "see its current state")],
        )
    tx.append(OPS, process.task_id, "released", {"by": tx.actor})
    return ToolTaskStatus(task=view_of(tx, Process.from_row(row)))


def _withdraw(tx: Tx, what: str, name: str, listed: Query, withdraw: Query) -> Iterator[HeldBack]:
    for row in tx.all(listed):
        rule = f"{name}-{row['n']:03d}"
        tx.run(withdraw, n=row["n"], seq=tx.append(POLICY, rule, "withdrawn", {}))
        said = msgspec.json.decode(row["rule"])
        words = [said.get(key) for key in ("effect", "tool", "pattern", "agent", "job")]
        yield HeldBack(what, rule, " ".join(str(word) for word in words if word))


def _line(process: Process) -> str:
    args = process.spec.args
    argv = args.get("argv")
    return " ".join(map(str, argv)) if argv else str(args.get("command") or process.row["tool"])
