"""Reads the tables of guesses, and says what came of a guess in the same words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from longhouse.dispatch import Caller
from longhouse.dispatch.calls import Prepared
from longhouse.house import House
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.values import Request

__all__ = ["Guess", "Outcome", "full", "outcome", "read"]

_ROW = re.compile(r"(?P<call>.+?) (?P<kind>->|\?\?|!!|--) ?(?P<wanted>.*)")
_ITEM = re.compile(r'([\w.]+)=("(?:\\.|[^"\\])*"|\[.*?\](?= |$)|\{.*?\}(?= |$)|\S+)')


class Guess(NamedTuple):
    line: str
    tool: str
    arguments: dict[str, Any]
    kind: str
    wanted: str
    args: dict[str, Any]


class Outcome(NamedTuple):
    """`kind` as in the table, the command, its arguments, and the answer."""

    kind: str
    cmd: str
    args: dict[str, Any]
    envelope: dict[str, Any]


def read(path: Path) -> list[Guess]:
    return [
        _guess(line)
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def _guess(line: str) -> Guess:
    row = _ROW.fullmatch(line)
    assert row, line
    call, bar, inner = row["call"].partition(" |")
    tool, _, beside = call.partition(" ")
    arguments = _items(beside)
    if bar:
        arguments["args"] = _items(inner)
    wanted, _, args = row["wanted"].partition(" ")
    if row["kind"] in ("--", "!!"):
        return Guess(line, tool, arguments, row["kind"], row["wanted"], {})
    return Guess(line, tool, arguments, row["kind"], wanted, _items(args))


def _items(text: str) -> dict[str, Any]:
    return {name: _value(value) for name, value in _ITEM.findall(text)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def full(house: House, cmd: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the command's own request writes them, without defaults."""
    request = msgspec.convert(args, house.registry.get(cmd).request)
    made: dict[str, Any] = msgspec.to_builtins(request)
    return made


def outcome(house: House, guess: Guess) -> Outcome:
    """Make the guess as an operator would, and say what came of it."""
    dispatcher = house.dispatcher
    prepared: list[tuple[Command, Request]] = []
    prepare = dispatcher._prepare

    def noted(*given: Any) -> Prepared:
        made = prepare(*given)
        prepared.append((made.command, made.request))
        if not made.writes and hasattr(made.request, "timeout_ms"):
            raise LonghouseError("not run: it would wait")
        return made

    dispatcher._prepare = noted  # type: ignore[method-assign,assignment]
    try:
        answer = dispatcher.portal(guess.tool, guess.arguments, Caller(Role.OPERATOR))
    finally:
        dispatcher._prepare = prepare  # type: ignore[method-assign]
    envelope = answer.envelope
    if prepared:
        command, request = prepared[-1]
        return Outcome("->", command.cmd, msgspec.to_builtins(request), envelope)
    for action in envelope["actions"]:
        repeats = action["action_id"].startswith(("recover.argument::", "recover.portal::"))
        if not repeats or action.get("missing", []) not in ([], ["agent_token"]):
            continue  # a token cannot be repeated in an answer
        cmd, args = dispatcher.call_portal(action["tool"], action["args"])
        if "workspace" not in house.registry.get(cmd).fields():
            args.pop("workspace", None)
        return Outcome("??", cmd, args, envelope)
    hints = envelope["error"].get("hints") or envelope["error"].get("details") or []
    missing = [one["field"] for one in hints if one.get("kind") == "missing_required"]
    if missing:
        return Outcome("!!", envelope["intent"], {"missing": missing}, envelope)
    return Outcome("--", envelope["intent"], {}, envelope)
