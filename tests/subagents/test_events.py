"""The bus, and what it reports about a delivery."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from longhouse.subagents import (
    InProcessEventBus,
    NullEventBus,
    PromptExecuted,
    PromptResponse,
    SessionClosedError,
    ToolInvoked,
    ToolResult,
)
from tests.subagents.kit import invoked


def test_the_null_bus_tells_nobody() -> None:
    bus, heard = NullEventBus(), list[object]()
    bus.subscribe(ToolInvoked, heard.append)
    result = bus.publish(invoked())
    assert (result.ok, result.handled_count, heard) == (True, 0, [])
    assert not bus.unsubscribe(ToolInvoked, heard.append)


def test_an_event_that_nobody_waits_for_is_delivered_well() -> None:
    event = invoked()
    result = InProcessEventBus().publish(event)
    assert result.ok
    assert result.event is event
    assert result.handlers_invoked == ()
    result.raise_if_errors()


def test_handlers_hear_in_the_order_of_subscription() -> None:
    bus, heard = InProcessEventBus(), list[str]()

    def listener(name: str) -> Callable[[ToolInvoked], None]:
        return lambda _: heard.append(name)

    for name in ("first", "second", "third"):
        bus.subscribe(ToolInvoked, listener(name))
    assert bus.publish(invoked()).handled_count == 3
    assert heard == ["first", "second", "third"]


def test_a_handler_that_fails_is_logged_and_reported_and_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, heard = InProcessEventBus(), list[object]()

    def broken(event: ToolInvoked) -> None:
        raise LookupError("no such page")

    bus.subscribe(ToolInvoked, broken)
    bus.subscribe(ToolInvoked, heard.append)
    with caplog.at_level(logging.ERROR):
        result = bus.publish(invoked())
    assert len(heard) == 1
    assert not result.ok
    (failure,) = result.errors
    assert failure.handler is broken
    assert str(failure) == f"{broken!r} -> LookupError('no such page')"
    assert "of ToolInvoked failed" in caplog.text
    with pytest.raises(ExceptionGroup) as raised:
        result.raise_if_errors()
    assert [type(error) for error in raised.value.exceptions] == [LookupError]


def test_an_event_goes_only_to_handlers_of_its_exact_type() -> None:
    bus, heard = InProcessEventBus(), list[object]()
    bus.subscribe(PromptExecuted, heard.append)
    bus.publish(invoked())
    assert heard == []


def test_a_handler_is_removed_once_for_each_time_it_was_added() -> None:
    bus, heard = InProcessEventBus(), list[object]()
    bus.subscribe(ToolInvoked, heard.append)  # two bound methods that are equal, not identical
    bus.subscribe(ToolInvoked, heard.append)
    assert bus.unsubscribe(ToolInvoked, heard.append)
    bus.publish(invoked())
    assert len(heard) == 1
    assert bus.unsubscribe(ToolInvoked, heard.append)
    assert not bus.unsubscribe(ToolInvoked, heard.append)
    assert bus.listeners(ToolInvoked) == 0


def test_a_handler_may_unsubscribe_while_it_hears() -> None:
    bus, heard = InProcessEventBus(), list[str]()

    def once(event: ToolInvoked) -> None:
        bus.unsubscribe(ToolInvoked, once)
        heard.append("once")

    bus.subscribe(ToolInvoked, once)
    bus.subscribe(ToolInvoked, lambda _: heard.append("always"))
    bus.publish(invoked())
    bus.publish(invoked())
    assert heard == ["once", "always", "always"]


def test_a_closed_bus_tells_nobody_and_takes_nobody() -> None:
    bus, heard = InProcessEventBus(), list[object]()
    bus.subscribe(ToolInvoked, heard.append)
    bus.close()
    assert bus.publish(invoked()).handled_count == 0
    with pytest.raises(SessionClosedError, match="closed with its session"):
        bus.subscribe(ToolInvoked, heard.append)


def test_subscribing_from_many_threads_loses_nobody() -> None:
    bus = InProcessEventBus()
    start = threading.Barrier(8)

    def subscribe() -> None:
        start.wait(60)
        for _ in range(50):
            bus.subscribe(ToolInvoked, lambda _: None)

    threads = [threading.Thread(target=subscribe) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert bus.listeners(ToolInvoked) == 400


def test_events_are_frozen_and_carry_the_call_and_its_result() -> None:
    event = ToolInvoked("team/lead", "test", "search", {"q": 1}, ToolResult("ok", None), "call-1")
    assert (event.prompt_name, event.adapter, event.name) == ("team/lead", "test", "search")
    assert event.call_id == "call-1"
    executed = PromptExecuted("team/lead", "test", PromptResponse("team/lead", "text"))
    assert executed.result.output is None
    with pytest.raises(FrozenInstanceError):
        event.name = "other"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        event.result.success = False  # type: ignore[misc]
