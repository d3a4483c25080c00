"""Runs registry commands as tasks: a server executes them with the rights of their spawner.

Spawning only records the task. The server runs it right after answering; if it dies first, the next
server does. The task's frames and the command's writes commit in one transaction, so a command
never writes twice. What it reads ahead of that, or a command that only reads, stays out of the
writer. Its output is its result as JSON, stored as an artifact.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from longhouse.kernel.errors import (
    Forbidden,
    InternalError,
    LonghouseError,
    StoreBusy,
    Unauthenticated,
)
from longhouse.kernel.redact import redact
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import decode
from longhouse.kernel.standing import Standing
from longhouse.kernel.tool_tasks import DELTA_BYTES
from longhouse.kernel.values import Request
from longhouse.processes.frames import log_id, named_logs, status_payload
from longhouse.processes.records import Process
from longhouse.processes.room import room, sql
from longhouse.processes.rules import still_allowed
from longhouse.processes.state import LogSeal
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.disk import sha256
from longhouse.store.artifacts.text import whole
from longhouse.store.batch import trouble_of
from longhouse.store.engine import Lost, Row
from longhouse.store.tx import Refused, Tx, Wait
from longhouse.store.tx import sql as tokens

if TYPE_CHECKING:
    from longhouse.kernel.contributions import CommittedWrite

__all__ = ["carry_out", "refuse_above", "standing_of"]


EACH = 8
"""How many waiting commands of one token are looked at in one pass."""
PASSES = 8
"""How often a reaction looks for more commands that write; the rest is left to the next one."""


class _Ahead(NamedTuple):
    """What was read before the write: a read's output, or what a write's handler needs."""

    value: Any = None
    trouble: LonghouseError | None = None
    stored: Blob | None = None
    """The output's bytes, already stored, so that no other write waits for the disk."""


@room.after("tool.task_spawn")
@room.every(2, by_hand=True)
def carry_out(hand: CommittedWrite) -> None:
    """Run the waiting commands: right after a spawn, and later if a server died before.

    What a command only reads is read outside the writer, in turn with its owner's other long reads.
    However many commands of one token wait, only its next few are looked at. One that finds the
    store busy is tried again later, after those behind it.
    """
    busy: Exception | None = None
    for _ in range(PASSES):
        waiting = hand.read(_next_ones)
        for one in waiting:
            if one.reads:
                hand.apart(one.owner, (hand.workspace, one.n), partial(_read_first, hand, one))
                continue
            try:
                outcome = hand.write(partial(_carry_out, n=one.n))
            except (Lost, StoreBusy) as error:
                if busy is not None:  # not only for that one command
                    raise
                busy = error
                continue
            if isinstance(outcome, Refused) and isinstance(outcome.error, InternalError):
                raise outcome.error
        if busy is not None:
            raise busy
        if all(one.reads for one in waiting):
            return


class _Next(NamedTuple):
    """A waiting command: its task, its owner, and whether it reads before it writes, if at all."""

    n: int
    owner: str
    reads: bool


def _next_ones(tx: Tx, only: str | None = None) -> list[_Next]:
    """The next waiting commands of each token: some that read, and some that write.

    Those that write are the oldest of their token, and come in order.
    """
    found: list[_Next] = []
    counts: Counter[tuple[str, bool]] = Counter()
    for row in sorted(tx.all(sql.commands_waiting, places=EACH + 1), key=lambda row: row["n"]):
        owner = row["owner"].partition("/")[0]
        if only not in (None, owner):
            continue
        reads = _reads_first(tx, row)
        counts[owner, reads] += 1
        if counts[owner, reads] <= EACH:  # what comes later of an owner and tool is not here
            found.append(_Next(row["n"], owner, reads))
    return found


def _reads_first(tx: Tx, row: Row) -> bool:
    """Whether a waiting command reads before it writes, or does not write at all."""
    command = tx.facts.registry.known(row["tool"])
    if command is None:
        return False
    if command.ahead or not (command.writes or command.writes_with):
        return True
    if command.writes:
        return False
    found = tx.one(sql.task_one, n=row["n"])
    return found is not None and not command.writes_given(Process.from_row(found).spec.args)


def _waiting(tx: Tx, n: int) -> Process | None:
    """The task, if it still waits; from here on the transaction has its spawner's rights."""
    row = tx.one(sql.task_one, n=n)
    if row is None or row["status"] != "queued":
        return None
    process = Process.from_row(row)
    tx.by, tx.actor = _spawner(process), row["agent_id"]
    return process


def _read_first(hand: CommittedWrite, one: _Next) -> None:
    """Read what a command reads, then record its end; if the store is busy, a later round does.

    Then the owner's next ones get into line; earlier ones that still wait do so at the next round.
    """
    try:
        ahead = hand.read_long(partial(_look_ahead, n=one.n))
    except (Lost, StoreBusy):
        return
    except Exception as error:
        ahead = _Ahead(trouble=trouble_of(error))
    if ahead is not None:
        hand.write(partial(_carry_out, n=one.n, ahead=ahead))
    for other in hand.read(partial(_next_ones, only=one.owner)):
        if other.reads and other.n > one.n:
            hand.apart(other.owner, (hand.workspace, other.n), partial(_read_first, hand, other))


