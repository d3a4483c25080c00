"""What a room can contribute beside commands, and what its functions are given.

`Room` in `registry.py` has one declaration for each of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.values import Result

if TYPE_CHECKING:
    from longhouse.kernel.registry import Command, Registry

__all__ = [
    "Check",
    "CommittedWrite",
    "Holder",
    "Loop",
    "Opener",
    "Reaction",
    "Rebuilder",
    "Recoverer",
    "Refusal",
    "TargetResolver",
    "Tidier",
    "Voucher",
    "always",
    "asks_to_write",
]


class Opener(msgspec.Struct, frozen=True):
    """Resolves the ids of one shape for `open`."""

    pattern: re.Pattern[str]
    resolve: Callable[[Any, Any, re.Match[str]], Result]
    what: str


def always(_facts: Any) -> bool:
    return True


def asks_to_write(args: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether one of these arguments makes a read write; `read_only` keeps it from that."""
    asked = any(args.get(name) not in (None, False) for name in names)
    return asked and args.get("read_only") is not True


class Loop(NamedTuple):
    """Upkeep of a room: `run(tx)` in every workspace, about every so many seconds.

    `when(facts)` may tell without a transaction that there is nothing to do.
    """

    name: str
    every_s: float
    run: Callable[..., object]
    when: Callable[[Any], bool] = always


class Check(msgspec.Struct, frozen=True):
    """One invariant of a room: yields a sentence for each place where it does not hold."""

    room: str
    what: str
    complaints: Callable[[Any], Iterable[str]]


class CommittedWrite(NamedTuple):
    """A committed write, as a room's reaction sees it.

    `read` and `write` run a function on the store; what is written is the house's own doing.
    """

    cmd: str
    workspace: str
    now_ms: int
    facts: Any
    read: Callable[[Callable[[Any], Any]], Any]
    write: Callable[[Callable[[Any], Any]], Any]


class Reaction(NamedTuple):
    """What a room does after one of these commands has committed: `run(commit)`, off the loop."""

    cmds: frozenset[str]
    run: Callable[[Any], object]


class Refusal(NamedTuple):
    """A call that failed, for the rooms that can offer a way on."""

    registry: Registry
    error: LonghouseError
    command: Command | None
    args: Mapping[str, Any]
    has_session: bool


Recoverer = Callable[[Refusal], Iterable[Suggestion]]
TargetResolver = Callable[[Any, str], Any]
Tidier = Callable[[Any, Any], object]
Voucher = Callable[[Any, str], bool]

Holder = Callable[[Any], Iterable[str]]
"""Yields the digests and ids of the artifacts that a room's records of one workspace name."""


Rebuilder = Callable[[Any], None]
