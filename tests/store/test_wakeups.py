"""Wake-ups: a wait for a workspace ends after a commit, in this process or another."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

import pytest

from longhouse.kernel.errors import InternalError
from longhouse.store import wakeups
from longhouse.store.database import Database
from longhouse.store.engine import SignalCounts
from longhouse.store.tx import Tx
from longhouse.store.wakeups import Concern
from tests.store.kit import CALL, WS, child, put

SOON_S = 20.0
"""Longer than anything here takes: a test that needs it has failed."""


@pytest.fixture(autouse=True)
def no_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only signals wake: the check once a second must not hide a lost signal."""
    monkeypatch.setattr(wakeups, "LOOK_S", 60.0)
    monkeypatch.setattr(wakeups, "KNOCK_S", 3_600.0)


def test_a_waiter_hears_of_a_commit_in_its_own_process(db: Database) -> None:
    seqs: list[int] = []
    end = db.wakeups.listen(lambda _workspace, seq, _rows: seqs.append(seq))
    writer = threading.Thread(target=db.write, args=(WS, put("a"), CALL))
    writer.start()
    assert db.wakeups.wait(WS, 0, SOON_S)
    writer.join()
    assert seqs == [1]
    end()
    db.write(WS, put("b"), CALL)
    assert seqs == [1]


def test_a_wait_ends_when_its_time_is_up(db: Database) -> None:
    db.write(WS, put("a"), CALL)
    assert db.wakeups.wait(WS, 0, 0)
    assert not db.wakeups.wait(WS, 1, 0.01)
    assert not db.wakeups.wait("another", 0, 0.01)


def test_a_waiter_hears_of_commits_in_another_process(db: Database, where: str) -> None:
    writer = child(where, WS, "k", "0")
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    heard: list[int] = []
    db.wakeups.listen(lambda _workspace, seq, _rows: heard.append(seq))
    db.write("another", put("x"), CALL)
    assert db.wakeups.wait("another", 0, SOON_S)
    writer.stdin.write("go\n")
    writer.stdin.flush()
    for seq in range(1, 20, 5):
        assert db.wakeups.wait(WS, seq, SOON_S)
    writer.kill()
    writer.communicate()
    assert heard[1:] == sorted(heard[1:])


def test_a_commit_before_the_waiting_began_is_not_missed(
    new_db: Callable[..., Database],
) -> None:
    one, two = new_db(), new_db()
    two.write(WS, put("a"), CALL)
    assert one.wakeups.wait(WS, 0, SOON_S)
    two.write(WS, put("b"), CALL)
    assert one.wakeups.wait(WS, 1, SOON_S)


def test_a_write_that_fails_wakes_nobody(new_db: Callable[..., Database]) -> None:
    one, two = new_db(), new_db()
    two.write(WS, put("a"), CALL)
    assert one.wakeups.wait(WS, 0, SOON_S)
    two.write(WS, lambda tx: tx.count("heartbeats"), CALL)
    assert not one.wakeups.wait(WS, 1, 0.01)


def test_nobody_listens_to_other_processes_until_someone_waits(db: Database) -> None:
    db.write(WS, put("a"), CALL)
    db.read(WS, lambda tx: tx.last_seq(), CALL)
    assert "longhouse-wakeups" not in {thread.name for thread in threading.enumerate()}
    db.wakeups.wait(WS, 1, 0.01)
    assert "longhouse-wakeups" in {thread.name for thread in threading.enumerate()}


def test_closing_lets_those_who_wait_go(db: Database) -> None:
    waiter = threading.Thread(target=db.wakeups.wait, args=(WS, 9, 60))
    waiter.start()
    db.close()
    waiter.join(SOON_S)
    assert not waiter.is_alive()


class Deaf:
    """A signal that never comes."""

    def __init__(self) -> None:
        self._never, self._writing = os.pipe()

    def fileno(self) -> int:
        return int(self._never)

    def drain(self) -> None: ...

    def heard(self) -> SignalCounts:
        return SignalCounts(0, 0)

    def close(self) -> None:
        for end in (self._never, self._writing):
            os.close(end)


