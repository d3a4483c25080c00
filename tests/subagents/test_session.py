"""Slices, reducers, selectors, forks and the end of a session."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from longhouse.subagents import (
    DataEvent,
    DispatchCancelled,
    InProcessEventBus,
    PromptExecuted,
    PromptResponse,
    ReducerErrors,
    Session,
    SessionClosedError,
    SliceValueError,
    Snapshot,
    SnapshotRestoreError,
    SnapshotSerializationError,
    ToolData,
    ToolInvoked,
    append,
    append_all,
    replace_latest,
    select_all,
    select_latest,
    select_where,
    upsert_by,
)
from longhouse.subagents.reducers import PromptData, append_call
from tests.subagents.kit import Board, Draft, Loose, Note, invoked, make_session


@dataclass(slots=True, frozen=True)
class Copies(Note):
    """A slice for notes of another reducer."""


def executed(output: object) -> PromptExecuted:
    return PromptExecuted("team/lead", "test", PromptResponse("team/lead", "text", output))


# ------------------------------------------------------------------------------------ events


def test_the_payload_of_a_tool_call_is_appended_once_and_the_call_is_kept() -> None:
    session = make_session()
    event = invoked("note", Note("one"))
    assert session.bus.publish(event).ok
    assert session.select_all(Note) == (Note("one"),)
    assert session.select_all(ToolData) == (ToolData(Note("one"), event),)


def test_equal_payloads_are_all_kept_by_default() -> None:
    session = make_session()
    for _ in range(2):
        session.bus.publish(invoked("note", Note("same")))
    assert session.select_all(Note) == (Note("same"), Note("same"))


def test_a_failed_call_is_kept_as_a_call_and_touches_no_other_slice() -> None:
    session = make_session()
    session.bus.publish(invoked("note", success=False))
    (kept,) = session.select_all(ToolData)
    assert kept.value is None
    assert not kept.source.result.success
    assert session.slice_types() == {ToolData}


@pytest.mark.parametrize("value", ["text", 3, ["a", "list"], {"a": 1}, object(), Note])
def test_a_payload_that_is_no_dataclass_instance_is_left_out(value: object) -> None:
    session = make_session()
    assert session.bus.publish(invoked("tool", value)).ok
    (kept,) = session.select_all(ToolData)
    assert (kept.value, kept.source.result.message) == (None, "ok")
    assert session.slice_types() == {ToolData}


@pytest.mark.parametrize(
    "output, kept",
    [
        (Note("one"), (Note("one"),)),
        ([Note("one"), Note("two")], (Note("one"), Note("two"))),
        ((Note("one"), "text", 3), (Note("one"),)),
        ("text", ()),
        (b"bytes", ()),
        (None, ()),
        (Note, ()),
    ],
)
def test_dataclasses_in_the_output_of_a_prompt_are_appended(
    output: object, kept: tuple[Note, ...]
) -> None:
    session = make_session()
    session.bus.publish(executed(output))
    assert session.select_all(Note) == kept
    assert session.select_all(ToolData) == ()


def test_what_keeps_tool_calls_ignores_the_data_of_prompts() -> None:
    assert append_call((), PromptData(Note("one"), executed(Note("one")))) == ()


def test_without_a_bus_a_session_hears_nothing_and_still_holds_state() -> None:
    session = Session()
    session.bus.publish(invoked("note", Note("one")))
    session.seed_slice(Note, [Note("two")])
    assert session.select_all(Note) == (Note("two"),)
    assert (session.session_id, session.created_at) == (None, None)


# ---------------------------------------------------------------------------------- reducers


def test_reducers_run_in_the_order_of_registration_and_each_sees_what_the_last_left() -> None:
    session = make_session()

    def double(values: tuple[Note, ...], event: DataEvent) -> Iterable[Note]:
        return [*values, *values]

    session.register_reducer(Note, append_all)
    session.register_reducer(Note, double)
    session.bus.publish(invoked("note", Note("one")))
    assert session.select_all(Note) == (Note("one"), Note("one"))


def test_registering_the_same_reducer_again_changes_nothing() -> None:
    session = make_session()

    def rank(note: Note) -> int:
        return note.rank

    for _ in range(3):
        session.register_reducer(Note, append_all)
        session.register_reducer(Note, upsert_by(rank), slice_type=Board)
    assert [one.slice_type for one in session.registrations(Note)] == [Note, Board]


def test_a_reducer_may_write_another_slice() -> None:
    session = make_session()

    def pin(values: tuple[Board, ...], event: DataEvent) -> Iterable[Board]:
        (board,) = values or (Board(),)
        return (Board((*board.notes, event.value)),)

    session.register_reducer(Note, pin, slice_type=Board)
    assert session.select_all(Board) == ()
    assert Board in session.slice_types()
    session.bus.publish(invoked("note", Note("one")))
    assert session.select_all(Board) == (Board((Note("one"),)),)
    assert session.select_all(Note) == ()


def test_upsert_replaces_the_first_of_its_key_drops_the_others_and_else_appends() -> None:
    session = make_session()
    session.register_reducer(Note, upsert_by(lambda note: note.rank))
    session.seed_slice(Note, [Note("a", 1), Note("b", 2), Note("c", 1)])
    session.bus.publish(invoked("note", Note("new", 1)))
    session.bus.publish(invoked("note", Note("last", 3)))
    assert session.select_all(Note) == (Note("new", 1), Note("b", 2), Note("last", 3))


def test_replace_latest_keeps_one_value_and_append_keeps_equals_once() -> None:
    session = make_session()
    session.register_reducer(Note, replace_latest)
    session.register_reducer(Note, append, slice_type=Copies)
    for text in ("one", "two", "two"):
        session.bus.publish(invoked("note", Note(text)))
    assert session.select_all(Note) == (Note("two"),)
    assert session.select_all(Copies) == (Note("one"), Note("two"))


def test_a_reducer_that_fails_leaves_its_slice_stops_no_other_and_is_reported() -> None:
    session = make_session()

    def broken(values: tuple[Note, ...], event: DataEvent) -> Iterable[Note]:
        raise ValueError("cannot count")

    session.register_reducer(Note, broken)
    session.register_reducer(Note, append_all, slice_type=Copies)
    session.seed_slice(Note, [Note("one")])
    result = session.bus.publish(invoked("note", Note("two")))
    assert session.select_all(Note) == (Note("one"),)
    assert session.select_all(Copies) == (Note("two"),)
    (failure,) = result.errors
    assert isinstance(failure.error, ReducerErrors)
    (error,) = failure.error.exceptions
    assert (str(error), error.__notes__) == ("cannot count", ["in a reducer of slice Note"])


def test_the_errors_of_reducers_can_be_split_by_kind() -> None:
    group = ReducerErrors("two", [ValueError("a"), KeyError("b")])
    match, rest = group.split(KeyError)
    assert isinstance(match, ReducerErrors)
    assert isinstance(rest, ReducerErrors)


def test_a_reducer_that_writes_its_slice_behind_its_back_is_refused() -> None:
    session = make_session()

    def meddler(values: tuple[Note, ...], event: DataEvent) -> Iterable[Note]:
        session.seed_slice(Note, [Note("meddled")])
        return (*values, event.value)

    session.register_reducer(Note, meddler)
    result = session.bus.publish(invoked("note", Note("one")))
    assert not result.ok
    assert session.select_all(Note) == (Note("meddled"),)


def test_a_reducer_that_closes_its_session_leaves_it_closed() -> None:
    session = make_session()

    def closer(values: tuple[Note, ...], event: DataEvent) -> Iterable[Note]:
        session.close()
        return (event.value,)

    session.register_reducer(Note, closer)
    assert not session.bus.publish(invoked("note", Note("one"))).ok
    assert session.closed


# ------------------------------------------------------------------------------- only frozen


@dataclass(frozen=True)
class Base:
    text: str = ""


class Plain(Base):
    """A subclass without @dataclass accepts new attributes although its base is frozen."""


@dataclass(unsafe_hash=True)
class Hashable:
    text: str


@dataclass(frozen=True)
class Caching:
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "cache", {})


@pytest.mark.proves("SUB-026")
@pytest.mark.parametrize(
    "value, said",
    [
        (Draft(), "Draft holds a mutable Draft"),
        (Loose(["a"]), "Loose.lines holds a list"),
        (Board((Note("ok"), Draft())), r"Board.notes\[1\] holds a mutable Draft"),  # type: ignore[arg-type]
        (Note(bytearray(b"x")), "Note.text holds a bytearray"),  # type: ignore[arg-type]
        (Note("x", rank=frozenset({(Base, 1)})), r"rank\[0\] holds a type"),  # type: ignore[arg-type]
        (Plain(), "Plain holds a mutable Plain"),
        (Hashable("x"), "Hashable holds a mutable Hashable"),
        (object.__new__(Note), "Note.text was never set"),
        (Caching("x"), "Caching.cache holds a dict"),
        ("text", "item 0: str; a dataclass slice holds dataclass instances"),
    ],
)
def test_a_value_that_can_change_may_not_enter_a_session(value: Any, said: str) -> None:
    session = make_session()
    with pytest.raises(SliceValueError, match=said):
        session.seed_slice(type(value) if not isinstance(value, str) else Note, [value])
    assert session.slice_types() == frozenset()


@pytest.mark.proves("SUB-026")
@pytest.mark.parametrize("payload", [Draft(["a"]), Loose(["a"])])
def test_a_payload_that_can_change_is_reported_and_only_the_call_is_kept(payload: object) -> None:
    session = make_session()
    result = session.bus.publish(invoked("draft", payload, params=payload))
    assert not result.ok
    assert "tool draft returned" in str(result.errors[0].error.exceptions[0])  # type: ignore[attr-defined]
    (kept,) = session.select_all(ToolData)
    assert (kept.value, kept.source.params, kept.source.result.value) == (None, None, None)
    assert session.slice_types() == {ToolData}


def test_a_reducer_that_makes_something_that_can_change_is_refused() -> None:
    session = make_session()
    session.register_reducer(Note, lambda *_: [Loose([])], slice_type=Loose)
    assert not session.bus.publish(invoked("note", Note("one"))).ok
    assert session.select_all(Loose) == ()


def test_a_value_nested_without_end_is_refused() -> None:
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(SliceValueError, match="nested too deeply"):
        make_session().seed_slice(Note, [Note(deep)])


# ---------------------------------------------------------------------------------- reading


def test_selectors_read_all_the_latest_and_those_that_match() -> None:
    session = make_session()
    notes = (Note("a", 1), Note("b", 2), Note("c", 2))
    assert (select_all(session, Note), select_latest(session, Note)) == ((), None)
    session.seed_slice(Note, notes)
    assert select_all(session, Note) == notes
    assert select_latest(session, Note) == notes[-1]
    assert select_where(session, Note, lambda note: note.rank == 2) == notes[1:]


def test_seeding_replaces_a_slice_and_seeding_if_absent_leaves_one_that_is_there() -> None:
    session = make_session()
    assert session.seed_if_absent(Note, [Note("first")])
    assert not session.seed_if_absent(Note, [Note("second")])
    assert session.select_all(Note) == (Note("first"),)
    session.seed_slice(Note, ())
    assert not session.seed_if_absent(Note, [Note("third")])
    assert session.select_all(Note) == ()


# -------------------------------------------------------------------------------- snapshots


def test_rolling_back_restores_every_slice_empties_those_unknown_then_and_sends_nothing() -> None:
    session = make_session()
    session.register_reducer(Note, append_all)
    session.bus.publish(invoked("note", Note("one")))
    taken = session.snapshot()
    session.seed_slice(Board, [Board()])
    session.bus.publish(invoked("note", Note("two")))
    heard: list[object] = []
    session.bus.subscribe(ToolInvoked, heard.append)
    session.rollback(taken)
    assert session.select_all(Note) == (Note("one"),)
    assert session.select_all(Board) == ()
    assert heard == []
    session.bus.publish(invoked("note", Note("three")))
    assert session.select_all(Note) == (Note("one"), Note("three"))


def test_a_snapshot_with_unknown_slices_is_refused_and_changes_nothing() -> None:
    session, other = make_session(), make_session()
    session.seed_slice(Note, [Note("one")])
    other.seed_slice(Note, [Note("other")])
    other.seed_slice(Board, [Board()])
    with pytest.raises(SnapshotRestoreError, match="not registered here: Board"):
        session.rollback(other.snapshot())
    assert session.select_all(Note) == (Note("one"),)


def test_a_slice_that_is_no_dataclass_can_be_held_but_not_captured() -> None:
    session = make_session()
    session.seed_slice(int, [1, 2])
    assert session.select_all(int) == (1, 2)
    with pytest.raises(SnapshotSerializationError, match="Unable to serialize session slices: int"):
        session.snapshot()
    assert session.select_all(int) == (1, 2)


def test_a_snapshot_does_not_see_what_happens_later() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    taken = session.snapshot()
    session.seed_slice(Note, [Note("two")])
    assert taken.slices[Note] == (Note("one"),)
    with pytest.raises(TypeError):
        taken.slices[Note] = ()  # type: ignore[index]


def test_a_restore_point_brings_back_any_state_and_keeps_slices_known() -> None:
    session = make_session()
    session.seed_slice(int, [1])
    restore = session.restore_point()
    session.seed_slice(int, [2])
    session.seed_slice(Note, [Note("new")])
    restore()
    assert session.select_all(int) == (1,)
    assert session.select_all(Note) == ()
    assert session.slice_types() == {int, Note}


# ----------------------------------------------------------------------------- fork and close


@pytest.mark.proves("SUB-021", "SUB-032", "SUB-033", "SUB-040")
def test_a_fork_has_the_same_slices_reducers_and_values_as_its_parent() -> None:
    session = make_session()
    session.register_reducer(Note, append_all, slice_type=Copies)
    session.register_reducer(Note, replace_latest)
    session.bus.publish(invoked("note", Note("one")))
    with session.fork() as child:
        assert child.snapshot().slices == session.snapshot().slices
        assert child.registrations(Note) == session.registrations(Note)
        assert (child.session_id, child.created_at) == (session.session_id, session.created_at)
        assert child.bus is not session.bus
        child.bus.publish(invoked("note", Note("two")))
        assert child.select_all(Copies) == (Note("one"), Note("two"))
        assert session.select_all(Copies) == (Note("one"),)
    assert child.closed
    assert not session.closed


@pytest.mark.proves("SUB-021", "SUB-033")
def test_a_fork_copies_registrations_by_type_and_pre_seeds_slices_of_any_type() -> None:
    session = make_session()
    session.register_reducer(Note, append_all, slice_type=str)
    session.seed_slice(int, [1])
    empty = Snapshot(datetime(2030, 1, 1, tzinfo=UTC), {})
    with session.fork(snapshot=empty) as child:
        (registration,) = child.registrations(Note)
        assert registration.slice_type is str
        assert child.slice_types() == {str, int}


@pytest.mark.proves("SUB-024")
def test_a_fork_that_cannot_be_hydrated_leaves_nothing_behind() -> None:
    session, other = make_session(), make_session()
    other.seed_slice(Board, ())
    with pytest.raises(SnapshotRestoreError):
        session.fork(snapshot=other.snapshot())
    assert session.scope.live == ()


@pytest.mark.proves("SUB-024")
def test_a_session_ends_with_its_parent() -> None:
    session = make_session()
    child = session.fork()
    grandchild = child.fork()
    child.close()
    assert grandchild.closed
    with pytest.raises(SessionClosedError, match="belongs in its result"):
        grandchild.select_all(Note)
    with pytest.raises(DispatchCancelled, match="the parent session has ended"):
        grandchild.scope.check()
    with pytest.raises(DispatchCancelled, match="the session has ended"):
        child.scope.check()
    assert not session.closed


def test_closing_leaves_a_shared_bus_to_the_others_and_may_be_repeated() -> None:
    bus, heard = InProcessEventBus(), list[object]()
    session = Session(bus=bus)
    bus.subscribe(ToolInvoked, heard.append)
    session.close()
    session.close()
    assert bus.listeners(ToolInvoked) == 1
    assert bus.publish(invoked()).ok
    assert len(heard) == 1


@pytest.mark.proves("SUB-002", "SUB-024")
def test_a_closed_child_is_held_by_nothing() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    gc.disable()
    try:
        with session.fork() as child:
            child.bus.publish(invoked("note", Note("two")))
            held = weakref.ref(child)
        del child
        assert held() is None
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Seen:
    text: str


@pytest.mark.proves("SUB-002")
def test_a_closed_child_holds_no_state_even_if_a_runner_keeps_it() -> None:
    with make_session().fork() as child:
        child.seed_slice(Seen, [Seen("of the child")])
        (value,) = child.select_all(Seen)
        kept = weakref.ref(value)
        del value
        assert kept() is not None
    gc.collect()
    assert (child.closed, kept()) == (True, None)