def _look_ahead(tx: Tx, n: int) -> _Ahead | None:
    process = _waiting(tx, n)
    if process is None:
        return None
    command, request = _permitted(tx, process)
    if command.writes_given(process.spec.args):
        assert command.ahead is not None
        return _Ahead(command.ahead(tx, request))
    more = (command.ahead(tx, request),) if command.ahead else ()
    result = _result(tx, command, request, *more)
    if isinstance(result, Refused):
        return _Ahead(trouble=result.error)
    data, keeper = _output(result), artifacts_of(tx)
    blob = Blob(sha256(data).hexdigest(), len(data))
    keeper.expect(tx, blob, name=_output_name(process), owner=None)
    return _Ahead(data, stored=keeper.stage(data, now_ms=tx.now_ms))


def _permitted(tx: Tx, process: Process) -> tuple[Command, Request]:
    """The command and its request, if the spawner may still call it."""
    command: Command = tx.facts.registry.get(process.row["tool"])
    _refuse_revoked(tx)
    refuse_above(tx, command, process.spec.args)
    return command, decode(command, process.spec.args)


def _carry_out(tx: Tx, n: int, ahead: _Ahead | None = None) -> Refused | None:
    """Run a command that still waits, or record the end of one that has read all it needs."""
    process = _waiting(tx, n)
    if process is None:
        return None
    begun = False
    try:
        command, request = _permitted(tx, process)
        if still_allowed(tx, process, command.cmd) is None:
            return None
        begun = True
        if ahead is not None and ahead.trouble is not None:
            raise ahead.trouble
        if ahead is not None and not command.writes_given(process.spec.args):
            _write_end(tx, process, ahead.value, ahead.stored)
            return None
        result = _result(tx, command, request, *([] if ahead is None else [ahead.value]))
        if isinstance(result, Refused):
            return _failed(process, result, begun=begun)
        _write_end(tx, process, _output(result))
    except (Lost, StoreBusy):
        raise  # these are retried; any other error would block the commands behind it forever
    except Exception as error:
        return _failed(process, Refused(trouble_of(error), ()), begun=begun)
    return None


def _refuse_revoked(tx: Tx) -> None:
    """Refuse a command whose token was revoked or expired while it waited for a server."""
    token_id = tx.by.owner.partition("/")[0]
    if token_id.startswith("TOK-") and not tx.one(
        tokens.token_lives, token_id=token_id, now=tx.now_ms
    ):
        raise Unauthenticated("the token that spawned this task was revoked or has expired")


def _failed(process: Process, refused: Refused, *, begun: bool) -> Refused:
    """Undo the command's writes, except what a refusal records, and record the task's failure.

    Only a command that was begun gets a `running` frame, so only its end can wake anyone.
    """
    error: LonghouseError = refused.error

    def record(after: Tx) -> None:
        if refused.also:
            refused.also(after)
        started = {"started_at_ms": after.now_ms} if begun else {}
        over = {"status": "failed", "cause": error.code.lower(), "error": error.message}
        told = [status_payload(ended_at_ms=after.now_ms, **over, **started)]
        if begun:
            told.insert(0, status_payload(status="running", **started))
        process.write(after, [("tool_task_status", status) for status in told])

    return Refused(error, refused.events, record)


def standing_of(tx: Tx) -> dict[str, Any]:
    """What a task stores about its spawner besides owner and role."""
    by = tx.by
    return {"who": by.who, "named": by.named, "workspaces": by.workspaces, "client": by.client}


def _spawner(process: Process) -> Standing:
    by, row = process.spec.by, process.row
    allowed = by.get("workspaces")
    return Standing(
        owner=row["owner"],
        role=Role(row["role"]),
        who=by.get("who"),
        named=bool(by.get("named")),
        workspaces=None if allowed is None else tuple(allowed),
        client=bool(by.get("client")),
    )


def refuse_above(tx: Tx, command: Command, args: dict[str, Any]) -> None:
    """Refuse a command that the caller could not call directly."""
    role = max(command.role, command.writes_role) if command.writes_given(args) else command.role
    if tx.by.role < role:
        needed, had = role.name.lower(), tx.by.role.name.lower()
        raise Forbidden(
            f"{command.cmd} requires the {needed} role; this caller has {had}",
            recovery=f"use a token from `longhouse token create --role {needed}`",
        ).asking(f"role:{needed}")


def _output(result: Any) -> bytes:
    return msgspec.json.encode(redact(msgspec.to_builtins(result))) + b"\n"


def _output_name(process: Process) -> str:
    return f"{process.task_id} stdout"


def _write_end(tx: Tx, process: Process, data: bytes, stored: Blob | None = None) -> None:
    """Write the frames of a task that ran and ended, with its output."""
    started: dict[str, Any] = {"started_at_ms": tx.now_ms}
    keeper, name, media_type = artifacts_of(tx), _output_name(process), "application/json"
    if stored is None:
        kept, _ = keeper.put(tx, data, name=name, media_type=media_type)
    else:
        kept, _ = keeper.record(tx, stored, name=name, media_type=media_type)
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
    process.write(
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


def _result(tx: Tx, command: Command, request: Request, *more: Any) -> Any:
    made = command.handler(tx, request, *more)
    if isinstance(made, GeneratorType):
        made = _answered(tx, made)
    return made.result if isinstance(made, Wait) else made


def _answered(tx: Tx, steps: GeneratorType[Any, Any, Any]) -> Any:
    """Run a generator handler, answering the statements it yields."""
    try:
        question = next(steps)
        while True:
            question = steps.send(tx.answer(question))
    except StopIteration as end:
        return end.value


def _deltas(process: Process, data: bytes, inline: int) -> list[dict[str, Any]]:
    """Output in chunks of whole characters; past the budget, one reference to the rest."""
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
