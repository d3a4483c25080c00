"""The key that a bridge adds to a write is the bridge's own: no answer speaks of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from longhouse.client.catalog import new_key
from longhouse.kernel.envelope import MADE_KEY
from tests.surfaces.bridge.kit import HELLO, Bridge

START = {"task_title": "Search is slow", "steps": ["Profile the query", "Add the index"]}


@pytest.fixture
def client(bridge: Callable[..., Bridge]) -> Bridge:
    client = bridge()
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    return client


def test_a_write_that_was_called_by_its_names_teaches_nothing(client: Bridge) -> None:
    done, _ = client.call("tasks", op="call", cmd="tasks.macro.start", args=START)
    assert done["success"]
    assert "warnings" not in done
    assert len(str(done)) <= 600


def test_a_refused_write_offers_a_call_without_the_key(client: Bridge) -> None:
    client.call("tasks", op="call", cmd="tasks.macro.start", args=START)
    call = {"op": "call", "cmd": "tasks.edit", "args": {"task": "TASK-001", "priority": "urgent"}}
    refused, _ = client.call("tasks", **call)
    assert "idempotency_key" not in str(refused)
    (offer,) = refused["actions"]
    assert client.call(offer["tool"], **offer["args"])[0]["result"]["task"]["priority"] == "HIGH"
    missing, _ = client.call("tasks", op="call", cmd="tasks.note", args={"path": "first"})
    assert "idempotency_key" not in str(missing)
    assert new_key().startswith(MADE_KEY)


def test_a_read_in_other_words_that_names_a_write_gets_no_key(client: Bridge) -> None:
    shown, failed = client.call("system", op="schema", cmd="jobs.create")
    assert not failed, shown
    assert shown["result"]["cmd"] == "jobs.create"
