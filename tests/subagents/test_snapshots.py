"""Snapshots as values and as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, StrEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhouse.subagents import (
    Session,
    Snapshot,
    SnapshotRestoreError,
    SnapshotSerializationError,
    ToolData,
    append_all,
    immutable,
    snapshots,
)
from longhouse.subagents.codec import encode
from tests.subagents.kit import EPOCH, Board, Draft, Loose, Note, invoked, make_session


class Colour(StrEnum):
    RED = "red"


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass(slots=True, frozen=True)
class Everything:
    value: Any
    doubled: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if isinstance(self.value, int):
            object.__setattr__(self, "doubled", 2 * self.value)


@dataclass(slots=True, frozen=True)
class Strict:
    rank: int

    def __post_init__(self) -> None:
        if self.rank < 0:
            raise LookupError("rank below zero")


def test_a_naive_time_is_taken_as_utc() -> None:
    assert Snapshot(datetime(2030, 1, 1), {}).created_at == EPOCH  # noqa: DTZ001
    zoned = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert Snapshot(zoned, {}).created_at is zoned


def test_slices_become_tuples_that_nobody_can_change() -> None:
    source: dict[type, Any] = {Note: [Note("one")]}
    taken = Snapshot(EPOCH, source)
    source[Note].append(Note("two"))
    source[Board] = ()
    assert taken.slices == {Note: (Note("one"),)}
    with pytest.raises(TypeError):
        taken.slices[Note] = ()  # type: ignore[index]


@pytest.mark.parametrize(
    "slices, said",
    [
        ({"Note": ()}, "'Note' must be dataclasses"),
        ({int: ()}, "int must be dataclasses"),
        ({Note: ("text",)}, "item 0: str; a dataclass slice"),
        ({Draft: (Draft(),)}, "Draft holds a mutable Draft"),
        ({Loose: (Loose(["a"]),)}, "Loose.lines holds a list"),
    ],
)
def test_keys_and_values_that_cannot_be_kept_are_refused(slices: Any, said: str) -> None:
    with pytest.raises(SnapshotSerializationError, match=said) as refused:
        Snapshot(EPOCH, slices)
    assert str(refused.value).startswith("Unable to serialize session slices")


def test_equal_states_at_one_moment_are_equal_and_hash_alike() -> None:
    one = Snapshot(EPOCH, {Note: (Note("a"),), Board: ()})
    two = Snapshot(EPOCH, {Board: (), Note: (Note("a"),)})
    assert one == two
    assert hash(one) == hash(two)
    assert one != Snapshot(EPOCH, {Note: (Note("b"),), Board: ()})


def test_the_digest_names_the_state_and_not_the_moment() -> None:
    one = Snapshot(EPOCH, {Note: (Note("a"),)})
    later = Snapshot(EPOCH + timedelta(days=1), {Note: (Note("a"),)})
    assert one.digest() == later.digest()
    assert one.digest() != Snapshot(EPOCH, {Note: (Note("b"),)}).digest()
    assert len(one.digest()) == 64


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -7,
        10**30,
        1.5,
        float("inf"),
        "text \u00e9 \ud800",
        b"\x00\xff",
        Decimal("1.10"),
        UUID(int=7),
        datetime(2030, 1, 1, tzinfo=UTC),
        datetime(2030, 1, 1, 5, 6, 7, 8, tzinfo=timezone(timedelta(hours=-3))),
        date(2030, 1, 1),
        time(1, 2, 3),
        timedelta(days=-1, microseconds=5),
        Path("a/b"),
        PurePosixPath("/a"),
        PureWindowsPath("c:/a"),
        Colour.RED,
        Right.READ | Right.WRITE,
        (),
        (1, (2, (Note("deep"),))),
        frozenset({1, 2, (3,)}),
        Board((Note("a"), Note("b", 2))),
        Everything(Everything(4)),
    ],
)
def test_every_kind_of_value_that_may_enter_a_session_survives_json(value: object) -> None:
    taken = Snapshot(EPOCH, {Everything: (Everything(value),)})
    read = Snapshot.from_json(taken.to_json())
    assert read == taken
    assert hash(read) == hash(taken)
    (item,) = read.slices[Everything]
    assert type(item.value) is type(value)


def test_json_is_versioned_sorted_and_names_types() -> None:
    taken = Snapshot(EPOCH, {Note: (Note("a", 1),), Board: ()})
    assert json.loads(taken.to_json()) == {
        "version": "1",
        "created_at": "2030-01-01T00:00:00+00:00",
        "slices": [
            {
                "slice_type": "tests.subagents.kit:Board",
                "item_type": "tests.subagents.kit:Board",
                "items": [],
            },
            {
                "slice_type": "tests.subagents.kit:Note",
                "item_type": "tests.subagents.kit:Note",
                "items": [{"text": "a", "rank": 1}],
            },
        ],
    }
    assert taken.to_json().index('"created_at"') < taken.to_json().index('"slices"')


def test_a_snapshot_taken_after_any_tool_call_survives_json_and_hashing() -> None:
    session = make_session()
    session.register_reducer(Note, append_all)
    session.bus.publish(invoked("note", Note("one"), params=Board((Note("asked"),))))
    session.bus.publish(invoked("broken", success=False))
    session.bus.publish(invoked("opaque", object(), params={"a": object()}))
    session.bus.publish(invoked("draft", Draft(["line"]), params=Draft()))
    taken = session.snapshot()
    read = Snapshot.from_json(taken.to_json())
    assert (read, hash(read), read.digest()) == (taken, hash(taken), taken.digest())

    other = make_session()
    other.seed_slice(Note, ())
    other.seed_slice(ToolData, ())
    other.rollback(read)
    assert other.select_all(ToolData) == session.select_all(ToolData)
    assert len(other.select_all(ToolData)) == 4


def test_a_slice_of_several_types_is_captured_but_not_written() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("a"), Board()])
    taken = session.snapshot()
    with pytest.raises(SnapshotSerializationError, match=r"slice .*:Note mixes .*Board, .*Note"):
        taken.to_json()
    with pytest.raises(SnapshotSerializationError):
        taken.digest()


def test_a_value_that_json_has_no_way_to_write_is_an_error_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endless = Snapshot(EPOCH, {Everything: (Everything(10**5000),)})
    with pytest.raises(SnapshotSerializationError, match="Unable to serialize session slices"):
        endless.to_json()

    def too_deep(value: object) -> dict[str, object]:
        raise RecursionError("too deep")

    monkeypatch.setattr(snapshots, "encode_fields", too_deep)
    with pytest.raises(SnapshotSerializationError, match="too deep"):
        endless.to_json()


def test_classes_made_inside_a_function_are_read_back_when_they_are_given() -> None:
    @dataclass(slots=True, frozen=True)
    class Local:
        text: str

    taken = Snapshot(EPOCH, {Local: (Local("a"),)})
    with pytest.raises(SnapshotRestoreError, match="pass the class in types"):
        Snapshot.from_json(taken.to_json())
    assert Snapshot.from_json(taken.to_json(), types=[Local]) == taken


def _broken(**changes: Any) -> str:
    data: dict[str, Any] = {"version": "1", "created_at": EPOCH.isoformat(), "slices": []}
    return json.dumps({**data, **changes})


def _slice(**changes: Any) -> str:
    name = f"{__name__}:Strict"
    return _broken(slices=[{"slice_type": name, "item_type": name, "items": [], **changes}])


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "The snapshot is not JSON"),
        ("[]", "must be a JSON object"),
        (_broken(version="2"), "has version '2'; this library reads '1'"),
        (_broken(created_at=5), "created_at must be an ISO 8601 time"),
        (_broken(created_at="soon"), "created_at must be an ISO 8601 time"),
        (_broken(slices={}), "slices must be a list"),
        (_broken(slices=[3]), r"slices\[0\] must be an object"),
        (_slice(slice_type=3), r"slices\[0\].slice_type must be a string"),
        (_slice(item_type=None), r"slices\[0\].item_type must be a string"),
        (_slice(slice_type="no.such.module:Note"), "import its module first"),
        (_slice(slice_type="nonsense"), "is not a loaded dataclass"),
        (_slice(slice_type="tests.subagents.kit:Missing"), "is not a loaded dataclass"),
        (_slice(slice_type="json:dumps"), "is not a loaded dataclass"),
        (_slice(slice_type="builtins:int"), "is not a loaded dataclass"),
        (_slice(slice_type=f"{__name__}:Colour"), "is not a dataclass"),
        (_slice(items={}), r"slices\[0\].items must be a list"),
        (_slice(items=[3]), r"items\[0\]: the fields of .*Strict must be an object"),
        (_slice(items=[{}]), r"items\[0\]: .*missing 1 required"),
        (_slice(items=[{"rank": 1, "more": 2}]), r"items\[0\]: .*unexpected keyword"),
        (_slice(items=[{"rank": -1}]), r"items\[0\]: rank below zero"),
        (_slice(items=[{"rank": {"x": 1}}]), 'must have exactly the keys "\\$" and "v"'),
        ("[" * 100_000, "The snapshot is not JSON"),
        (_broken(slices=2 * json.loads(_slice())["slices"]), r"slices\[1\] repeats .*Strict"),
        (_slice(items=[{"rank": {"$": "uuid", "v": "?"}}]), r"items\[0\]"),
        (
            _slice(items=[{"rank": {"$": "tests.subagents.kit:Draft", "v": {}}}]),
            "Draft is not a frozen dataclass",
        ),
    ],
)
def test_json_that_does_not_read_says_where(text: str, said: str) -> None:
    with pytest.raises(SnapshotRestoreError, match=said):
        Snapshot.from_json(text)


@dataclass(frozen=True)
class Loosening:
    lines: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", list(self.lines))


def test_a_class_whose_constructor_loosens_what_it_gets_does_not_read() -> None:
    text = _slice(
        slice_type=f"{__name__}:Loosening",
        item_type=f"{__name__}:Loosening",
        items=[{"lines": ["a"]}],
    )
    with pytest.raises(SnapshotRestoreError, match=r"Loosening\.lines holds a list"):
        Snapshot.from_json(text)


def test_only_what_a_session_holds_can_be_written() -> None:
    with pytest.raises(TypeError, match="builtins:list is not a type that a session can hold"):
        encode([1])


def test_classes_made_at_run_time_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(immutable, "REMEMBERED", 0)
    assert immutable.field_names(type("Fresh", (), {})) is None
    assert immutable.field_names(Note) == ("text", "rank")
    assert immutable.field_names(type("Fresher", (), {})) is None
    assert len(immutable._known) == 1


def test_reading_never_imports_a_module() -> None:
    assert "this" not in sys.modules
    with pytest.raises(SnapshotRestoreError):
        Snapshot.from_json(_slice(slice_type="this:s"))
    assert "this" not in sys.modules


def test_reading_computes_no_attribute_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = ModuleType("lazy_module")
    asked: list[str] = []
    lazy.__getattr__ = asked.append  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_module", lazy)
    with pytest.raises(SnapshotRestoreError, match="is not a loaded dataclass"):
        Snapshot.from_json(_slice(slice_type="lazy_module:Thing.Inner"))
    assert asked == []


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.sampled_from([Colour.RED, *Right]),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.builds(Everything, inner),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(st.builds(Everything, values), max_size=4))
def test_any_state_a_session_accepts_survives_json_and_hashing(items: list[Everything]) -> None:
    session = Session()
    session.seed_slice(Everything, items)
    taken = session.snapshot()
    read = Snapshot.from_json(taken.to_json())
    assert (read, hash(read), read.to_json()) == (taken, hash(taken), taken.to_json())


class Mutable(Enum):
    HOLDS = ["a", "list"]


def test_an_enum_over_something_that_can_change_is_refused() -> None:
    with pytest.raises(SnapshotSerializationError, match="value holds a list"):
        Snapshot(EPOCH, {Everything: (Everything(Mutable.HOLDS),)})