def test_a_lost_signal_is_made_up_for_by_looking(
    new_db: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "LOOK_S", 0.02)
    one, two = new_db(), new_db()

    monkeypatch.setattr(one.wakeups, "_signal", Deaf)
    one.wakeups.wait(WS, 0, 0.01)
    two.write(WS, put("a"), CALL)
    assert one.wakeups.wait(WS, 0, SOON_S)


def test_a_knock_that_another_process_died_before_giving_is_made_up_for(
    new_db: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the time tells of it, also where commits keep coming."""
    monkeypatch.setattr(wakeups, "LOOK_S", 0.02)
    monkeypatch.setattr(wakeups, "KNOCK_S", 0.02)
    one = new_db()
    monkeypatch.setattr(one.wakeups, "_signal", Deaf)
    one.write(WS, lambda tx: tx.last_seq(), CALL)
    one.wakeups.wait(WS, 0, 0.01)  # starts to listen, which counts as a knock
    assert one.wakeups.wait(WS, 0, SOON_S, Concern(knocks=("door",)), one.wakeups.knocks)


def test_listening_goes_on_after_the_signal_broke(
    new_db: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "LOOK_S", 0.02)
    one, two = new_db(), new_db()
    real, made = one.wakeups._signal, []

    def breaking() -> object:
        made.append(1)
        if len(made) == 1:
            from longhouse.kernel.errors import StoreBusy

            raise StoreBusy
        return real()

    monkeypatch.setattr(one.wakeups, "_signal", breaking)
    one.wakeups.wait(WS, 0, 0.01)
    two.write(WS, put("a"), CALL)
    assert one.wakeups.wait(WS, 0, SOON_S)
    assert len(made) == 2


def test_a_listener_that_raises_harms_neither_the_write_nor_other_listeners(
    db: Database,
) -> None:
    heard: list[int] = []

    def broken(_workspace: str, _seq: int, _rows: object) -> None:
        raise ValueError

    db.wakeups.listen(broken)
    db.wakeups.listen(lambda _workspace, seq, _rows: heard.append(seq))

    def work(tx: Tx) -> int:
        return tx.append("keys", "a", "put")

    assert db.write(WS, work, CALL) == 1
    assert heard == [1]


def test_closing_is_safe_however_soon_the_listening_thread_ends(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "LOOK_S", 0.01)
    db.wakeups.wait(WS, 9, 0.01)
    (ear,) = [one for one in threading.enumerate() if one.name == "longhouse-wakeups"]
    write = os.write

    def late(fd: int, data: bytes) -> int:
        ear.join(SOON_S)
        return write(fd, data)

    monkeypatch.setattr(os, "write", late)
    db.close()
    db.wakeups.close()
    assert not ear.is_alive()


def sleeping(
    db: Database, concern: Concern
) -> tuple[threading.Thread, list[bool], wakeups._Sleeper]:
    """A thread that waits for this, and has begun to."""
    woken: list[bool] = []
    knocks = db.wakeups.knocks

    def wait() -> None:
        woken.append(db.wakeups.wait(WS, 0, SOON_S, concern, knocks))

    thread = threading.Thread(target=wait)
    thread.start()
    for _ in range(2_000):
        if db.wakeups._sleepers or woken:
            break
        thread.join(0.005)
    (me,) = db.wakeups._sleepers
    return thread, woken, me


@pytest.mark.parametrize(
    "concern",
    [
        Concern(subjects=("b",)),
        Concern(streams=("others",)),
        Concern(besides=("put",)),
    ],
)
def test_a_commit_about_something_else_wakes_no_one(
    db: Database, concern: Concern, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of its own commits a process knows what they are about; this one must not look for others'.
    monkeypatch.setattr(db.wakeups, "_catch_up", lambda: None)
    thread, woken, me = sleeping(db, concern)
    db.write(WS, put("a"), CALL)
    assert not me.woken
    db.write(WS, lambda tx: tx.append("others", "b", "said"), CALL)
    thread.join()
    assert woken == [True]


def test_numbers_that_no_row_explains_wake_everyone(db: Database) -> None:
    thread, woken, _ = sleeping(db, Concern(subjects=("b",)))
    db.write(WS, lambda tx: (tx.append("keys", "a", "put"), tx.seqs(3)), CALL)
    thread.join()
    assert woken == [True]


@pytest.mark.parametrize("same", [True, False], ids=["own", "other"])
def test_a_knock_wakes_those_who_answer_to_it_though_nothing_is_logged(
    new_db: Callable[..., Database], same: bool
) -> None:
    one = new_db()
    two = one if same else new_db()
    one.write(WS, lambda tx: tx.last_seq(), CALL)
    one.wakeups.wait(WS, 0, 0.01)  # starts to listen, which counts as a knock
    assert one.wakeups.wait(WS, 0, SOON_S, Concern(knocks=("door",)), 0)
    thread, woken, me = sleeping(one, Concern(subjects=(), knocks=("door",)))
    if same:
        two.write(WS, lambda tx: tx.knock("window"), CALL)
        assert not me.woken
    two.write(WS, lambda tx: tx.knock("door"), CALL)
    thread.join()
    assert woken == [True]
    assert one.read(WS, lambda tx: tx.last_seq(), CALL) == 0


def test_a_knock_before_the_wait_began_is_not_missed(db: Database) -> None:
    seen = db.wakeups.knocks
    db.write(WS, lambda tx: tx.knock("door"), CALL)
    assert db.wakeups.wait(WS, 0, SOON_S, Concern(knocks=("door",)), seen)


def test_a_write_that_fails_does_not_knock(db: Database) -> None:
    seen = db.wakeups.knocks

    def work(tx: Tx) -> None:
        tx.knock("door")
        raise ValueError

    with pytest.raises(InternalError):
        db.write(WS, work, CALL)
    assert db.wakeups.knocks == seen


class Pipe:
    """A signal that the test gives by hand."""

    def __init__(self) -> None:
        self.ear, self.mouth = os.pipe()
        self.drained = self.closed = self.commits = self.knocks = 0

    def heard(self) -> SignalCounts:
        return SignalCounts(self.commits, self.knocks)

    def fileno(self) -> int:
        return self.ear

    def drain(self) -> None:
        self.drained += len(os.read(self.ear, 100))

    def close(self) -> None:
        self.closed += 1
        for end in (self.ear, self.mouth):
            os.close(end)


def test_the_ear_sleeps_until_the_signal_and_takes_each_signal_once() -> None:
    signal, looks = Pipe(), threading.Semaphore(0)
    seqs = {WS: 1}

    def look() -> dict[str, int]:
        looks.release()
        return dict(seqs)

    woken = wakeups.Wakeups(lambda: signal, look)
    assert woken.wait(WS, 0, SOON_S)
    for seq in (2, 3):
        seqs[WS] = signal.commits = seq
        os.write(signal.mouth, b".")
        assert woken.wait(WS, seq - 1, SOON_S)
    seen, signal.knocks = woken.knocks, 1
    os.write(signal.mouth, b".")
    assert woken.wait(WS, 3, SOON_S, Concern(subjects=(), knocks=("door",)), seen)
    assert woken.knocks == seen + 1 == 2
    for _ in range(3):
        assert looks.acquire(timeout=SOON_S)
    assert not looks.acquire(blocking=False), "it looked without a commit"
    woken.close()
    assert (signal.drained, signal.closed) == (3, 1)


def test_between_signals_the_ear_looks_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class Poll:
        def __init__(self) -> None:
            self.fds: list[int] = []

        def register(self, fd: int, _events: int) -> None:
            self.fds.append(fd)

        def poll(self, ms: float) -> list[tuple[int, int]]:
            asked.append(ms)
            return [(self.fds[0], 1)]

    monkeypatch.setattr(select, "poll", Poll)
    monkeypatch.setattr(wakeups, "LOOK_S", 1.5)
    woken = wakeups.Wakeups(Pipe, dict)
    assert not woken._sleep(7), "the stop is no signal"
    assert asked == [1500.0]
