"""The attacker has an agent's token, and wants every other caller to wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.dispatch import Caller, answers
from longhouse.dispatch import dispatcher as dispatching
from longhouse.dispatch.dispatcher import LOOP_UNITS
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.processes import calling
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.database import LONG, QUICK, Database
from longhouse.store.maintenance import run_once
from longhouse.store.tx import Tx
from longhouse.surfaces.http import calls, feed, limits
from longhouse.surfaces.http.access import Tokens
from tests.kit import Lh, ManualClock
from tests.processes.kit import allow
from tests.processes.test_belonging import loop
from tests.security.test_listening_after_revocation import Request, _web

PATIENCE_S = 20
BUSY = "TOK-busy"


class Siege:
    """One token's reads, which hold every thread that it can get, and many more that wait."""

    def __init__(self, db: Database) -> None:
        self._go = threading.Event()
        self._db = db
        self._held = [
            asyncio.ensure_future(db.apart(BUSY, self._hold, way))
            for way in (QUICK, LONG)
            for _ in range(60)
        ]

    def _hold(self) -> None:
        assert self._go.wait(PATIENCE_S)

    async def end(self) -> None:
        self._go.set()
        await asyncio.gather(*self._held)


class Threads:
    """Which threads ran a function, by replacing it with one that notes them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.ran_in: list[int] = []
        before = getattr(owner, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            self.ran_in.append(threading.get_ident())
            return before(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    @property
    def in_loop(self) -> bool:
        assert self.ran_in
        return threading.get_ident() in self.ran_in


async def test_tokens_are_checked_and_revoked_while_one_token_holds_all_it_can(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    house = new_house()
    web, gate = _web(house, clock)
    made = house.call("system.token.create", {"role": "agent"}).envelope["result"]
    siege = Siege(house.db)
    stream = Request(gate, "/events", made["token"])
    await asyncio.wait_for(stream.begun.wait(), PATIENCE_S)
    tokens = Tokens(house)
    found = await asyncio.wait_for(tokens.identify(f"Bearer {made['token']}"), PATIENCE_S)
    assert found.owner == made["id"]
    house.call("system.token.revoke", {"id": made["id"]})
    await asyncio.wait_for(gate.end_revoked(), PATIENCE_S)
    await stream.end()
    await siege.end()
    web._feeds.close()


@pytest.mark.parametrize("cmd", ["status", "docs.list", "tool.task_list"])
async def test_another_tokens_reads_are_answered_while_one_token_holds_all_it_can(
    lh: Lh, cmd: str
) -> None:
    siege = Siege(lh.house.db)
    caller = Caller(Role.AGENT, owner="TOK-calm/session")
    answer = await asyncio.wait_for(lh.house.dispatcher.call_async(cmd, {}, caller), PATIENCE_S)
    assert answer.success
    long = await asyncio.wait_for(lh.house.db.apart("TOK-calm", lambda: 7, LONG), PATIENCE_S)
    assert long == 7
    await siege.end()


async def test_one_token_cannot_queue_long_reads_without_end(lh: Lh) -> None:
    siege = Siege(lh.house.db)
    reads = [lh.house.db.apart(BUSY, lambda: 7, LONG) for _ in range(LONG.most_waiting)]
    answers = asyncio.gather(*reads, return_exceptions=True)
    await asyncio.sleep(0)
    await siege.end()
    codes = {getattr(one, "code", "answered") for one in await answers}
    assert "TOO_MANY_REQUESTS" in codes


@pytest.mark.parametrize("size", [3_000_000, 400_000])
async def test_a_large_artifact_is_not_scanned_in_the_event_loop(
    lh: Lh, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the first time nor after a small one, which made the server forget it before."""

    def keep(tx: Tx, data: bytes) -> str:
        kept, _ = artifacts_of(tx).put(tx, data, name="x", media_type="application/octet-stream")
        return f"artifact:{str(kept.digest)[:12]}"

    call = lh.house._call
    large = lh.house.db.write("acme", lambda tx: keep(tx, b"\xff\x00" * (size // 2)), call())
    small = lh.house.db.write("acme", lambda tx: keep(tx, b"\xff\x00"), call())
    in_loop = 0
    read = ArtifactView.read

    def counted(self: ArtifactView, offset: int, length: int) -> Any:
        nonlocal in_loop
        piece = read(self, offset, length)
        in_loop += len(piece.data) if threading.get_ident() == here else 0
        return piece

    here = threading.get_ident()
    monkeypatch.setattr(ArtifactView, "read", counted)
    caller = Caller(Role.AGENT, owner=BUSY)
    for one in (large, small, large, small, large):
        in_loop = 0
        ask = {"id": one, "offset_bytes": 0, "bytes": 100}
        answer = await lh.house.dispatcher.call_async("docs.artifact.show", ask, caller)
        assert answer.success, answer.envelope["error"]
        assert in_loop <= LOOP_UNITS


async def test_a_large_request_is_decoded_and_answered_outside_the_event_loop(
    new_house: Callable[..., House], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = new_house()
    web, gate = _web(house, clock)
    made = house.call("system.token.create", {"role": "agent"}).envelope["result"]
    steps = [
        Threads(monkeypatch, limits, "is_too_deep"),
        Threads(monkeypatch, calls, "_decode"),
        Threads(monkeypatch, dispatching, "check_json"),
    ]
    path = "/call/vcs.notes.commit"
    body = b'{"content": "%s"}' % (b"x" * 100_000)
    sent = Request(gate, path, made["token"], method="POST", body=body)
    await sent.end()
    assert sent.status == 200, sent.body
    assert not any(step.in_loop for step in steps)
    wrong = Request(gate, path, made["token"], method="POST", body=b'{"a": ' + body + b"}")
    await wrong.end()
    assert (wrong.status, b"INVALID_INPUT" in wrong.body) == (400, True)
    assert not any(step.in_loop for step in steps)
    web._feeds.close()


async def test_an_answer_with_much_text_is_built_outside_the_event_loop(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        lh("vcs.notes.commit", content=f"{number} " + "word " * 12_000)
    finished: list[int] = []
    build = answers.answer_result

    def noted(*args: Any) -> Any:
        made = build(*args)
        finished.append(threading.get_ident())
        return made

    monkeypatch.setattr(dispatching, "answer_result", noted)
    ask = {"doc_kind": "notes", "limit": 50, "budget_profile": "audit"}
    caller = Caller(Role.AGENT, owner=BUSY)
    answer = await lh.house.dispatcher.call_async("docs.show", ask, caller)
    assert answer.success, answer.envelope["error"]
    assert finished
    assert threading.get_ident() not in finished


async def test_the_log_is_made_into_events_outside_the_event_loop(
    new_house: Callable[..., House], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = new_house()
    web, gate = _web(house, clock)
    made = house.call("system.token.create", {"role": "agent"}).envelope["result"]
    for number in range(5):
        house.call("vcs.notes.commit", {"content": f"note {number}"})
    frames = Threads(monkeypatch, feed, "frame_of")
    stream = Request(gate, "/events", made["token"])
    stream._scope["query_string"] = b"after=0"
    while b"notes@" not in stream.body:  # noqa: ASYNC110  (a stream tells nobody)
        await asyncio.sleep(0)
    house.call("vcs.notes.commit", {"content": "the last"})
    while stream.body.count(b"event: ") < 7:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert not frames.in_loop
    web.end_streams()
    await stream.end()
    web._feeds.close()


@pytest.mark.parametrize(
    "tool, args, in_the_writer",
    [
        ("docs.list", {}, [False]),
        ("status", {}, [False]),
        ("tasks.plan.create", {"title": "Plan"}, [True]),
    ],
)
def test_a_command_run_as_a_task_reads_outside_the_writer(
    lh: Lh,
    tool: str,
    args: dict[str, Any],
    in_the_writer: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow(lh)
    ran: list[bool] = []
    result = calling._result

    def noted(tx: Tx, *rest: Any) -> Any:
        ran.append(tx.writes)
        return result(tx, *rest)

    monkeypatch.setattr(calling, "_result", noted)
    lh("tool.task_spawn", tool=tool, args=args)
    loop(lh, "carry_out")
    assert ran == in_the_writer
    assert lh("tool.task_status", task_id="PROC-001")["task"]["status"] == "exited"


def test_a_long_read_of_a_task_holds_up_no_write_behind_it(lh: Lh) -> None:
    """Its owner's threads are all taken, so it waits; the other command does not."""
    allow(lh)
    db, go = lh.house.db, threading.Event()
    for number in range(LONG.threads):
        db.in_background("operator", number, lambda: go.wait(PATIENCE_S))
    lh("tool.task_spawn", tool="docs.list", args={})
    lh("tool.task_spawn", tool="tasks.plan.create", args={"title": "Plan"})
    (found,) = [one for one in lh.house.registry.loops if one.name == "processes.carry_out"]
    run_once(db, found, "acme", lh.house._call)
    states = [lh("tool.task_status", task_id=f"PROC-00{n}")["task"]["status"] for n in (1, 2)]
    assert states == ["queued", "exited"]
    go.set()
    assert db.settle(PATIENCE_S)
    assert lh("tool.task_status", task_id="PROC-001")["task"]["status"] == "exited"


def test_a_read_of_a_task_that_takes_too_long_fails_and_says_so(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(lh)
    monkeypatch.setattr("longhouse.store.database.LONG", LONG._replace(units=0))
    lh("tool.task_spawn", tool="docs.list", args={})
    loop(lh, "carry_out")
    task = lh("tool.task_status", task_id="PROC-001")["task"]
    assert (task["status"], task["cause"]) == ("failed", "read_too_long")


SPAWNER = "busy"
"""Not the id of a token: that would have to be valid."""


def _spawned(lh: Lh, owner: str, tool: str, times: int = 1, **args: Any) -> None:
    caller = Caller(Role.OPERATOR, owner=owner)
    for _ in range(times):
        ask = {"tool": tool, "args": args}
        assert lh.house.dispatcher.call("tool.task_spawn", ask, caller).success


def _looked_at(lh: Lh) -> list[tuple[Any, ...]]:
    return [tuple(one) for one in lh.house.db.read("acme", calling._next_ones, lh.house._call())]


def test_only_the_next_few_waiting_commands_of_a_token_are_looked_at(lh: Lh) -> None:
    """However many sessions it has; those of another come at once, and so do its own writes."""
    allow(lh)
    for number in range(6):
        _spawned(lh, f"{SPAWNER}/{number}", "docs.list", 5)
    _spawned(lh, f"{SPAWNER}/last", "tasks.plan.create", title="Plan")
    _spawned(lh, "calm", "docs.list")
    looked_at = _looked_at(lh)
    theirs = [one for one in looked_at if one[1] == SPAWNER]
    assert [one[2] for one in theirs].count(True) == calling.EACH
    assert (31, SPAWNER, False) in theirs
    assert (32, "calm", True) in looked_at


def test_the_waiting_writes_of_a_token_run_in_their_order_whatever_they_are(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(lh)
    _spawned(lh, SPAWNER, "tasks.plan.create", calling.EACH + 2, title="Plan")
    _spawned(lh, SPAWNER, "vcs.notes.commit", content="Note")
    assert [one[0] for one in _looked_at(lh)] == list(range(1, calling.EACH + 1))
    _spawned(lh, f"{SPAWNER}/other", "tasks.plan.create", calling.EACH, title="Plan")
    assert [one[0] for one in _looked_at(lh)] == list(range(1, calling.EACH + 1))
    ran: list[str] = []
    result = calling._result

    def noted(tx: Tx, command: Any, *rest: Any) -> Any:
        ran.append(command.cmd)
        return result(tx, command, *rest)

    monkeypatch.setattr(calling, "_result", noted)
    loop(lh, "carry_out")
    first, last = calling.EACH + 2, calling.EACH
    assert (
        ran == ["tasks.plan.create"] * first + ["vcs.notes.commit"] + ["tasks.plan.create"] * last
    )


def test_reads_of_a_token_that_wait_follow_each_other_without_another_round(lh: Lh) -> None:
    allow(lh)
    _spawned(lh, SPAWNER, "docs.list", 3 * calling.EACH)
    (found,) = [one for one in lh.house.registry.loops if one.name == "processes.carry_out"]
    run_once(lh.house.db, found, "acme", lh.house._call)
    assert lh.house.db.settle(PATIENCE_S)
    assert not _looked_at(lh)


def test_the_output_of_a_command_that_reads_is_stored_outside_the_writer(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(lh)
    staged: list[bool] = []
    stage, write = Artifacts.stage, lh.house.db.write
    writing = threading.local()

    def noted(*args: Any, **kwargs: Any) -> Any:
        staged.append(getattr(writing, "now", False))
        return stage(*args, **kwargs)

    def wrote(*args: Any, **kwargs: Any) -> Any:
        writing.now = True
        try:
            return write(*args, **kwargs)
        finally:
            writing.now = False

    _spawned(lh, SPAWNER, "docs.list")
    monkeypatch.setattr(Artifacts, "stage", noted)
    monkeypatch.setattr(lh.house.db, "write", wrote)
    loop(lh, "carry_out")
    assert staged == [False]
