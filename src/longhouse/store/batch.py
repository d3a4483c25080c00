"""Runs the writes of one batch in one transaction, as if each had a transaction of its own.

There are two ways. `run_together` is for the usual case, in which nothing fails: no savepoints, and
adjacent calls of one command send their statements in one round trip. If a write fails in a way
that could affect another, it raises `Spoiled`; the transaction is rolled back and the same writes
go through `run_apart`, where each has its own savepoint. A handler depends only on its transaction,
so running it again is the same as running it later.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import groupby
from typing import Any, TypeVar

from longhouse.kernel.errors import InternalError, LonghouseError, StoreError
from longhouse.store.engine import Lost, PendingQuery, Row
from longhouse.store.group import Work
from longhouse.store.sequence import START, Sequences
from longhouse.store.tx import Asking, Call, Refused, Tx

__all__ = ["Function", "Spoiled", "Write", "result_of", "run_apart", "run_together", "trouble_of"]

T = TypeVar("T")

Function = Callable[[Tx], T] | Callable[[Tx], Asking[T]]
"""A function that runs in a transaction."""


class Write:
    """A function to run in a transaction; adjacent ones with equal `asks` may run together."""

    __slots__ = ("asks", "call", "function", "workspace")

    def __init__(
        self, workspace: str, function: Callable[[Tx], Any], call: Call, asks: str | None
    ) -> None:
        self.workspace = workspace
        self.function = function
        self.call = call
        self.asks = asks


class Spoiled(Exception):
    """A write failed in a way that could affect others: all must run again, apart."""


def run_together(sequences: Sequences, batch: list[Work[Write]]) -> None:
    """Run the batch in order, with no way to undo a single write."""
    for asks, run in groupby(batch, key=lambda work: work.payload.asks):
        if asks is not None:
            _ask_together(sequences, list(run))
            continue
        for work in run:
            _run_one(sequences, work)


def run_apart(sequences: Sequences, batch: list[Work[Write]]) -> None:
    """Run the batch in order; a write that fails is undone on its own."""
    alone = len(batch) == 1
    for work in batch:
        work.result, work.trouble = _undoable(sequences, work, work.payload.function, alone=alone)
        if isinstance(work.result, Refused):
            record = _recorder(work.result)
            _, work.trouble = _undoable(sequences, work, record, alone=alone)


def result_of(tx: Tx, function: Function[T]) -> T:
    """The function's result, running each statement that it yields immediately."""
    made = function(tx)
    return _answered(tx, made) if isinstance(made, Generator) else made


def trouble_of(error: Exception) -> LonghouseError:
    """The error for the caller; the details of a bug appear only in the server's log."""
    if isinstance(error, LonghouseError):
        return error
    if isinstance(error, MemoryError):
        return StoreError("out of memory; nothing was written")
    internal = InternalError()
    internal.__cause__ = error
    return internal


def _ask_together(sequences: Sequences, run: list[Work[Write]]) -> None:
    """Run each call up to its statement, send the statements together, then finish each call."""
    shared: dict[type, Any] = {}
    waiting: list[tuple[Work[Write], Tx, Asking[Any], PendingQuery]] = []
    for work in run:
        write = work.payload
        tx = Tx.to_write(sequences, write.workspace, write.call, shared)
        made = write.function(tx)
        if not isinstance(made, Generator):
            work.result = made
            continue
        try:
            question = next(made)
        except StopIteration as end:  # it finished without a statement
            work.result = end.value
            continue
        waiting.append((work, tx, made, sequences.connection.ask(*question)))
    sequences.connection.settle()
    for work, tx, steps, asked in waiting:
        at = tx.last_seq()
        work.result = _answered(tx, steps, asked.result)
        # Further log rows would come after the events of the calls behind it.
        out_of_turn = tx.last_seq() != at and work is not waiting[-1][0]
        if out_of_turn or isinstance(work.result, Refused):
            raise Spoiled


def _run_one(sequences: Sequences, work: Work[Write]) -> None:
    """Run one write; raise Spoiled if it fails after changing something."""
    mark = sequences.mark()
    tx: Tx | None = None
    try:
        tx = Tx.to_write(sequences, work.payload.workspace, work.payload.call)
        work.result = result_of(tx, work.payload.function)
    except Lost:
        raise
    except Exception as error:
        if tx is None or tx.dirty or sequences.made:
            raise Spoiled from error
        work.trouble = trouble_of(error)
        sequences.undo(mark)
    else:
        if isinstance(work.result, Refused):
            raise Spoiled


def _undoable(
    sequences: Sequences, work: Work[Write], function: Callable[[Tx], Any], *, alone: bool
) -> tuple[Any, LonghouseError | None]:
    """Run the function so that a failure or refusal leaves nothing behind.

    A write that is alone in its batch needs no savepoint.
    """
    connection, write = sequences.connection, work.payload
    mark = START
    result, trouble = None, None
    if not alone:
        mark = sequences.mark()
        connection.savepoint()
    try:
        result = result_of(Tx.to_write(sequences, write.workspace, write.call), function)
        if not isinstance(result, Refused):
            if not alone:
                sequences.write_gathered()  # a row that cannot be written fails this write only
                connection.release()
            return result, None
    except Lost:
        raise
    except Exception as error:
        trouble = trouble_of(error)
    sequences.undo(mark)
    if alone:
        connection.rollback()
        connection.begin(write=True)
    else:
        connection.undo()
    return result, trouble


def _recorder(refused: Refused) -> Callable[[Tx], None]:
    def record(tx: Tx) -> None:
        for event in refused.events:
            tx.append(event.stream, event.subject, event.kind, event.data)
        if refused.also:
            refused.also(tx)

    return record


def _answered(tx: Tx, steps: Asking[T], rows: list[Row] | None = None) -> T:
    """The result of the steps, running each further statement immediately."""
    try:
        question = next(steps) if rows is None else steps.send(rows)
        while True:
            question = steps.send(tx.answer(question))
    except StopIteration as end:
        result: T = end.value
        return result
