"""Dispatches recorded in a store, from before they start until any kind of ending."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhouse.client.embedded import EmbeddedDoor
from longhouse.client.sync import Client
from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.errors import Conflict, StoreBusy, Unreachable
from longhouse.ledger.types import FinishSubagent, RenewSubagents
from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentResult,
    EventBus,
    PromptSubagentToolsSection,
    Session,
    Snapshot,
    ToolContext,
    ToolResult,
)
from longhouse.subagents.recorder import StoreRecorder
from tests.kit import Lh, ManualClock
from tests.subagents.kit import (
    DONE,
    Note,
    Raises,
    Runner,
    dispatch_tool,
    invoked,
    make_session,
    request,
    run,
)


class HouseDoor(EmbeddedDoor):
    """A client of a house that is already open."""

    def __init__(self, house: House) -> None:
        self.house = house

    def close(self) -> None:
        pass


@pytest.fixture
def client(lh: Lh) -> Client:
    return Client(HouseDoor(lh.house))


def record(lh: Lh, dispatch_id: str = "D1") -> dict[str, Any]:
    found: dict[str, Any] = lh("open", id=f"dispatch:{dispatch_id}")["subagent"]
    return found


def test_a_dispatch_is_on_record_before_its_runner_and_closed_after_it(
    lh: Lh, client: Client
) -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert record(lh)["status"] == "running"
        child.scope.start_turn()
        child.scope.spend(7)
        for name in ("search", "write", "search"):
            bus.publish(invoked(name))
        return DispatchSubagentResult("Done.", ("b.md",))

    asked = request(expected_artifacts=("a.md", "b.md"))
    assert run(Runner(play), asked, session=session, recorder=StoreRecorder(client)).success
    found = record(lh)
    assert found["status"] == "completed"
    assert found["session_id"] == "session-1"
    assert found["snapshot_digest"] == session.snapshot().digest()
    assert found["params"]["instructions"] == asked.instructions
    assert found["message"] == "Done."
    assert found["tools"] == [{"name": "search", "calls": 2}, {"name": "write", "calls": 1}]
    assert found["usage"] == {"turns": 1, "tokens": 7}
    assert (found["artifacts"], found["missing_artifacts"]) == (["b.md"], ["a.md"])


def test_a_tree_of_dispatches_is_a_tree_on_record(lh: Lh, client: Client) -> None:
    session = make_session()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        if child.scope.depth < 3:
            tool.handler(params, context=ToolContext(child))
        return DONE

    tool = dispatch_tool(session, Runner(play), recorder=StoreRecorder(client))
    tool.handler(request(), context=ToolContext(session))
    assert [one["depth"] for one in lh("jobs.subagent.list")["subagents"]] == [3, 2, 1]
    middle = lh("open", id="dispatch:D2")
    assert (middle["parent"], middle["children"]) == ("SUB-001", ["SUB-003"])


@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
def test_a_dispatch_that_breaks_is_closed_all_the_same(
    lh: Lh, client: Client, error: BaseException
) -> None:
    recorder = StoreRecorder(client)
    if isinstance(error, Exception):
        assert not run(Raises(error), recorder=recorder).success
    else:
        with pytest.raises(KeyboardInterrupt):
            run(Raises(error), recorder=recorder)
    assert record(lh)["status"] == ("failed" if isinstance(error, Exception) else "interrupted")
    assert "presumed" not in record(lh)


def test_a_kept_snapshot_brings_the_childs_first_state_back(lh: Lh, client: Client) -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one"), Note("two")])
    run(Runner(), session=session, recorder=StoreRecorder(client, keep_snapshots=True))
    found = record(lh)
    text = "".join(part["text"] for part in lh("open", id=found["snapshot"])["parts"])
    kept = Snapshot.from_json(text)
    assert kept.slices[Note] == (Note("one"), Note("two"))
    assert kept.digest() == found["snapshot_digest"]


def test_a_state_too_large_for_one_call_is_recorded_by_its_digest(
    lh: Lh, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_session()
    session.seed_slice(Note, [Note('"' * 400_000)])
    run(Runner(), session=session, recorder=StoreRecorder(client, keep_snapshots=True))
    assert record(lh)["snapshot_digest"] == session.snapshot().digest()
    assert "snapshot" not in record(lh)
    assert "too large to keep" in caplog.text


def test_a_state_that_cannot_be_written_leaves_a_record_without_digest(
    lh: Lh, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one"), ToolResult("another kind", None)])
    assert run(Runner(), session=session, recorder=StoreRecorder(client)).success
    assert "snapshot_digest" not in record(lh)
    assert "initial state could not be recorded" in caplog.text


def test_odd_texts_are_kept_as_far_as_a_store_can(lh: Lh, client: Client) -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        bus.publish(invoked("tool\0\ud800" + "x" * 5_000))
        return DispatchSubagentResult("Done.", tuple(f"a\ud800{n}" for n in range(2_000)))

    asked = replace(
        request("Look\0around.", expected_artifacts=tuple(f"file {n}" for n in range(1_500))),
        prompt_ns="n" * 5_000,
    )
    assert run(Runner(play), asked, recorder=StoreRecorder(client)).success
    found = lh("open", id="dispatch:D1", max_chars=80_000, budget_profile="audit")["subagent"]
    assert found["status"] == "completed"
    assert found["params"]["instructions"] == "Look?around."
    assert found["tools"][0]["name"] == "tool??" + "x" * 153 + "…"
    assert found["params"]["expected_artifacts"][-1] == "[1001 more]"
    assert len(found["params"]["prompt_ns"]) == 1_000


# --------------------------------------------------------------------------- faults of the store


class Scripted:
    """A client with a scripted reaction to each kind of request."""

    def __init__(self, **told: Callable[[], None]) -> None:
        self.told = told
        self.asked: list[Any] = []
        self.heard = threading.Event()

    def __call__(self, request: Any, /, **options: Any) -> None:
        self.asked.append(request)
        if isinstance(request, RenewSubagents):
            self.heard.set()
        self.told.get(type(request).__name__, lambda: None)()

    def count(self, kind: type) -> int:
        return sum(isinstance(one, kind) for one in self.asked)


def recorder_of(client: Scripted, **more: Any) -> StoreRecorder:
    return StoreRecorder(client, **more)  # type: ignore[arg-type]


def raising(*errors: Exception) -> Callable[[], None]:
    """Raises one error per call, then none."""
    left = list(errors)

    def fail() -> None:
        if left:
            raise left.pop(0)

    return fail


def test_a_dispatch_that_cannot_be_recorded_does_not_start() -> None:
    client = Scripted(StartSubagent=raising(StoreBusy("the disk is full")))
    runner = Runner()
    result = run(runner, recorder=recorder_of(client))
    assert not result.success
    assert "could not be recorded: the disk is full" in result.message
    assert runner.params == []
    assert client.count(FinishSubagent) == 0


def test_a_result_stands_when_its_record_cannot_be_closed_and_the_end_is_written_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Scripted(FinishSubagent=raising(Unreachable("away"), Unreachable("still away")))
    recorder = recorder_of(client)
    assert run(Runner(), recorder=recorder).success
    assert "could not be closed" in caplog.text
    recorder.beat()
    recorder.beat()
    recorder.beat()
    assert client.count(FinishSubagent) == 3
    assert client.asked[-1] == client.asked[1]


def test_an_end_that_the_store_refuses_is_not_told_again(caplog: pytest.LogCaptureFixture) -> None:
    client = Scripted(FinishSubagent=raising(Unreachable("away"), Conflict("it ended otherwise")))
    recorder = recorder_of(client)
    assert run(Runner(), recorder=recorder).success
    recorder.beat()
    recorder.beat()
    assert client.count(FinishSubagent) == 2
    assert "was refused: it ended otherwise" in caplog.text


def test_closing_writes_what_is_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    client = Scripted(FinishSubagent=raising(Unreachable("away")))
    with recorder_of(client) as recorder:
        run(Runner(), recorder=recorder)
    assert client.count(FinishSubagent) == 2


def test_while_a_dispatch_runs_its_lease_is_renewed_by_itself() -> None:
    client = Scripted()

    def play(*_: object) -> Any:
        assert client.heard.wait(60)
        return DONE

    run(Runner(play), recorder=recorder_of(client, lease_s=1))
    asked = [one for one in client.asked if isinstance(one, RenewSubagents)]
    assert asked[0] == RenewSubagents(dispatch_ids=["D1"], lease_ttl_ms=1_000)


def test_a_beat_that_fails_does_not_stop_the_heart() -> None:
    client = Scripted(RenewSubagents=raising(ValueError("a defect"), StoreBusy("busy")))
    beats = threading.Semaphore(0)
    renew = client.told["RenewSubagents"]

    def counted() -> None:
        beats.release()
        renew()

    client.told["RenewSubagents"] = counted

    def play(*_: object) -> Any:
        assert all(beats.acquire(timeout=60) for _ in range(3))
        return DONE

    assert run(Runner(play), recorder=recorder_of(client, lease_s=1)).success


def test_no_thread_stays_when_nothing_runs() -> None:
    before = set(threading.enumerate())
    recorder = recorder_of(Scripted())
    for _ in range(3):
        run(Runner(), recorder=recorder)
    left = [one for one in threading.enumerate() if one not in before]
    for thread in left:
        thread.join(60)
    assert not any(thread.is_alive() for thread in left)


@pytest.mark.parametrize("lease_s", [0, 0.5, 301])
def test_a_lease_that_no_store_grants_is_refused(lease_s: float) -> None:
    with pytest.raises(ValueError, match="lease_s must be 1 to 300"):
        recorder_of(Scripted(), lease_s=lease_s)


def test_a_client_for_event_loops_is_refused() -> None:
    class Async:
        async def __call__(self, request: Any, /, **options: Any) -> None: ...

    with pytest.raises(TypeError, match="not connect_async"):
        StoreRecorder(Async())  # type: ignore[arg-type]


def test_a_lease_is_renewed_in_the_store(lh: Lh, client: Client) -> None:
    recorder = StoreRecorder(client, lease_s=60)

    def play(*_: object) -> Any:
        lh.clock.advance(50_000)
        recorder.beat()
        lh.clock.advance(50_000)
        assert record(lh)["status"] == "running"
        lh.clock.advance(20_000)
        assert record(lh)["status"] == "interrupted"
        return DONE

    assert run(Runner(play), recorder=recorder).success
    assert record(lh)["status"] == "completed"


def test_dispatches_side_by_side_are_all_on_record(lh: Lh, client: Client) -> None:
    section = PromptSubagentToolsSection(
        session=make_session(), runner=Runner(), recorder=StoreRecorder(client)
    )
    assert all(result.success for result in section.dispatch_all([request()] * 30))
    assert len(lh("jobs.subagent.list", status="completed", limit=50)["subagents"]) == 30


def test_the_state_that_dispatches_of_one_turn_share_is_written_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[Snapshot] = []
    digest = Snapshot.digest

    def counted(snapshot: Snapshot) -> str:
        written.append(snapshot)
        return digest(snapshot)

    monkeypatch.setattr(Snapshot, "digest", counted)
    everyone = threading.Barrier(8)

    def together(*_: object) -> Any:
        everyone.wait(60)
        return DONE

    section = PromptSubagentToolsSection(
        session=make_session(),
        runner=Runner(together),
        recorder=recorder_of(Scripted()),
    )
    assert all(result.success for result in section.dispatch_all([request()] * 8))
    assert len(written) == 1


DIES = """
import sys
import longhouse
from longhouse.subagents import DispatchSubagent, PromptSubagentToolsSection, Session
from longhouse.subagents.recorder import StoreRecorder

