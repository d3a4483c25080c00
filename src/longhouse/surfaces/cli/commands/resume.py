"""`longhouse resume`: everything needed to continue a task, most important first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.commands.task import TARGET
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import wrapped
from longhouse.surfaces.cli.spec import Command, Flag, Shown

VIEWS = ("full", "smart", "explore", "audit", "focus_only")
COLOURS = {
    "blocked": "red",
    "failing": "red",
    "rejected": "dim",
    "unproved": "dim",
    "question": "yellow",
    "BLOCKED": "yellow",
    "HANDOFF": "yellow",
    "decision": "green",
    "evidence": "green",
}
WIDEST = 16


def run(
    cli: Cli,
    target: str | None = None,
    view: str | None = None,
    max_chars: int | None = None,
    agent: str | None = None,
) -> Shown:
    asked: dict[str, Any] = {"target": target, "view": view, "max_chars": max_chars}
    if name := agent or cli.settings.agent_id:
        from longhouse.surfaces.cli.identities import kept_token

        if token := kept_token(cli, name):
            asked |= {"agent": name, "agent_token": token}
    outcome = cli.ask("tasks.resume.super", {k: v for k, v in asked.items() if v is not None})
    result = outcome.result()
    actions = outcome.envelope["actions"] if outcome.envelope else []
    return Shown(result, _lines(cli, result, actions))


def _lines(cli: Cli, result: dict[str, Any], actions: list[dict[str, Any]]) -> Iterator[str]:
    from longhouse.surfaces.cli.speaking import next_lines

    target = result["capsule"]["target"]
    yield f"{cli.out.style(target['id'], 'bold')}  {target['title']} ({target['status']})"
    facts = [_below(one, target["id"]) for one in result.get("facts", [])]
    if why := result.get("chosen"):
        facts.insert(0, {"about": "because", "text": why})
    width = min(max((len(one["about"]) for one in facts), default=0), WIDEST)
    for one in facts:
        if not one["text"]:
            continue
        colour = COLOURS.get(one["about"], "blue")
        about = cli.out.style(one["about"].ljust(width), colour)
        ref = one.get("ref") or ""
        text = wrapped(f"{one['text']}  {ref}".rstrip(), cli.out.width, " " * (width + 4))
        yield f"  {about}  {text.removesuffix(ref)}{cli.out.style(ref, 'dim') if ref else ''}"
    yield from next_lines(cli, actions)


def _in_zone(text: str) -> str:
    """A fact that ends with a time in UTC, with that time in the reader's zone."""
    if not text.endswith(" UTC"):
        return text
    said, at = text[:-9], text[-9:-4]
    today = time.time() // 86_400 * 86_400
    then = time.localtime(today + int(at[:2]) * 3_600 + int(at[3:]) * 60)
    return said + time.strftime("%H:%M %Z", then)


def _below(fact: dict[str, Any], target: str) -> dict[str, Any]:
    """A fact as shown below the title; the one about the task itself omits the title."""
    if fact["about"] in ("held", "process"):
        return {**fact, "text": _in_zone(fact["text"])}
    if fact["about"] != target:
        return fact
    return {**fact, "about": "state", "text": fact["text"].partition("; ")[2]}


command = Command(
    "resume",
    "Show everything you need to continue a task",
    args=[TARGET],
    flags=[
        Flag("view", "how much to show", "VIEW", choices=VIEWS),
        Flag("max-chars", "the longest answer, in characters", "N", kind=int),
        Flag("agent", "whose mail and reservations to show", "NAME"),
    ],
    run=run,
    calls="tasks.resume.super",
    examples=[
        "longhouse resume",
        "longhouse resume TASK-007 --view audit",
        "longhouse resume --json",
    ],
)
