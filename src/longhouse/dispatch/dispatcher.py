"""Runs calls: validates and authorizes them, runs the handler and builds the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from longhouse.dispatch.aftermath import Aftermath, reactions_of
from longhouse.dispatch.answers import SMALL, answer_error, answer_result
from longhouse.dispatch.calls import (
    Caller,
    HandlerOutcome,
    Observer,
    Prepared,
    budget_of,
    settled,
)
from longhouse.dispatch.idempotency import recall, remember
from longhouse.dispatch.portals import PortalCall, understood, unwrap
from longhouse.dispatch.speaking import choose_workspace, require_role, speaker
from longhouse.facts import HouseFacts
from longhouse.kernel.clock import Clock, Ids
from longhouse.kernel.contributions import CommittedWrite
from longhouse.kernel.effort import Allowance, Overdrawn, allowance_here, within
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import (
    InternalError,
    InvalidInput,
    LonghouseError,
    OutcomeUnknown,
    Unauthenticated,
    UnknownTool,
)
from longhouse.kernel.inputs import check_json
from longhouse.kernel.names import portal_named
from longhouse.kernel.registry import Registry
from longhouse.store.database import LONG, QUICK, STAGING, Database
from longhouse.store.tx import Asking, Call, Refused, Tx, Wait, sql

if TYPE_CHECKING:
    import asyncio

    from longhouse.dispatch.waits import Waits

__all__ = ["LOOP_UNITS", "Dispatcher"]

T = TypeVar("T")

LOOP_UNITS = 256 * 1024
"""How much work one call may do in an event loop; a millisecond or two."""


class Dispatcher:
    """Runs calls against one open store."""

    def __init__(
        self,
        registry: Registry,
        db: Database,
        facts: HouseFacts,
        *,
        clock: Clock,
        ids: Ids,
        observe: Observer | None = None,
        time_of_calls: Callable[[], int] | None = None,
    ) -> None:
        self.registry = registry
        self.db = db
        self.facts = facts
        self.clock = clock
        self.time_of_calls = time_of_calls
        """The time of a call; None means the store's own clock, read under its lock."""
        self.ids = ids
        self.aftermath = Aftermath(observe, reactions_of(registry) if facts.services else None)
        self._bound: set[str] = set()
        self._settled: set[str] = set()
        self._larger: set[tuple[str, str]] = set()
        """Reads that were too much for the loop last time, by workspace and command."""
        self._waits: dict[asyncio.AbstractEventLoop, Waits] = {}
        self._ending = False

    def call(self, cmd: str, args: Any, caller: Caller, found: PortalCall | None = None) -> Answer:
        """Run one call and wait for its answer; `found` is the portal call that it was."""
        started = time.perf_counter()
        try:
            prepared = self._prepare(cmd, args, caller, started, found)
            outcome = self._run(prepared, prepared.call)
            while left_s := prepared.wait_left(outcome):
                seen, on, knocks = prepared.seen, prepared.on, prepared.knocks
                self.db.wakeups.wait(prepared.workspace, seen, left_s, on, knocks)
                outcome = self._run(prepared, self._again(prepared))
            return self._finish(prepared, outcome)
        except Exception as error:
            return self._fail(cmd, args, error, started, caller)

    async def call_async(
        self, cmd: str, args: Any, caller: Caller, found: PortalCall | None = None
    ) -> Answer:
        """The same for event loops: nothing here blocks the loop for long."""
        started = time.perf_counter()
        try:
            if caller.large:
                prepare = partial(self._prepare, cmd, args, caller, started, found)
                prepared = await self.apart(caller, prepare)
            else:
                prepared = self._prepare(cmd, args, caller, started, found)
            outcome = await self._run_async(prepared, prepared.call)
            if isinstance(outcome, HandlerOutcome):
                if outcome.wait is not None and prepared.wait_left(outcome):
                    with caller.waits, caller.turns.away():
                        outcome = await self._wait(prepared, outcome)
                elif outcome.raw is not None and len(outcome.raw) <= SMALL:
                    return self._finish(prepared, outcome)
            return await self._finish_async(prepared, outcome)
        except Exception as error:
            if not caller.large:
                return self._fail(cmd, args, error, started, caller)
            failed = error
        try:
            return await self.apart(caller, lambda: self._fail(cmd, args, failed, started, caller))
        except LonghouseError as error:  # its turn does not come: say that, without the arguments
            return self._fail(cmd, None, error, started, caller)

    async def apart(self, caller: Caller, work: Callable[[], T], kind: str = "") -> T:
        """Run what would hold up an event loop on a thread; it may run twice."""
        way = LONG if caller.large else QUICK
        return await self.db.apart(caller.pays, work, way, kind=kind)

    async def _wait(
        self, prepared: Prepared, outcome: HandlerOutcome | Refused
    ) -> HandlerOutcome | Refused:
        """Run the handler again whenever the workspace changes, until it answers or times out."""
        while left_s := prepared.wait_left(outcome):
            await self._moved(prepared, left_s)
            if prepared.caller.revoked:
                raise Unauthenticated("this token was revoked or has expired")
            if self._ending:
                prepared.deadline = 0.0  # run once more, and answer with the result
            outcome = await self._run_async(prepared, self._again(prepared))
        return outcome

    def end_waits(self) -> None:
        """Answer all waiting calls, now and in future, as if they had timed out.

        Call it in the event loop.
        """
        self._ending = True
        for waits in self._waits.values():
            waits.end()

    def end_revoked_waits(self) -> None:
        """Refuse the calls that wait under a revoked token. Call it in the event loop."""
        for waits in self._waits.values():
            waits.end(lambda caller: caller.revoked)

    def portal(self, tool: str, arguments: Any, caller: Caller) -> Answer:
        """Run one portal call; a malformed one is answered with an error."""
        started = time.perf_counter()
        try:
            found = unwrap(self.registry, tool, arguments)
        except Exception as error:
            return self._fail(tool, arguments, error, started, caller)
        return self.call(found.command.cmd, found.args, caller, found)

    async def portal_async(self, tool: str, arguments: Any, caller: Caller) -> Answer:
        started = time.perf_counter()
        try:
            if caller.large:
                unwrapped = partial(unwrap, self.registry, tool, arguments)
                found = await self.apart(caller, unwrapped)
            else:
                found = unwrap(self.registry, tool, arguments)
        except Exception as error:
            return self._fail(tool, arguments, error, started, caller)
        return await self.call_async(found.command.cmd, found.args, caller, found)

    def call_portal(self, tool: str, arguments: Any) -> tuple[str, dict[str, Any]]:
        """The command and plain arguments of a portal call."""
        found = unwrap(self.registry, tool, arguments)
        return found.command.cmd, found.args

    def choose_workspace(self, asked: str | None, caller: Caller) -> str:
        """The requested workspace, else the session's, else the configured one; never a guess."""
        return choose_workspace(self.facts, asked, caller)

    def fail(
        self, intent: str, error: LonghouseError, args: Any = None, caller: Caller | None = None
    ) -> Answer:
        """The answer for an error that occurred before the command was known."""
        return self._fail(intent, args, error, time.perf_counter(), caller)

    def _prepare(
        self,
        cmd: str,
        args: Any,
        caller: Caller,
        started: float,
        found: PortalCall | None = None,
    ) -> Prepared:
        if found is not None:
            command = found.command
        elif not isinstance(cmd, str):
            raise InvalidInput("cmd: expected text; fix: cmd=status")
        else:
            command = self.registry.get(cmd)
            if args is None:
                args = {}
            elif not isinstance(args, dict):
                raise InvalidInput('args: expected an object; fix: args={"name": "value"}')
        writes = command.writes or command.writes_given(args)
        if caller.role < command.role or (writes and caller.role < command.writes_role):
            require_role(command, caller, writes=writes)
        blank = check_json(args) if found is None else found.blank
        lessons = found.lessons if found is not None else ()
        own, common, budget, request, taught = understood(command, args, lessons, budget_of)
        if taught and command.writes_given(own) != writes:
            writes = not writes  # an argument that makes it a write had another name
            require_role(command, caller, writes=writes)
        if blank:
            from longhouse.kernel.blanks import refuse_blanks

            refuse_blanks(command, {**args, **own})
        prepared = Prepared(
            command,
            caller,
            common,
            budget,
            request,
            choose_workspace(self.facts, common.workspace, caller, needed=command.needs_workspace),
            started,
            writes=writes,
        )
        prepared.taught = taught
        who = speaker(self.facts, caller, common.agent_id, writes=writes)
        prepared.acts_as = who.claims
        key = common.idempotency_key
        prepared.call = Call(
            now_ms=self.time_of_calls() if self.time_of_calls else None,
            ids=self.ids,
            key=f"{caller.owner}\n{key}" if key and writes else None,
            actor=who.actor,
            by=who.by,
            facts=self.facts,
            session=caller.session,
            pays=caller.pays,
        )
        prepared.work = partial(self._work, prepared)
        return prepared

    def _work(
        self, prepared: Prepared, tx: Tx
    ) -> HandlerOutcome | Refused | Asking[HandlerOutcome | Refused]:
        """The part of a call that runs inside the transaction."""
        command, request, key = prepared.command, prepared.request, prepared.call.key
        outcome = HandlerOutcome(tx)
        if tx.by.connection and tx.by.agent is None and tx.workspace not in tx.session.nobody_in:
            self._recognize(tx)
        if name := prepared.acts_as:
            for vouch in self.registry.vouchers:
                if vouch(tx, name):
                    tx.by = tx.by._replace(who=name, named=True)
                    if not tx.by.leads:  # they may act as anyone, which proves nothing
                        tx.by = tx.by._replace(agent=name)
                from longhouse.kernel.labels import spellings

                for other in spellings(name):  # a label that reads like another's name
                    vouch(tx, other)
        if command.needs_workspace and tx.workspace not in self._settled and settled(tx):
            self._settled.add(tx.workspace)
        if key and (row := tx.remembered(key)) is not None:
            said = prepared.common.idempotency_key or ""
            outcome.result, outcome.replayed = recall(tx, said, row, command, request), True
            return outcome
        if prepared.writes and self.facts.project_guard and tx.workspace not in self._bound:
            tx.run(sql.workspace_set_guard, guard=self.facts.project_guard)
        if prepared.writes and tx.last_seq() == 0:
            from longhouse.dispatch.new_workspaces import welcome

            welcome(tx)
            outcome.new = True
        made = prepared.handled(tx, self.db, self.registry)
        if command.asks:
            return self._asking(prepared, outcome, made)
        return self._made(prepared, outcome, made)

    def _recognize(self, tx: Tx) -> None:
        """Let a call that names no one act as the identity that its connection has proved to be."""
        for recognize in self.registry.recognizers:
            if (name := recognize(tx)) is not None:
                tx.by = tx.by._replace(agent=name)
                if tx.by.who == tx.by.connection:
                    tx.by, tx.actor = tx.by._replace(who=name, named=True), name
                return
        tx.session.nobody_in.add(tx.workspace)

    def _asking(
        self, prepared: Prepared, outcome: HandlerOutcome, steps: Asking[Any]
    ) -> Asking[HandlerOutcome | Refused]:
        """The same for a handler that yields its statements."""
        made = yield from steps
        return self._made(prepared, outcome, made)

    def _made(
        self, prepared: Prepared, outcome: HandlerOutcome, result: Any
    ) -> HandlerOutcome | Refused:
        tx, key = outcome.tx, prepared.call.key
        if isinstance(result, Refused):
            if outcome.new:
                from longhouse.dispatch.new_workspaces import counted_too

                return counted_too(result)
            return result
        if isinstance(result, Wait):
            outcome.wait, prepared.seen, prepared.on = result, tx.last_seq(), result.on
            prepared.request = result.again or prepared.request
            return outcome
        outcome.result = result
        if key:
            outcome.raw = remember(tx, key, prepared.command, prepared.request, result)
        return outcome

    def _run(self, prepared: Prepared, call: Call) -> HandlerOutcome | Refused:
        """Run the work in its transaction."""
        workspace, work = prepared.workspace, prepared.work
        prepared.knocks = self.db.wakeups.knocks
        outcome: HandlerOutcome | Refused
        if prepared.command.ahead:
            prepared.made_ahead = (self.db.read(workspace, prepared.work_ahead, call),)
        if prepared.writes:
            outcome = self.db.write(workspace, work, call, asks=prepared.asks)
        else:
            outcome = self.db.read(workspace, work, call)
        return outcome

    async def _run_async(self, prepared: Prepared, call: Call) -> HandlerOutcome | Refused:
        """The same for event loops.

        Most reads of a local store take less time than handing them to a thread, so they run
        directly in the loop. One that turns out to be too much work for it is abandoned, and runs
        again on a thread, where its answer is built too.
        """
        workspace, work = prepared.workspace, prepared.work
        prepared.knocks = self.db.wakeups.knocks
        outcome: HandlerOutcome | Refused
        if prepared.command.ahead:
            larger = STAGING if prepared.writes else LONG
            kind = prepared.command.cmd
            work_ahead = prepared.work_ahead
            ahead = self.db.read_async(workspace, work_ahead, call, larger=larger, kind=kind)
            prepared.made_ahead = (await ahead,)
        if prepared.writes:
            outcome = await self.db.write_async(workspace, work, call, asks=prepared.asks)
            await prepared.caller.turns.take(begun=True)
            return outcome
        key = workspace, prepared.command.cmd
        if self.db.engine.local and not prepared.slow and key not in self._larger:
            try:
                with within(Allowance(LOOP_UNITS)):
                    return self._answered(prepared, self.db.read(workspace, work, call))
            except Overdrawn:
                self._larger.add(key)

        def read() -> HandlerOutcome | Refused:
            found = self._answered(prepared, self.db.read(workspace, work, call))
            allowed = allowance_here()
            if allowed and allowed.spent <= LOOP_UNITS:
                self._larger.discard(key)
            return found

        return await self.apart(prepared.caller, read, prepared.command.cmd)

    def _answered(
        self, prepared: Prepared, outcome: HandlerOutcome | Refused
    ) -> HandlerOutcome | Refused:
        """The outcome with its answer, if it has its result."""
        if isinstance(outcome, HandlerOutcome) and outcome.wait is None:
            outcome.answer = answer_result(self.facts, prepared, outcome)
        return outcome

    def _again(self, prepared: Prepared) -> Call:
        """The same call at the current time, for each further run of a waiting handler."""
        return prepared.call.at(self.time_of_calls() if self.time_of_calls else None)

    def _own(self) -> Call:
        """A call without a caller, for the writes of reactions."""
        now = self.time_of_calls
        return Call(now_ms=now() if now else None, ids=self.ids, facts=self.facts)

    async def _moved(self, prepared: Prepared, timeout_s: float) -> None:
        """Sleep until the workspace changes, the time is up, or the wait is ended."""
        import asyncio

        if self._ending or prepared.caller.revoked:
            return
        loop = asyncio.get_running_loop()
        waits = self._waits.get(loop)
        if waits is None:
            from longhouse.dispatch.waits import Waits

            waits = self._waits[loop] = Waits(self.db.wakeups)
        try:
            await waits.until_moved(prepared, timeout_s)
        finally:
            if not waits:
                self._waits.pop(loop, None)

    async def _finish_async(self, prepared: Prepared, outcome: HandlerOutcome | Refused) -> Answer:
        """The same for event loops: a large answer is built on a thread."""
        if isinstance(outcome, HandlerOutcome) and outcome.answer is None:
            with suppress(Exception):  # a defect surfaces below, after the reactions are queued
                try:
                    with within(Allowance(LOOP_UNITS)):
                        self._answered(prepared, outcome)
                except Overdrawn:
                    await self.apart(prepared.caller, lambda: self._answered(prepared, outcome))
        return self._finish(prepared, outcome)

    def _finish(self, prepared: Prepared, outcome: HandlerOutcome | Refused) -> Answer:
        if isinstance(outcome, Refused):
            raise outcome.error
        if prepared.writes:
            self._bound.add(prepared.workspace)
        try:
            answer = outcome.answer or answer_result(self.facts, prepared, outcome)
        finally:
            cmd = prepared.command.cmd
            if prepared.writes and not outcome.replayed and cmd in self.aftermath.reactions:
                self.aftermath.committed(cmd, lambda: self._commit(prepared))
        if self.aftermath.observes:
            self._observed(cmd, answer, prepared.started, None)
        return answer

    def _fail(
        self, cmd: Any, args: Any, error: Exception, started: float, caller: Caller | None
    ) -> Answer:
        key = args.get("idempotency_key") if isinstance(args, dict) else None
        if isinstance(error, OutcomeUnknown) and key:
            error = OutcomeUnknown(error.message, key=key)
        name = cmd if isinstance(cmd, str) else ""
        command = self.registry.known(name)
        if command is None and isinstance(args, dict):
            with suppress(LonghouseError, TypeError, AttributeError):
                command = self.registry.route(name, args.get("op"), args.get("cmd"))
        answer = answer_error(
            self.facts,
            command,
            args,
            error,
            self.clock.now_ms(),
            caller,
            intent=_portal(name) or "error",
        )
        ours = isinstance(error, LonghouseError) and not isinstance(error, InternalError)
        defect = None if ours else error.__cause__ or error
        self._observed(command.cmd if command else "unknown", answer, started, defect)
        return answer

    def _observed(
        self, cmd: str, answer: Answer, started: float, defect: BaseException | None
    ) -> None:
        self.aftermath.observed(cmd, answer, time.perf_counter() - started, defect)

    def _commit(self, prepared: Prepared) -> CommittedWrite:
        call, workspace = self._again(prepared), prepared.workspace
        return CommittedWrite(
            cmd=prepared.command.cmd,
            workspace=workspace,
            now_ms=self.clock.now_ms(),
            facts=self.facts,
            read=lambda look: self.db.read(workspace, look, call),
            write=lambda work: self.db.write(workspace, work, self._own()),
            read_long=lambda look: self.db.read_long(workspace, look, self._own()),
            apart=self.db.in_background,
        )


def _portal(name: str) -> str | None:
    """The portal with this name, if it is one."""
    with suppress(UnknownTool):
        return portal_named(name)
    return None
