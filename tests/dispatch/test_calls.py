"""Calls from threads and from event loops get the same answers, including errors."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller, ClientSession, dispatcher
from longhouse.kernel.registry import Role
from longhouse.kernel.tool_tasks import task_folder
from longhouse.store.database import LONG, QUICK
from tests.kit import Lh
from tests.processes.kit import Runner, ended, out, running, spawned

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("vcs", {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "x"}}),
    ("docs", {"op": "show", "args": {"doc_kind": "notes"}}),
    ("docs", {"op": "show", "args": {"limit": 0}}),
    ("docs", {"op": "nope"}),
    ("show", {}),
    ("open", {"id": "JOB-404", "fmt": "lines"}),
]


@pytest.mark.anyio
async def test_an_event_loop_gets_the_answers_that_a_thread_gets(lh: Lh) -> None:
    way_in = lh.house.dispatcher
    lh("vcs.notes.commit", content="first")
    for tool, arguments in CALLS:
        caller = Caller(Role.OPERATOR, session=ClientSession())
        awaited = await way_in.portal_async(tool, arguments, caller)
        waited = way_in.portal(tool, arguments, caller)
        assert (awaited.code, awaited.status, awaited.text) == (
            waited.code,
            waited.status,
            waited.text,
        )
        if not arguments.get("cmd"):
            assert awaited.envelope == waited.envelope


@pytest.mark.anyio
async def test_an_event_loop_carries_out_a_command_by_its_name(lh: Lh) -> None:
    answer = await lh.house.dispatcher.call_async("status", {}, Caller(Role.VIEWER))
    assert answer.envelope["intent"] == "status"
    wrong = await lh.house.dispatcher.call_async("statsu", {}, Caller(Role.VIEWER))
    assert wrong.code == "UNKNOWN_CMD"
    assert "'status'" in wrong.envelope["error"]["recovery"]


@pytest.mark.anyio
async def test_bytes_that_a_write_stores_ahead_may_take_their_time(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long read would have been given up."""
    monkeypatch.setattr("longhouse.store.database.LONG", LONG._replace(seconds=-1.0))
    text = "much output\n" * (QUICK.units // 8)
    runner, task = Runner(lh), spawned(lh)
    runner.claim()
    runner.append(task, running(), out(0, "much"), ended())
    folder = task_folder(lh.house.settings.dir, "acme", task)
    folder.mkdir(parents=True)
    (folder / "stdout.log").write_text(text)
    args = {"task_id": task, "workspace": "acme"}
    call = lh.house.dispatcher.call_async
    answer = await call("tool.output_store", args, Caller(Role.OPERATOR))
    assert answer.success, answer.envelope["error"]
    assert answer.envelope["result"]["bytes"] == len(text)


@pytest.mark.anyio
async def test_a_local_read_runs_at_once_unless_it_is_too_much_work_for_the_loop(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, handed_over = lh.house.db, []
    apart = db.apart

    async def spied(owner: str, *rest: Any, **more: Any) -> Any:
        handed_over.append(owner)
        return await apart(owner, *rest, **more)

    async def look() -> int:
        handed_over.clear()
        answer = await lh.house.dispatcher.call_async("status", {}, Caller(Role.VIEWER))
        assert answer.success
        return len(handed_over)

    monkeypatch.setattr(db, "apart", spied)
    elsewhere = 0 if db.engine.local else 1
    assert [await look(), await look()] == [elsewhere, elsewhere]
    monkeypatch.setattr(dispatcher, "LOOP_UNITS", -1)
    assert [await look(), await look()] == [1, 1]
    monkeypatch.setattr(dispatcher, "LOOP_UNITS", 256 * 1024)
    assert [await look(), await look()] == [1, elsewhere]


def test_the_actor_is_the_agent_named_then_the_caller_then_the_configured_one(lh: Lh) -> None:
    caller = Caller(Role.AGENT, name="token-holder")
    lh.house.call("vcs.notes.commit", {"content": "x", "agent_id": "agent-7"}, caller)
    lh.house.call("vcs.notes.commit", {"content": "y"}, caller)
    wrong = lh.house.call("vcs.notes.commit", {"content": "z", "agent_id": "a b"}, caller)
    assert wrong.code == "INVALID_INPUT"
    assert wrong.envelope["error"]["message"].startswith("agent_id: expected text like ")


@pytest.mark.anyio
async def test_a_call_that_waits_looks_again_only_when_something_has_moved(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    way_in, sleeps = lh.house.dispatcher, []
    sleep = way_in._moved

    async def counted(*args: Any) -> None:
        sleeps.append(args)
        await sleep(*args)

    monkeypatch.setattr(way_in, "_moved", counted)
    lh("jobs.create", title="Wait", prompt="for me")
    asked = {"job": "JOB-001", "until": "end", "timeout_ms": 50}
    answer = await way_in.call_async("jobs.wait", asked, Caller(Role.OPERATOR))
    assert answer.envelope["result"]["timed_out"]
    assert len(sleeps) <= 2
