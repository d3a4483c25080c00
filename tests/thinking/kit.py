"""Short calls to the thinking room."""

from __future__ import annotations

from typing import Any

from longhouse.dispatch import Caller, ClientSession
from longhouse.kernel.registry import Role
from tests.kit import Lh


def card(lh: Lh, card_id: str | None = None, kind: str = "note", **more: Any) -> dict[str, Any]:
    """Write a card; `supports`, `blocks`, `step`, `target` and `branch` are passed beside it."""
    beside = ("supports", "blocks", "step", "target", "branch", "graph_doc", "trace_doc")
    args = {name: more.pop(name) for name in beside if name in more}
    made = {"type": kind, **more}
    if card_id is not None:
        made["id"] = card_id
    if "title" not in made and "text" not in made:
        made["title"] = f"A {kind}"
    return lh("think.card", card=made, **args)


def ids(cards: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in cards]


def shown(lh: Lh, **args: Any) -> list[str]:
    return ids(lh("think.context", **args)["cards"])


def task(lh: Lh, steps: int = 2) -> dict[str, Any]:
    """A task with steps, not in focus."""
    return lh(
        "tasks.plan.create",
        kind="task",
        title="Mend the cache",
        parent=lh("tasks.plan.create", title="Cache")["id"],
        steps=[{"title": f"Step {n}", "success_criteria": ["it works"]} for n in range(steps)],
    )


def signals(lh: Lh, **args: Any) -> dict[str, dict[str, Any]]:
    """The engine's signals of a watch, by code."""
    engine = lh("think.watch", engine_signals_limit=50, engine_actions_limit=50, **args).get(
        "engine"
    )
    return {one["code"]: one for one in engine["signals"]} if engine else {}


def actions(lh: Lh, **args: Any) -> list[dict[str, Any]]:
    engine = lh("think.watch", engine_signals_limit=50, engine_actions_limit=50, **args).get(
        "engine"
    )
    return engine["actions"] if engine else []


def run_call(lh: Lh, call: dict[str, Any]) -> dict[str, Any]:
    """Run one of the engine's calls as given."""
    caller = Caller(Role.OPERATOR, session=ClientSession())
    answer = lh.house.dispatcher.portal(call["tool"], call["args"], caller)
    assert answer.success, (call, answer.envelope["error"])
    result: dict[str, Any] = answer.envelope["result"]
    return result


def run_action(lh: Lh, action: dict[str, Any]) -> None:
    """Run all calls of an action, and fill in the templates that they create."""
    for call in action["calls"]:
        result = run_call(lh, call)
        assert "<fill" not in str(call)
        if "card.text" in call.get("missing", ()):
            fill_in(lh, result["card_id"], call["args"]["args"])


def fill_in(lh: Lh, card_id: str, args: dict[str, Any]) -> None:
    """Replace a template card's text with an observation."""
    where = {k: args[k] for k in ("target", "branch", "graph_doc", "trace_doc") if k in args}
    text = "CMD: make bench\nLINK: https://ci.example/1\nSaw: 12 ms"
    lh("think.card", card={"id": card_id, "text": text}, **where)
