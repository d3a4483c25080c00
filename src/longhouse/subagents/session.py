"""A session: state in slices by type, changed only by reducers, and forked for children.

Invariants: every value in a slice is immutable (see `immutable`), and the two dicts of a session
are replaced, never changed in place. So a snapshot is just a reference, a fork shares everything it
inherits, and a parent never sees what a child changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from longhouse.subagents.errors import (
    ReducerErrors,
    SessionClosedError,
    SnapshotRestoreError,
)
from longhouse.subagents.events import (
    EventBus,
    InProcessEventBus,
    NullEventBus,
    PromptExecuted,
    ToolInvoked,
)
from longhouse.subagents.intake import prompt_data, tool_data
from longhouse.subagents.limits import Limits
from longhouse.subagents.reducers import (
    DataEvent,
    Reducer,
    ToolData,
    append_all,
    append_call,
)
from longhouse.subagents.scope import Scope
from longhouse.subagents.slices import check_values
from longhouse.subagents.snapshots import Snapshot

if TYPE_CHECKING:
    from longhouse.subagents.tools import Tool

__all__ = ["Registration", "Session"]

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class Registration:
    """A reducer and the slice it writes."""

    reducer: Reducer
    slice_type: type[Any]


class Session:
    """Slices of state, fed by one bus, with a scope of its own.

    Meant to be driven by one loop at a time; individual calls are safe from any thread.
    """

    __slots__ = (
        "__weakref__",
        "_bus",
        "_closed",
        "_created_at",
        "_forked",
        "_lock",
        "_reducers",
        "_scope",
        "_session_id",
        "_state",
    )

    def __init__(
        self,
        *,
        bus: EventBus | None = None,
        session_id: str | None = None,
        created_at: str | None = None,
        scope: Scope | None = None,
    ) -> None:
        self._session_id = session_id
        self._created_at = created_at
        self._bus: EventBus = NullEventBus() if bus is None else bus
        self._scope = Scope() if scope is None else scope
        self._reducers: dict[type[Any], tuple[Registration, ...]] = {}
        self._state: dict[type[Any], tuple[Any, ...]] = {}
        self._lock = threading.RLock()
        self._closed = False
        self._forked = False
        self._bus.subscribe(ToolInvoked, self._on_tool_invoked)
        self._bus.subscribe(PromptExecuted, self._on_prompt_executed)

    @property
    def session_id(self) -> str | None:
        return self._session_id

    @property
    def created_at(self) -> str | None:
        return self._created_at

    @property
    def bus(self) -> EventBus:
        return self._bus

    @property
    def scope(self) -> Scope:
        """What this session may use, and its place in the dispatch tree."""
        return self._scope

    # ------------------------------------------------------------------------------ state

    def register_reducer(
        self, data_type: type[Any], reducer: Reducer, *, slice_type: type[Any] | None = None
    ) -> None:
        """Run `reducer` for events of `data_type`; registering it again has no effect."""
        registration = Registration(reducer, data_type if slice_type is None else slice_type)
        with self._lock:
            self._require_open()
            present = self._reducers.get(data_type, ())
            if registration not in present:
                self._reducers = {**self._reducers, data_type: (*present, registration)}
            if registration.slice_type not in self._state:
                self._state = {**self._state, registration.slice_type: ()}

    def registrations(self, data_type: type[Any]) -> tuple[Registration, ...]:
        """The reducers of a type, in the order they run."""
        self._require_open()
        return self._reducers.get(data_type, ())

    def slice_types(self) -> frozenset[type[Any]]:
        self._require_open()
        return frozenset(self._state)

    def select_all(self, slice_type: type[T]) -> tuple[T, ...]:
        self._require_open()
        return self._state.get(slice_type, ())

    def seed_slice(self, slice_type: type[T], values: Iterable[T]) -> None:
        """Replace a whole slice, without reducers."""
        seeds = tuple(values)
        check_values(slice_type, seeds)
        with self._lock:
            self._require_open()
            self._state = {**self._state, slice_type: seeds}

    def seed_if_absent(self, slice_type: type[T], values: Iterable[T]) -> bool:
        """Seed a slice only if it does not exist yet; an inherited slice is left alone."""
        with self._lock:
            self._require_open()
            if slice_type in self._state:
                return False
            self.seed_slice(slice_type, values)
            return True

    # -------------------------------------------------------------------------- snapshots

    def snapshot(self) -> Snapshot:
        self._require_open()
        return Snapshot.of_session(self._scope.clock.now(), self._state)

    def rollback(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot; slices it does not have become empty. Sends no event."""
        with self._lock:
            self._require_open()
            if not snapshot.slices.keys() <= self._state.keys():
                unknown = snapshot.slices.keys() - self._state.keys()
                names = ", ".join(sorted(kind.__qualname__ for kind in unknown))
                raise SnapshotRestoreError(
                    f"The snapshot has slices that are not registered here: {names}. Register "
                    "reducers for them or seed them first."
                )
            self._state = {**dict.fromkeys(self._state, ()), **snapshot.slices}

    def restore_point(self) -> Callable[[], None]:
        """Remember the current state, serializable or not; calling the result restores it."""
        self._require_open()
        remembered = self._state

        def restore() -> None:
            with self._lock:
                self._require_open()
                self._state = {**dict.fromkeys(self._state, ()), **remembered}

        return restore

    # ---------------------------------------------------------------------- fork and close

    def fork(
        self,
        *,
        snapshot: Snapshot | None = None,
        limits: Limits | None = None,
        tools: tuple[Tool[Any, Any], ...] = (),
        dispatch_id: str | None = None,
    ) -> Session:
        """A child with its own bus and the same reducers, slices and values.

        It has this session's id and creation time; `child.scope` identifies the child. It ends
        with its parent at the latest.
        """
        self._require_open()
        seeds = self.snapshot() if snapshot is None else snapshot
        scope = self._scope.open_child(limits or Limits(), tools=tools, dispatch_id=dispatch_id)
        child = Session(
            bus=InProcessEventBus(),
            session_id=self._session_id,
            created_at=self._created_at,
            scope=scope,
        )
        child._forked = True
        try:
            child._reducers = self._reducers
            child._state = self._state
            child.rollback(seeds)
        except BaseException:
            child.close()
            raise
        return child

    @property
    def closed(self) -> bool:
        return self._closed or self._scope.ended

    def close(self) -> None:
        """End the session with its listeners, state and children. Safe to call again.

        Takes no session lock, so a reducer that hangs in another thread cannot block it.
        """
        if self._closed:
            return
        self._closed = True
        if self._forked and isinstance(self._bus, InProcessEventBus):
            self._bus.close()
        else:
            self._bus.unsubscribe(ToolInvoked, self._on_tool_invoked)
            self._bus.unsubscribe(PromptExecuted, self._on_prompt_executed)
        self._scope.end()
        self._reducers = {}
        self._state = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._closed or self._scope.ended:
            raise SessionClosedError(
                "This session is closed: what a child should return belongs in its result."
            )

    # ----------------------------------------------------------------------------- events

    def _on_tool_invoked(self, event: ToolInvoked) -> None:
        data, refusal = tool_data(event)
        errors: list[Exception] = [] if refusal is None else [refusal]
        self._reduce(ToolData, data, errors)
        if data.value is not None:
            self._reduce(type(data.value), data, errors)
        _raise_together(errors)

    def _on_prompt_executed(self, event: PromptExecuted) -> None:
        errors: list[Exception] = []
        for data in prompt_data(event):
            self._reduce(type(data.value), data, errors)
        _raise_together(errors)

    def _reduce(self, data_type: type[Any], event: DataEvent, errors: list[Exception]) -> None:
        """Run every reducer of a type; a failure leaves its slice unchanged and stops no other."""
        default = append_call if data_type is ToolData else append_all
        registrations = self._reducers.get(data_type) or (Registration(default, data_type),)
        for registration in registrations:
            try:
                self._apply(registration, event)
            except Exception as error:
                error.add_note(f"in a reducer of slice {registration.slice_type.__qualname__}")
                errors.append(error)

    def _apply(self, registration: Registration, event: DataEvent) -> None:
        slice_type = registration.slice_type
        with self._lock:
            self._require_open()
            before = self._state.get(slice_type, ())
            after = tuple(registration.reducer(before, event))
            check_values(slice_type, after, known=before)
            self._require_open()
            if self._state.get(slice_type, ()) is not before:
                raise RuntimeError(
                    f"slice {slice_type.__qualname__} was written while its reducer ran; a reducer "
                    "must only return the next values"
                )
            self._state = {**self._state, slice_type: after}


def _raise_together(errors: list[Exception]) -> None:
    if errors:
        raise ReducerErrors("the session could not fully apply an event", errors)
