"""The one way in: from a command name and arguments to an answer, the same for every surface.

    arguments → common ones split off → role → workspace → request value → handler in a transaction
    → redaction → budget → envelope or lines

No rule lives in a surface, and no surface reaches a room but through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from longhouse.kernel import lines as bm
from longhouse.kernel.budget import Budget, fit
from longhouse.kernel.clock import Clock, Ids, rfc3339
from longhouse.kernel.envelope import Answer, actions_for, error_body
from longhouse.kernel.errors import (
    Conflict,
    Forbidden,
    InternalError,
    InvalidInput,
    LonghouseError,
    Suggestion,
    UnknownWorkspace,
    WorkspaceLocked,
    WorkspaceNotAllowed,
)
from longhouse.kernel.redact import redact, redact_text
from longhouse.kernel.refs import check_workspace
from longhouse.kernel.registry import Command, Registry, Role
from longhouse.kernel.schema import Common, decode, split_common
from longhouse.kernel.values import Request
from longhouse.store.database import Database
from longhouse.store.tx import Call, Refused, Tx, Wait, sql

__all__ = ["Caller", "Dispatcher", "Facts", "Prepared", "Session"]

BUDGET_TEXT = {
    "BUDGET_TRUNCATED": (
        "the answer was cut to fit",
        "page on, narrow the call or raise max_chars",
    ),
    "BUDGET_MINIMAL": ("the answer was cut to its smallest form", "raise max_chars"),
    "BUDGET_MIN_CLAMPED": ("the budget is below the smallest answer", "raise max_chars"),
}


class Session:
    """What one client connection remembers between calls."""

    __slots__ = ("workspace",)

    def __init__(self) -> None:
        self.workspace: str | None = None


class Caller:
    """Who calls: a role, a name for the record, and a session where the surface has one."""

    __slots__ = ("name", "role", "session")

    def __init__(
        self, role: Role, *, name: str | None = None, session: Session | None = None
    ) -> None:
        self.role = role
        self.name = name
        self.session = session


class Facts(Protocol):
    """What handlers may know about the house they run in (see house.HouseFacts)."""

    @property
    def default_workspace(self) -> str | None: ...
    @property
    def workspace_lock(self) -> bool: ...
    @property
    def workspace_allowlist(self) -> tuple[str, ...]: ...
    @property
    def agent_id(self) -> str | None: ...


class Observer(Protocol):
    """Hears of every finished call: metrics and logs."""

    def __call__(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None: ...


class Prepared:
    """A call that has been understood and allowed; its `work` runs in a transaction."""

    __slots__ = (
        "budget", "call", "command", "common", "deadline", "request", "seen", "started", "work",
        "workspace",
    )  # fmt: skip

    def __init__(self, command: Command, started: float) -> None:
        self.command = command
        self.started = started
        self.deadline: float | None = None
        self.seen = 0
        self.workspace = ""
        self.common = Common()
        self.budget = Budget.of(
            "default", max_chars=None, max_bytes=None, max_lines=None, limit=None
        )
        self.request: Request
        self.call: Call
        self.work: Callable[[Tx], _Outcome | Refused]

    def wait_left(self, outcome: _Outcome | Refused) -> float | None:
        """Seconds that a waiting call may still wait, None when it has its answer."""
        if isinstance(outcome, Refused) or outcome.wait is None:
            return None
        now = time.monotonic()
        if self.deadline is None:
            self.deadline = now + outcome.wait.timeout_ms / 1000
        if now < self.deadline:
            return self.deadline - now
        outcome.result, outcome.wait = outcome.wait.result, None
        return None


class _Outcome:
    """What the handler made of it, with the notes its transaction gathered."""

    __slots__ = ("replayed", "result", "tx", "wait")

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.result: Any = None
        self.wait: Wait | None = None
        self.replayed = False


class Dispatcher:
    """Carries out calls against one open store."""

    def __init__(
        self, registry: Registry, db: Database, facts: Facts, *, clock: Clock, ids: Ids,
        observe: Observer | None = None,
    ) -> None:  # fmt: skip
        self.registry = registry
        self.db = db
        self.facts = facts
        self.clock = clock
        self.ids = ids
        self._observe = observe

    def call(self, cmd: str, args: Any, caller: Caller) -> Answer:
        """Carry out one call and wait for its answer."""
        started = time.perf_counter()
        try:
            prepared = self._prepare(cmd, args, caller, started)
            run = self.db.write if prepared.command.writes else self.db.read
            outcome = run(prepared.workspace, prepared.work, prepared.call)
            while left_s := prepared.wait_left(outcome):
                self.db.wakeups.wait(prepared.workspace, prepared.seen, left_s)
                outcome = run(prepared.workspace, prepared.work, self._again(prepared))
            return self._finish(prepared, outcome)
        except Exception as error:
            return self._fail(cmd, args, error, started)

    async def call_async(self, cmd: str, args: Any, caller: Caller) -> Answer:
        """The same for event loops: nothing here blocks the loop."""
        from asyncio import wrap_future

        started = time.perf_counter()
        try:
            prepared = self._prepare(cmd, args, caller, started)
            run = self.db.submit_write if prepared.command.writes else self.db.submit_read
            outcome = await wrap_future(run(prepared.workspace, prepared.work, prepared.call))
            while left_s := prepared.wait_left(outcome):
                await self._moved(prepared.workspace, prepared.seen, left_s)
                again = self._again(prepared)
                outcome = await wrap_future(run(prepared.workspace, prepared.work, again))
            return self._finish(prepared, outcome)
        except Exception as error:
            return self._fail(cmd, args, error, started)

    def call_portal(self, tool: str, arguments: Any) -> tuple[str, dict[str, Any]]:
        """The command and plain arguments that a portal call means."""
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise InvalidInput("arguments: expected an object")
        envelope = dict(arguments)
        command = self.registry.route(tool, _text(envelope, "op"), _text(envelope, "cmd"))
        if command.cmd == command.portal:
            envelope.pop("view", None)
            return command.cmd, envelope
        args = envelope.pop("args", None)
        args = {} if args is None else args
        if not isinstance(args, dict):
            raise InvalidInput("args: expected an object", recovery='pass args={"name": "value"}')
        view = envelope.pop("view", None)
        if view not in (None, "compact", "smart", "audit"):
            raise InvalidInput(
                "view: expected compact, smart or audit; a command's own goes in args"
            )
        for name in ("op", "cmd"):
            envelope.pop(name, None)
        return command.cmd, {**envelope, **args}

    def _prepare(self, cmd: str, args: Any, caller: Caller, started: float) -> Prepared:
        command = self.registry.get(cmd)
        if args is None:
            args = {}
        if not isinstance(args, dict):
            raise InvalidInput("args: expected an object", recovery='pass {"name": "value"}')
        if caller.role < command.role:
            needed, had = command.role.name.lower(), caller.role.name.lower()
            raise Forbidden(
                f"{command.cmd} needs the role {needed}, this token has {had}",
                recovery=f"use a token made by `longhouse token create --role {needed}`",
            )
        prepared = Prepared(command, started)
        own, common = split_common(command, args)
        prepared.common = common
        prepared.request = request = decode(command, own)
        prepared.workspace = self.choose_workspace(
            common.workspace, caller, needed=command.needs_workspace
        )
        prepared.budget = _budget(command, common, own)
        prepared.call = Call(
            now_ms=self.clock.now_ms(),
            ids=self.ids,
            actor=common.agent_id or caller.name or self.facts.agent_id,
            facts=self.facts,
            session=caller.session,
        )
        digest = _digest(command, own) if common.idempotency_key else None

        def work(tx: Tx) -> _Outcome | Refused:
            outcome = _Outcome(tx)
            key = common.idempotency_key
            if key and digest and self._replay(tx, key, command, digest, outcome):
                return outcome
            result = command.handler(tx, request)
            if isinstance(result, Refused):
                return result
            if isinstance(result, Wait):
                outcome.wait, prepared.seen = result, tx.last_seq()
            else:
                outcome.result = result
                if key and digest:
                    # A credential is shown once; a repeated call must not find it stored.
                    kept = redact(msgspec.to_builtins(result)) if command.reveals else result
                    tx.run(
                        sql.idempotency_put, key=key, cmd=command.cmd, digest=digest,
                        ts_ms=tx.now_ms, answer=msgspec.json.encode(kept).decode(),
                    )  # fmt: skip
            return outcome

        prepared.work = work
        return prepared

    def _replay(self, tx: Tx, key: str, command: Command, digest: str, outcome: _Outcome) -> bool:
        """True when this key has been answered before: the same answer again, nothing written."""
        row = tx.one(sql.idempotency_get, key=key)
        if row is None:
            return False
        if (row["cmd"], row["digest"]) != (command.cmd, digest):
            raise Conflict(
                f"idempotency_key: {key!r} was used for another call of {row['cmd']}",
                recovery="use a new key for a new call",
            )
        outcome.result = msgspec.json.decode(row["answer"])
        outcome.replayed = True
        return True

    def choose_workspace(self, asked: str | None, caller: Caller, *, needed: bool = True) -> str:
        """Explicit, then the session's, then the configured one; never a guess."""
        chosen = caller.session.workspace if caller.session else None
        name = asked or chosen or self.facts.default_workspace
        if not name:
            if needed:
                raise UnknownWorkspace
            return ""
        check_workspace(name)
        if self.facts.workspace_allowlist:
            if name not in self.facts.workspace_allowlist:
                shown = ", ".join(self.facts.workspace_allowlist[:5])
                raise WorkspaceNotAllowed(
                    f"workspace {name!r} is not allowed here", recovery=f"use one of: {shown}"
                )
        elif self.facts.workspace_lock and name != self.facts.default_workspace:
            raise WorkspaceLocked(
                f"this server is locked to workspace {self.facts.default_workspace!r}",
                recovery=f"leave workspace out, or pass workspace={self.facts.default_workspace}",
            )
        return name

    def _again(self, prepared: Prepared) -> Call:
        """The same call, later: a waiting handler sees the time of each look."""
        before = prepared.call
        return Call(
            now_ms=self.clock.now_ms(), ids=before.ids, actor=before.actor, facts=before.facts,
            session=before.session,
        )  # fmt: skip

    async def _moved(self, workspace: str, after: int, timeout_s: float) -> None:
        """Sleep until the workspace is past `after` or the time has run out."""
        import asyncio

        loop = asyncio.get_running_loop()
        moved = asyncio.Event()

        def hear(name: str, seq: int) -> None:
            if name == workspace and seq > after:
                loop.call_soon_threadsafe(moved.set)

        end = self.db.wakeups.listen(hear)
        try:
            if not self.db.wakeups.wait(workspace, after, 0):
                with suppress(TimeoutError):
                    await asyncio.wait_for(moved.wait(), timeout_s)
        finally:
            end()

    def _finish(self, prepared: Prepared, outcome: _Outcome | Refused) -> Answer:
        if isinstance(outcome, Refused):
            raise outcome.error
        command, tx = prepared.command, outcome.tx
        result = msgspec.to_builtins(outcome.result)
        result = redact(result, command.reveals)
        warnings = [msgspec.to_builtins(w) for w in tx.warnings]
        if outcome.replayed:
            warnings.append(
                _warning("ALREADY_DONE", "this key was answered before; nothing was written again")
            )
        actions = actions_for(self.registry, prepared.workspace or None, tx.suggestions)
        context: dict[str, Any] = {"replayed": True} if outcome.replayed else {}
        if prepared.workspace and command.needs_workspace:
            context["workspace"] = prepared.workspace
        text = None
        if prepared.common.fmt == "lines":
            text = self._lines(prepared, result, warnings, actions)
        else:
            fitted = fit(result, prepared.budget, command.trim)
            warnings.extend(_warning(code, *BUDGET_TEXT[code]) for code in fitted.codes)
        envelope = _envelope(
            command.cmd, prepared.call.now_ms, result=result, actions=actions, warnings=warnings,
            context=context,
        )  # fmt: skip
        answer = Answer(envelope, text=text)
        self._heard(command.cmd, answer, prepared.started, None)
        return answer

    def _lines(
        self, prepared: Prepared, result: dict[str, Any], warnings: list[dict[str, Any]],
        actions: list[dict[str, Any]],
    ) -> str:  # fmt: skip
        command = prepared.command
        made = list((command.lines or (lambda r: bm.plain_lines(command.cmd, r)))(result))
        tagged = [bm.warning_line(w) for w in warnings if w["code"] != "ALREADY_DONE"]
        made[1:1] = tagged
        made.extend(self._paste(actions)[:2])
        kept, _ = bm.cut(
            made, max_chars=prepared.budget.max_chars, max_lines=prepared.budget.max_lines
        )
        return "\n".join(kept)

    def _paste(self, actions: list[dict[str, Any]]) -> list[str]:
        return [
            bm.command_line(a["tool"], a["args"], default_workspace=self.facts.default_workspace)
            for a in actions
        ]

    def _fail(self, cmd: str, args: Any, error: Exception, started: float) -> Answer:
        """The error as an answer; a defect of ours tells the caller nothing internal."""
        command = self.registry.commands.get(cmd)
        shown: LonghouseError
        if isinstance(error, LonghouseError):
            shown = error
        else:
            shown = InternalError()
            shown.__cause__ = error
        body = error_body(shown)
        body = {k: redact_text(v) if isinstance(v, str) else v for k, v in body.items()}
        suggestions = list(shown.suggest)
        if isinstance(shown, InvalidInput) and command is not None:
            suggestions.extend(self._teach(command))
        workspace = args.get("workspace") if isinstance(args, dict) else None
        workspace = workspace if isinstance(workspace, str) else self.facts.default_workspace
        actions = actions_for(self.registry, workspace, suggestions)
        envelope = _envelope(cmd, self.clock.now_ms(), error=body, actions=actions)
        text = None
        if isinstance(args, dict) and args.get("fmt") == "lines":
            text = "\n".join(bm.error_lines(body, self._paste(actions)))
        answer = Answer(envelope, text=text, error=shown)
        self._heard(command.cmd if command else "unknown", answer, started, shown.__cause__)
        return answer

    def fail(self, intent: str, error: LonghouseError, args: Any = None) -> Answer:
        """An error that happened before any command was known, in the same shape."""
        return self._fail(intent, args, error, time.perf_counter())

    def _teach(self, command: Command) -> list[Suggestion]:
        """A wrong call is answered with the schema and with a call that is right."""
        from longhouse.desk.system import SchemaGet

        return [
            Suggestion(
                SchemaGet(cmd=command.cmd),
                "see the arguments it takes",
                action_id=f"recover.schema.get::{command.cmd}",
            ),
            Suggestion(
                command.example,
                "a call that is valid as written",
                action_id=f"recover.example.call::{command.cmd}",
            ),
        ]

    def _heard(
        self, cmd: str, answer: Answer, started: float, defect: BaseException | None
    ) -> None:
        if self._observe is not None:
            self._observe(cmd, answer, time.perf_counter() - started, defect)


