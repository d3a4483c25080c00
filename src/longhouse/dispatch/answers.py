"""Builds the answer: redacted, cut to its budget, as the JSON envelope or as lines."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from longhouse.dispatch.calls import Caller, HandlerOutcome, Prepared
from longhouse.dispatch.offers import follow_up, holds_calls, offered, permitted
from longhouse.dispatch.speaking import choose_workspace
from longhouse.facts import HouseFacts
from longhouse.kernel.budget import fit
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.envelope import Answer, EncodedAnswer, actions_for, envelope, error_body
from longhouse.kernel.errors import InternalError, LonghouseError
from longhouse.kernel.inputs import asks_for_lines
from longhouse.kernel.names import PORTALS
from longhouse.kernel.redact import is_suspect, looks_suspect, redact
from longhouse.kernel.registry import Command, Role
from longhouse.store.tx import Tx

__all__ = ["answer_error", "answer_result"]

SMALL = 16 * 1024
"""How long a result may be that is redacted in the event loop without counting."""
MOST_FOLLOW_UPS = 4_096
_TRUNCATED = len(',"truncated":false')
_SHOWN_BY_FIT = frozenset({"truncated", "budget", "degradation", "refs"})
_SHAPES: dict[type, bool] = {}
"""Whether an envelope shows results of this type as they are."""
_COMMANDS_SHOWN = 2
_BUDGET_TEXT = {
    "BUDGET_TRUNCATED": (
        "the answer was cut to fit",
        "get the next page, narrow the call or raise max_chars",
    ),
    "BUDGET_MINIMAL": ("the answer was cut to its smallest form", "raise max_chars"),
    "BUDGET_MIN_CLAMPED": (
        "the budget is below the smallest answer, which was returned",
        "raise max_chars",
    ),
}


def answer_result(facts: HouseFacts, prepared: Prepared, outcome: HandlerOutcome) -> Answer:
    """The answer to a successful call, in the requested format."""
    command, tx = prepared.command, outcome.tx
    raw = outcome.raw or msgspec.json.encode(outcome.result)
    if len(raw) <= SMALL and (plain := _plain(facts, prepared, outcome, raw)) is not None:
        return plain
    result = msgspec.to_builtins(outcome.result)
    size: int | None = len(raw)
    if is_suspect(raw):
        result, size = redact(result, command.reveals), None
    if prepared.caller.role < Role.OPERATOR and holds_calls(raw):
        result, size = permitted(facts.registry, prepared.caller, result), None
    warnings: list[dict[str, Any]] = [msgspec.to_builtins(w) for w in tx.warnings]
    if prepared.taught:
        warnings.append(prepared.taught)
    warnings += [_warning("BUDGET_MAX_CLAMPED", *told) for told in prepared.budget.clamps()]
    if outcome.replayed:
        warnings.append(
            _warning("ALREADY_DONE", "this key was used before; nothing was written again")
        )
    actions = _actions(facts, prepared, tx)
    if warnings or actions:
        warnings, actions = redact([warnings, actions])
    context: dict[str, Any] = {"replayed": True} if outcome.replayed else {}
    if prepared.workspace and command.needs_workspace:
        context["workspace"] = prepared.workspace
    text = None
    if prepared.common.fmt == "lines":
        text = _lines(facts, prepared, result, warnings, actions)
    else:
        fitted = fit(
            result,
            prepared.budget,
            command.trim,
            size=size,
            keeps=command.reveals,
            whole=command.whole,
            rederive=tx.rederive,
        )
        warnings += [_warning(code, *_BUDGET_TEXT[code]) for code in fitted.codes]
    whole = envelope(
        command.cmd,
        tx.now_ms,
        result=result,
        actions=actions,
        warnings=warnings,
        context=context,
    )
    return Answer(whole, text=text)


def _plain(
    facts: HouseFacts, prepared: Prepared, outcome: HandlerOutcome, raw: bytes
) -> Answer | None:
    """The answer around a short result that nothing has to be changed in or said about."""
    command, tx, caller = prepared.command, outcome.tx, prepared.caller
    budget = prepared.budget
    if (
        outcome.replayed
        or tx.warnings
        or prepared.taught
        or prepared.common.fmt == "lines"
        or budget.explicit
        or budget.clamped
        or budget.lowered
        or len(raw) + _TRUNCATED > budget.max_chars
        or raw == b"{}"
        or not _SHAPES.setdefault(
            command.result, _SHOWN_BY_FIT.isdisjoint(command.result.__struct_fields__)
        )
        or looks_suspect(raw)
        or (caller.role < Role.OPERATOR and b'"tool":' in raw and holds_calls(raw))
    ):
        return None
    key = command.cmd, prepared.workspace, caller.role
    actions = None if tx.suggestions else facts.follow_ups.get(key)
    if actions is None:
        actions = msgspec.json.encode(redact(_actions(facts, prepared, tx)))
        if not tx.suggestions:
            if len(facts.follow_ups) >= MOST_FOLLOW_UPS:
                facts.follow_ups.clear()
            facts.follow_ups[key] = actions
    context = b"{}"
    if prepared.workspace and command.needs_workspace:
        context = b'{"workspace":"%s"}' % prepared.workspace.encode()
    shown = raw[:-1] + b',"truncated":false}'
    return Answer(EncodedAnswer(command.cmd, shown, actions, context, rfc3339(tx.now_ms)))


def _actions(facts: HouseFacts, prepared: Prepared, tx: Tx) -> list[dict[str, Any]]:
    """The next calls to offer."""
    suggestions = offered(facts.registry, prepared.caller, tx.suggestions)
    if prepared.writes and not suggestions:
        after = follow_up(facts.registry, prepared.command)
        suggestions = offered(facts.registry, prepared.caller, after)
    return actions_for(facts.registry, prepared.workspace or None, suggestions)


def answer_error(
    facts: HouseFacts,
    command: Command | None,
    args: Any,
    error: Exception,
    now_ms: int,
    caller: Caller | None = None,
    *,
    intent: str = "error",
) -> Answer:
    """The answer to a failed call, with actions that fix it; a bug reveals nothing internal.

    If `intent` is a portal, `args` are those of a portal call.
    """
    from longhouse.dispatch.recovery import Failed, mend  # imported here because most calls succeed

    if isinstance(error, LonghouseError):
        shown = error
    else:
        shown = InternalError()
        shown.__cause__ = error
    failed = Failed(command, args, by_portal=intent in PORTALS)
    suggestions = offered(facts.registry, caller, mend(facts, shown, failed, caller))
    workspace = _usable_workspace(facts, failed.workspace, caller)
    actions = actions_for(facts.registry, workspace, suggestions)
    body, actions = redact([error_body(shown), actions])
    text = None
    if asks_for_lines(args):
        from longhouse.kernel import lines as bm

        first = sorted(actions, key=_rank_in_lines)
        text = "\n".join(bm.error_lines(body, _paste(facts, first)[:_COMMANDS_SHOWN]))
    whole = envelope(command.cmd if command else intent, now_ms, error=body, actions=actions)
    return Answer(whole, text=text, error=shown)


def _lines(
    facts: HouseFacts,
    prepared: Prepared,
    result: dict[str, Any],
    warnings: list[dict[str, Any]],
    actions: list[dict[str, Any]],
) -> str:
    """The state first, then warnings, rows and the most urgent next commands."""
    from longhouse.kernel import lines as bm  # most calls are answered in JSON

    command, budget = prepared.command, prepared.budget
    render = command.lines or (lambda whole: bm.plain_lines(command.cmd, whole))
    state, *rows = bm.tidy(render(result))
    told = [bm.warning_line(w) for w in warnings if w["code"] != "ALREADY_DONE"]
    commands = _paste(facts, actions)[:_COMMANDS_SHOWN]
    kept, _ = bm.cut(
        [state, *told, *rows, *commands],
        max_chars=budget.max_chars,
        max_lines=budget.max_lines,
        max_bytes=budget.max_bytes,
        keep_last=len(commands),
    )
    return "\n".join(kept)


def _paste(facts: HouseFacts, actions: list[dict[str, Any]]) -> list[str]:
    from longhouse.kernel import lines as bm

    return [
        bm.command_line(
            a["tool"],
            a["args"],
            default_workspace=facts.default_workspace,
            missing=a.get("missing", ()),
        )
        for a in actions
    ]


def _rank_in_lines(action: dict[str, Any]) -> int:
    """Ranks fixes for this particular error before schemas."""
    return int(action["action_id"].startswith("recover.schema.get::"))


def _usable_workspace(facts: HouseFacts, asked: str | None, caller: Caller | None) -> str | None:
    """The workspace for suggested calls: the requested one if permitted, else one that is."""
    who = caller or Caller(Role.VIEWER)
    with suppress(LonghouseError):
        if asked is not None:
            return choose_workspace(facts, asked, who)
    return choose_workspace(facts, None, who, needed=False) or None


def _warning(code: str, message: str, recovery: str | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "recovery": recovery}