def waits(*, session, bus, params):
    print(session.scope.dispatch_id, flush=True)
    sys.stdin.read()

with longhouse.connect(dir=sys.argv[1], workspace="acme", embedded=True) as lh:
    section = PromptSubagentToolsSection(
        session=Session(), runner=waits, recorder=StoreRecorder(lh)
    )
    section.tools()[0].handler(DispatchSubagent("ad_hoc", "a", "b", "Wait."))
"""


def test_a_dispatch_whose_program_was_killed_becomes_interrupted(tmp_path: Path) -> None:
    folder = tmp_path / ".longhouse"
    with subprocess.Popen(
        [sys.executable, "-c", DIES, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as program:
        assert program.stdout is not None
        dispatch_id = program.stdout.readline().strip()
        program.kill()
    settings = load({"dir": str(folder), "workspace": "acme"}, environ={}, cwd=tmp_path)
    clock = ManualClock()
    with House(settings, clock=clock) as house:
        lh = Lh(house, clock)
        clock.advance(
            lh("open", id=f"dispatch:{dispatch_id}")["subagent"]["started_at_ms"]
            - clock.now_ms()
            + 30_000
        )
        assert record(lh, dispatch_id)["status"] == "running"
        clock.advance(60_000)
        found = record(lh, dispatch_id)
        assert (found["status"], found["presumed"]) == ("interrupted", True)
