"""Calls that are nearly right: wrong names, places, types and units, made from every example.

Each call says something else than the manual's example, so that an example's words in an answer
cannot have come from the caller.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.names import _fields_at
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import required_args
from longhouse.kernel.units import unit_of
from tests.contracts.world import example_args
from tests.kit import WAITING, Lh

__all__ = ["NearMiss", "leaves", "near_misses"]

_OTHER_ID = {"TASK-001": "TASK-002", "JOB-001": "JOB-002", "PLAN-001": "PLAN-002"}
_NEVER = {"jobs.runner.start", "think.context.pack.export", "system.token.create", *WAITING}
"""Calls that must not succeed here: they start a process, write a file, or wait."""
_WRONG = [["not", "this"], 987_654, {"neither": "this one"}, "no such thing at all", True]
_UNITS = ("", "_s", "_seconds", "_minutes", "_hours", "_ms", "_tokens", "_kb")


class NearMiss(NamedTuple):
    """A portal call, and what its caller said: each value with the name it was given under."""

    tool: str
    arguments: dict[str, Any]
    said: dict[str, Any]


def leaves(value: Any) -> Iterator[Any]:
    """Every single value inside a JSON value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def near_misses(lh: Lh, command: Command, choice: random.Random, count: int) -> Iterator[NearMiss]:
    """Calls that nearly are calls of this command."""
    base = _said(lh, command, choice)
    ways = [_renamed, _mistyped, _left_out, _in_another_unit, _with_more, _twice, _secret, _as_is]
    for number in range(count):
        said = ways[number % len(ways)](command, dict(base), choice)
        if command.cmd in _NEVER:
            said["colour"] = "red"
        yield _sent(command, said, choice)


def _said(lh: Lh, command: Command, choice: random.Random) -> dict[str, Any]:
    """The example in other words, where the command takes them."""
    made = example_args(lh, command)
    for name, item in list(made.items()):
        tried = {**made, name: _reworded(item, choice)}
        try:
            msgspec.convert(tried, command.request)
        except msgspec.ValidationError:
            continue
        made = tried
    return made


def _reworded(item: Any, choice: random.Random) -> Any:
    if isinstance(item, dict):
        return {key: _reworded(inner, choice) for key, inner in item.items()}
    if isinstance(item, list):
        return [_reworded(inner, choice) for inner in item]
    if isinstance(item, str) and item in _OTHER_ID:
        return _OTHER_ID[item]
    if isinstance(item, str) and re.search(r"\s", item):
        return f"said by the caller {choice.randrange(10**6)}"
    return item


def _renamed(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    """One or two names as people guess or misspell them."""
    for name in choice.sample(sorted(said), min(len(said), choice.choice((1, 2)))):
        words = list(_fields_at(command.request, "").get(name, ()))
        words += [name.title().replace("_", "")[:1].lower() + name.title().replace("_", "")[1:]]
        at = choice.randrange(len(name))
        words += [name[:at] + name[at + 1 :], name + "s", "id", "name", "value"]
        said = {(choice.choice(words) or "x" if k == name else k): v for k, v in said.items()}
    return said


def _mistyped(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    name = choice.choice(sorted(command.fields()) or ["x"])
    return {**said, name: choice.choice(_WRONG)}


def _left_out(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    wanted = sorted(required_args(command) & said.keys()) or sorted(said)
    gone = set(choice.sample(wanted, min(len(wanted), choice.choice((1, 1, 2)))))
    return {k: v for k, v in said.items() if k not in gone}


def _in_another_unit(
    command: Command, said: dict[str, Any], choice: random.Random
) -> dict[str, Any]:
    timed = [name for name in (*command.fields(), "max_chars") if unit_of(name)]
    name = choice.choice(timed)
    stem = name.rpartition("_")[0] or name
    said.pop(name, None)
    return {**said, stem + choice.choice(_UNITS): choice.choice((5, 30, 600))}


def _with_more(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    more = {"colour": "red", "step": "s:2", "reason": "said beside it", "task": "TASK-004"}
    name = choice.choice(sorted(more))
    return {**said, name: said.get(name, more[name])}


def _twice(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    """Two names for one field, which disagree."""
    both = [(n, w) for n, ws in _fields_at(command.request, "").items() for w in ws if n in said]
    if not both:
        return {**said, "id": "TASK-002"}
    name, word = choice.choice(both)
    return {**said, word: "TASK-004" if isinstance(said[name], str) else 4}


def _secret(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    kept = _left_out(command, said, choice)
    return {**kept, "agent_token": "lha_" + "5e" * 20}


def _as_is(command: Command, said: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    """Right arguments; the command's name is what will be wrong."""
    return said


def _sent(command: Command, said: dict[str, Any], choice: random.Random) -> NearMiss:
    """The call through the portal: by op or cmd, with arguments in `args`, beside it, or both."""
    short = command.cmd.partition(".")[2]
    by = choice.choice(("cmd", "cmd", "op", "typo", "short"))
    at = choice.randrange(len(command.cmd))
    head: dict[str, Any] = {
        "cmd": {"op": "call", "cmd": command.cmd},
        "op": {"op": short or "call"},
        "short": {"op": short.rpartition(".")[2] or "call"},
        "typo": {"op": "call", "cmd": command.cmd[:at] + command.cmd[at + 1 :]},
    }[by]
    if command.cmd == command.portal:
        return NearMiss(command.portal, said, said)
    flat = {k: v for k, v in said.items() if k not in ("op", "cmd", "args")}
    if len(flat) < len(said):
        return NearMiss(command.portal, {**head, "args": said}, said)
    some = set(choice.sample(sorted(said), choice.randrange(len(said) + 1)))
    place = choice.choice(("nested", "flat", "both"))
    inner = said if place == "nested" else {} if place == "flat" else {k: said[k] for k in some}
    beside = {k: v for k, v in said.items() if k not in inner}
    wrapped = {"args": inner} if place != "flat" else {}
    return NearMiss(command.portal, {**head, **beside, **wrapped}, said)
