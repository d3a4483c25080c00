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
from longhouse.kernel.envelope import Answer, actions_for, envelope, error_body
from longhouse.kernel.errors import InternalError, LonghouseError
from longhouse.kernel.inputs import asks_for_lines
from longhouse.kernel.names import PORTALS
from longhouse.kernel.redact import is_suspect, redact
from longhouse.kernel.registry import Command, Role

__all__ = ["answer_error", "answer_result"]

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
    raw = msgspec.json.encode(outcome.result)
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
    suggestions = offered(facts.registry, prepared.caller, tx.suggestions)
    if prepared.writes and not suggestions:
        after = follow_up(facts.registry, command)
        suggestions = offered(facts.registry, prepared.caller, after)
    actions = actions_for(facts.registry, prepared.workspace or None, suggestions)
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
