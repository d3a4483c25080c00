"""Hosts whose clocks are ten minutes apart: leases go by the store's clock alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.kernel.clock import SystemClock
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.tx import Call
from tests.kit import CountedIds

TEN_MINUTES_MS = 600_000
TIMES = "SELECT ts_ms FROM log WHERE ws = :ws ORDER BY seq"
LOG_TIMES = Query("log_times", TIMES, TIMES)


class Host:
    """A house whose host's clock is off by so much."""

    def __init__(self, settings: Settings, off_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = House(settings)
        self._off_ms = off_ms
        self._monkeypatch = monkeypatch

    def __call__(self, cmd: str, **args: Any) -> dict[str, Any]:
        now_ms, tick, off_ms = SystemClock.now_ms, SystemClock.tick, self._off_ms
        with self._monkeypatch.context() as patch:
            patch.setattr(SystemClock, "now_ms", lambda clock: now_ms(clock) + off_ms)
            patch.setattr(SystemClock, "tick", lambda clock, kept: tick(clock, kept) + off_ms)
            return self.house.call(cmd, args).envelope


@pytest.fixture
def two_hosts(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Host, Host]]:
    """One is ten minutes ahead, the other ten behind."""
    with hosts(postgres_url, tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def hosts(
    db: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Host, Host]]:
    flags = {"dir": str(folder / ".longhouse"), "workspace": "acme", "db": db}
    settings = load(flags, environ={}, cwd=folder)
    both = tuple(Host(settings, off, monkeypatch) for off in (TEN_MINUTES_MS, -TEN_MINUTES_MS))
    yield both  # type: ignore[misc]
    for host in both:
        host.house.close()


@pytest.mark.parametrize("first", [0, 1])
def test_a_live_lease_is_never_taken_and_a_dead_one_never_held(
    two_hosts: tuple[Host, Host], postgres_url: str, first: int
) -> None:
    holder, other = two_hosts[first], two_hosts[1 - first]
    holder("jobs.create", title="Look", prompt="p")
    claimed = holder("jobs.claim", runner_id="holder", lease_ttl_ms=60_000)["result"]["job"]
    taken = other("jobs.claim", job=claimed["id"], runner_id="other", allow_stale=True)
    assert taken["error"]["code"] == "CONFLICT"
    assert other("jobs.claim", runner_id="other", allow_stale=True)["result"]["job"] is None
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(
            "UPDATE longhouse.jobs SET claim_expires_at_ms = "
            "FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)"
        )
    taken = other("jobs.claim", runner_id="other", allow_stale=True)
    assert taken["result"]["job"]["runner"] == "other"


def test_reservations_and_who_is_there_are_seen_alike_from_every_host(
    two_hosts: tuple[Host, Host],
) -> None:
    ahead, behind = two_hosts
    ahead("jobs.runner.heartbeat", runner_id="r1", status="idle", lease_ttl_ms=60_000)
    ahead("jobs.runner.heartbeat", runner_id="r2", status="idle", lease_ttl_ms=1_000)
    for host in two_hosts:
        radar = host("jobs.radar")["result"]
        assert "r1" in {lease["runner_id"] for lease in radar["runner_leases"]["runners"]}
    behind("jobs.runner.heartbeat", runner_id="r3", status="idle", lease_ttl_ms=60_000)
    seen = ahead("jobs.radar")["result"]["runner_leases"]["runners"]
    assert "r3" in {lease["runner_id"] for lease in seen}


@pytest.mark.parametrize("first", [0, 1])
def test_a_live_reservation_is_never_taken_and_is_seen_by_every_host(
    two_hosts: tuple[Host, Host], first: int
) -> None:
    """Of 5 minutes, between clocks that are 20 minutes apart, whichever of them reserves."""
    _reserves(two_hosts[first], two_hosts[1 - first])


def test_a_clock_that_is_set_back_frees_no_reservation(
    db_url: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosts(db_url, tmp_path, monkeypatch) as (ahead, behind):
        _reserves(ahead, behind)


def _reserves(owner: Host, other: Host) -> None:
    token = {
        name: host("agents.register", name=name)["result"]["agent_token"]
        for host, name in ((owner, "amber-otter"), (other, "misty-heron"))
    }
    mine = {"agent": "amber-otter", "agent_token": token["amber-otter"], "scope": "src/a.py"}
    theirs = {"agent": "misty-heron", "agent_token": token["misty-heron"], "scope": "src/a.py"}
    held = owner("agents.reserve", **mine, bead_id="x-1", ttl_minutes=5)
    assert held["success"], held["error"]
    for _ in range(2):  # not even by asking to take over what is dead
        refused = other("agents.reserve", **theirs, bead_id="x-2", takeover_stale=True)
        assert refused["error"]["code"] == "RESERVATION_CONFLICT"
    for host in (owner, other):
        seen = host("agents.status")["result"]["reservations"]
        assert [one["agent_id"] for one in seen] == ["amber-otter"]
    assert owner("agents.release", **mine)["success"]
    taken = other("agents.reserve", **theirs, bead_id="x-2", ttl_minutes=5)
    assert taken["success"], taken["error"]


def test_a_reservation_that_ran_out_by_the_databases_clock_is_free_for_every_host(
    two_hosts: tuple[Host, Host], postgres_url: str
) -> None:
    for owner, other, scope in ((*two_hosts, "a.py"), (*two_hosts[::-1], "b.py")):
        who = [
            {
                "agent": name,
                "agent_token": host("agents.register", name=name)["result"]["agent_token"],
                "bead_id": "x-1",
                "scope": scope,
            }
            for host, name in ((owner, f"owner-{scope[0]}"), (other, f"other-{scope[0]}"))
        ]
        assert owner("agents.reserve", **who[0])["success"]
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "UPDATE longhouse.reservations SET expires_at_ms = "
                "FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) WHERE state = 'active'"
            )
        assert other("agents.reserve", **who[1], takeover_stale=True)["success"]


def test_the_log_never_steps_back_in_time(
    db_url: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hosts(db_url, tmp_path, monkeypatch) as (ahead, behind):
        for host in (behind, ahead, behind, ahead, behind):
            assert host("vcs.notes.commit", content="x")["success"]
        call = Call(ids=CountedIds())
        rows = ahead.house.db.read("acme", lambda tx: tx.all(LOG_TIMES), call)
    times = [row["ts_ms"] for row in rows]
    assert times == sorted(times)
    assert len(times) == 5


def test_a_call_that_waited_for_the_lock_takes_place_when_it_got_it(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    call, times = Call(ids=CountedIds()), list[int]()
    store.write("acme", lambda tx: times.append(tx.now_ms), call)
    with admin.transaction():
        admin.execute("SELECT 1 FROM longhouse.workspaces FOR UPDATE")
        waiting = threading.Thread(
            target=store.write, args=("acme", lambda tx: times.append(tx.now_ms), call)
        )
        waiting.start()
        while not admin.execute(WAITING).fetchone():
            pass
        released_ms = admin.execute(NOW).fetchone()
    waiting.join()
    assert released_ms is not None
    assert times[0] <= released_ms[0] <= times[1]


WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
NOW = "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)"
