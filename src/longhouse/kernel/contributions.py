"""What a room can declare besides commands, and what those functions receive.

`Room` in `rooms.py` has one method for each of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.refs import RefKind
from longhouse.kernel.values import Result

if TYPE_CHECKING:
    from longhouse.kernel.registry import Command, Registry

__all__ = [
    "Arrival",
    "Arriver",
    "Check",
    "Clamper",
    "CommittedWrite",
    "HeldBack",
    "Holder",
    "Loop",
    "Opener",
    "Reaction",
    "Rebuilder",
    "Recognizer",
    "Recoverer",
    "Refusal",
    "Rewinder",
    "Searchable",
    "TargetResolver",
    "Then",
    "Tidier",
    "Voucher",
    "always",
    "asks_to_write",
]


class Opener(msgspec.Struct, frozen=True):
    """Resolves refs of one kind for `open`; the pattern matches a whole ref."""

    ref: RefKind
    pattern: re.Pattern[str]
    resolve: Callable[[Any, Any, re.Match[str]], Result]


def always(_facts: Any) -> bool:
    return True


def asks_to_write(args: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether one of these arguments turns a read into a write; `read_only` prevents it."""
    asked = any(args.get(name) not in (None, False) for name in names)
    return asked and args.get("read_only") is not True


class Loop(NamedTuple):
    """Periodic maintenance of a room: `run(tx)` in every workspace, about every `every_s` seconds.

    When `when(facts)` is false there is nothing to do, and no transaction is opened. With `by_hand`
    it gets a CommittedWrite in place of a transaction, to open its own.
    """

    name: str
    every_s: float
    run: Callable[..., object]
    when: Callable[[Any], bool] = always
    by_hand: bool = False


class Check(msgspec.Struct, frozen=True):
    """One invariant of a room: `complaints(tx)` yields a sentence for each violation."""

    room: str
    what: str
    complaints: Callable[[Any], Iterable[str]]


class CommittedWrite(NamedTuple):
    """A committed write, as passed to a room's reaction.

    `read` and `write` run a function in a transaction; writes are made in the house's own name.
    `read_long` is a read with limits. `apart(owner, key, work)` starts work on the threads for long
    reads, where owners take turns, unless work with that key is waiting there already.
    """

    cmd: str
    workspace: str
    now_ms: int
    facts: Any
    read: Callable[[Callable[[Any], Any]], Any]
    write: Callable[[Callable[[Any], Any]], Any]
    read_long: Callable[[Callable[[Any], Any]], Any]
    apart: Callable[[str, Hashable, Callable[[], object]], None]


class Reaction(NamedTuple):
    """Runs `run(commit)` after one of these commands commits, off the event loop."""

    cmds: frozenset[str]
    run: Callable[[Any], object]


class Refusal(NamedTuple):
    """A failed call, passed to the rooms that can suggest what to do next.

    `args` are all arguments that the caller gave, in `args` and beside it.
    """

    registry: Registry
    error: LonghouseError
    command: Command | None
    args: Mapping[str, Any]
    has_session: bool


class Searchable(NamedTuple):
    """Rows of a room that search finds.

    `rows(tx, after, limit)` lists the seqs above one at which something is to be indexed. `read(tx,
    seqs, look)` reads back what the room has there, as documents, without what `look` must not see.
    """

    kind: str
    read: Callable[[Any, Any, Any], Iterable[Any]]
    rows: Callable[[Any, int, int], Iterable[int]]


class Then(NamedTuple):
    """A moment of the past: a seq, and the time of the newest row up to it."""

    seq: int
    now_ms: int


class Rewinder(NamedTuple):
    """How a room derives the rows of its tables at an earlier seq.

    `rows(tx, then)` yields the name of a table and a row of it, from today's rows and the log.
    """

    tables: frozenset[str]
    rows: Callable[[Any, Then], Iterable[tuple[str, dict[str, Any]]]]


Recoverer = Callable[[Refusal], Iterable[Suggestion]]
TargetResolver = Callable[[Any, str], Any]
Tidier = Callable[[Any, Any], object]
Recognizer = Callable[[Any], str | None]
Voucher = Callable[[Any, str], bool]

Holder = Callable[[Any], Iterable[str]]
"""Yields the digests and ids of all artifacts that a room's records in one workspace refer to."""


Clamper = Callable[[Any], None]
"""Brings back the room's times that lie further ahead than a right clock could have put them."""


Rebuilder = Callable[[Any], None]


class Arrival(NamedTuple):
    """How a workspace came into this store: by an import, or by restoring a backup.

    A `foreign` one was not made by this store, so nothing in it may act: no claim, identity, host
    or rule of it counts here. With `hold`, whatever would run waits until a person releases
    it. `how` is one word for the records, such as `imported`.
    """

    how: str
    foreign: bool
    hold: bool


class HeldBack(NamedTuple):
    """Something that an arrival holds or withdrew, for the person who imports."""

    what: str
    id: str
    title: str = ""


Arriver = Callable[[Any, Arrival], Iterable[HeldBack]]
"""Disarms a room's rows in a workspace that has just arrived, and says what it held."""