def _text(envelope: dict[str, Any], name: str) -> str | None:
    item = envelope.get(name)
    if item is not None and not isinstance(item, str):
        raise InvalidInput(f"{name}: expected a string")
    return item


def _budget(command: Command, common: Common, own: dict[str, Any]) -> Budget:
    asked = [n for n in (common.max_chars, common.context_budget) if n is not None]
    limit = own.get("limit")
    return Budget.of(
        common.budget_profile or command.profile,
        max_chars=min(asked) if asked else None,
        max_bytes=common.max_bytes,
        max_lines=common.max_lines,
        limit=limit if isinstance(limit, int) else None,
    )


def _digest(command: Command, own: dict[str, Any]) -> str:
    import hashlib

    raw = msgspec.json.encode([command.cmd, own], order="deterministic")
    return hashlib.sha256(raw).hexdigest()


def _warning(code: str, message: str, recovery: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "recovery": recovery}


def _envelope(
    intent: str, now_ms: int, *, result: Any = None, error: Any = None,
    actions: list[dict[str, Any]] | None = None, warnings: list[dict[str, Any]] | None = None,
    context: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "success": error is None,
        "intent": intent,
        "result": result,
        "refs": result.get("refs") if isinstance(result, dict) else None,
        "actions": actions or [],
        "warnings": warnings or [],
        "suggestions": [],
        "context": context or {},
        "error": error,
        "timestamp": rfc3339(now_ms),
    }
