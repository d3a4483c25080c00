"""Several commands in one transaction: all are applied, or none."""

from __future__ import annotations

import msgspec

from longhouse.kernel.budget import Drop
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.schema import decode
from longhouse.store.tx import Refused, Tx, Wait
from longhouse.work.errors import BatchFailed
from longhouse.work.room import room
from longhouse.work.types.changing import Batch, BatchDone, Operation, OperationDone

__all__ = []


@room.command(
    "tasks.batch",
    also="bulk multi",
    writes=True,
    trim=[Drop("operations.result")],
    example=Batch(
        operations=[
            Operation(cmd="tasks.plan.create", args={"title": "Search"}),
            Operation(cmd="tasks.bootstrap", args={"task_title": "Index", "plan_title": "Search"}),
        ]
    ),
)
def batch(tx: Tx, req: Batch) -> BatchDone:
    """Run several tasks.* commands in order, all or none."""
    done: list[OperationDone] = []
    for index, operation in enumerate(req.operations):
        try:
            command = _command(tx.facts.registry, index, operation)
            result = command.handler(tx, decode(command, operation.args))
        except LonghouseError as error:
            raise _failed(index, operation.cmd, error) from error
        if isinstance(result, Refused | Wait):
            raise BatchFailed(f"operations[{index}]: {command.cmd} cannot be part of a batch")
        shown = {} if req.compact else msgspec.to_builtins(result)
        done.append(OperationDone(cmd=command.cmd, result=shown))
    return BatchDone(operations=done, count=len(done))


def _command(registry: Registry, index: int, operation: Operation) -> Command:
    command = registry.get(operation.cmd)
    if command.portal != "tasks" or command.cmd == "tasks.batch":
        raise InvalidInput(
            f"cmd: {command.cmd} cannot be part of a batch; fix: cmd=tasks.note",
            recovery="use only tasks.* commands, and do not nest batches",
        )
    return command


def _failed(index: int, cmd: str, error: LonghouseError) -> BatchFailed:
    """Wrap an operation's error; its suggestions are kept only for the first operation.

    Earlier operations were rolled back, so a suggestion may refer to something they created.
    """
    return BatchFailed(
        f"operations[{index}]: {cmd}: {error.code}: {error.message}",
        recovery=error.recovery or "fix it and send the whole batch again",
        suggest=error.suggest if index == 0 else (),
        hints=[{"operation": index, "code": error.code}, *error.hints],
    )
