"""Runner leases: explicit, in the store, offline exactly when they have expired."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.kit import new_job, running, seq_now
from tests.kit import Lh, ManualClock


def beat(lh: Lh, runner_id: str = "r1", status: str = "idle", **more: Any) -> dict[str, Any]:
    lease: dict[str, Any] = lh("jobs.runner.heartbeat", runner_id=runner_id, status=status, **more)[
        "lease"
    ]
    return lease


def log_kinds(lh: Lh, runner_id: str = "r1") -> list[str]:
    """What was logged about a runner, oldest first."""
    from longhouse.store.tx import Call, sql
    from tests.kit import CountedIds

    call = Call(now_ms=0, ids=CountedIds())
    rows = lh.house.db.read(
        "acme",
        lambda tx: tx.all(
            sql.log_of_subject_after, subject=f"runner:{runner_id}", after=0, limit=500
        ),
        call,
    )
    return [row["kind"] for row in rows]


@pytest.mark.proves("DEL-068")
@pytest.mark.parametrize("missing", ["runner_id", "status"])
def test_a_heartbeat_needs_a_runner_and_a_status(lh: Lh, missing: str) -> None:
    args = {"runner_id": "r1", "status": "idle"}
    del args[missing]
    error = lh.refused("jobs.runner.heartbeat", **args)
    assert error["code"] == "INVALID_INPUT"
    assert missing in error["message"]


@pytest.mark.proves("DEL-068")
def test_a_heartbeat_needs_a_workspace(lh: Lh, new_house: Any, clock: ManualClock) -> None:
    nowhere = Lh(new_house(workspace=""), clock)
    error = nowhere.refused("jobs.runner.heartbeat", runner_id="r1", status="idle")
    assert error["code"] == "UNKNOWN_WORKSPACE"
    nowhere("jobs.runner.heartbeat", runner_id="r1", status="idle", workspace="acme")
    assert lh("jobs.radar")["runner_status"]["status"] == "idle"


@pytest.mark.proves("DEL-070")
def test_a_status_is_idle_or_live_with_the_current_job(lh: Lh) -> None:
    job = new_job(lh)
    assert beat(lh, status="live", active_job_id=job)["active_job_id"] == job
    assert "active_job_id" not in beat(lh, status="idle")
    for wrong in ("offline", "alive", ""):
        error = lh.refused("jobs.runner.heartbeat", runner_id="r1", status=wrong)
        assert error["code"] == "INVALID_INPUT"
    error = lh.refused(
        "jobs.runner.heartbeat", runner_id="r1", status="live", active_job_id="TASK-001"
    )
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.proves("DEL-071", "DEL-072", "MEM-051")
@pytest.mark.parametrize(
    "asked, given", [(None, 20_000), (1, 1_000), (5_000, 5_000), (10**12, 300_000)]
)
def test_a_lease_lasts_as_long_as_asked_within_bounds(
    lh: Lh, clock: ManualClock, asked: int | None, given: int
) -> None:
    more: dict[str, Any] = {} if asked is None else {"lease_ttl_ms": asked}
    assert beat(lh, **more)["lease_expires_at_ms"] == clock.now_ms() + given
    clock.advance(500)
    renewed = beat(lh, **more)
    assert renewed["lease_expires_at_ms"] == clock.now_ms() + given
    assert renewed["created_at_ms"] == clock.now_ms() - 500
    assert beat(lh, lease_ttl_ms=1_000)["lease_expires_at_ms"] == clock.now_ms() + 1_000


@pytest.mark.proves("DEL-065", "DEL-073", "DEL-054")
def test_the_state_of_a_runner_is_what_it_last_said_while_its_lease_lasts(
    lh: Lh, clock: ManualClock
) -> None:
    assert lh("jobs.radar")["runner_status"]["status"] == "offline"
    beat(lh, status="live", lease_ttl_ms=1_000)
    assert lh("jobs.radar")["runner_status"]["status"] == "live"
    beat(lh, "r2", status="idle", lease_ttl_ms=5_000)
    assert lh("jobs.radar")["runner_status"]["status"] == "live"
    clock.advance(999)
    assert lh("jobs.radar")["runner_status"]["status"] == "live"
    clock.advance(1)
    assert lh("jobs.radar")["runner_status"] == {
        "status": "idle",
        "live_count": 0,
        "idle_count": 1,
        "offline_count": 1,
    }
    clock.advance(4_000)
    assert lh("jobs.radar")["runner_status"]["status"] == "offline"


@pytest.mark.proves("DEL-066", "MEM-059")
def test_a_busy_claim_does_not_make_a_runner_look_alive(lh: Lh, clock: ManualClock) -> None:
    beat(lh, "r1", status="live", lease_ttl_ms=1_000)
    fence = running(lh, "r1")
    clock.advance(1_000)
    for kind in ("progress", "heartbeat"):
        lh("jobs.report", **fence, message="very much alive", kind=kind)
        assert lh("jobs.radar")["runner_status"]["status"] == "offline"
        assert lh("open", id="runner:r1")["status"] == "offline"


@pytest.mark.proves("MEM-051")
def test_a_lease_keeps_the_time_of_its_first_beat(lh: Lh, clock: ManualClock) -> None:
    first = clock.now_ms()
    beat(lh)
    for status in ("live", "idle", "live"):
        clock.advance(7_000)
        lh("jobs.runner.heartbeat", runner_id="r1", status=status)
        lease = lh("open", id="runner:r1")["lease"]
        assert (lease["created_at_ms"], lease["updated_at_ms"]) == (first, clock.now_ms())


@pytest.mark.proves("MEM-051", "MEM-059")
def test_a_runner_opens_with_its_lease(lh: Lh, clock: ManualClock) -> None:
    beat(lh, "r1", status="live", active_job_id="JOB-001", meta={"pid": 7})
    clock.advance(500)
    found = lh("open", id="runner:r1")
    assert (found["kind"], found["id"], found["status"]) == ("runner", "runner:r1", "live")
    assert found["meta"] == {"pid": 7}
    lease = found["lease"]
    assert (lease["lease_active"], found["truncated"]) == (True, False)
    told = {
        "runner_id": "r1",
        "status": "live",
        "active_job_id": "JOB-001",
        "lease_expires_at_ms": clock.now_ms() + 19_500,
        "created_at_ms": clock.now_ms() - 500,
        "updated_at_ms": clock.now_ms() - 500,
        "expires_in_ms": 19_500,
    }
    assert told.items() <= lease.items()
    beat(lh, "r2", status="idle")
    idle = lh("open", id="runner:r2")
    assert (idle["status"], idle["lease"]["status"]) == ("idle", "idle")
    assert not {"active_job_id"} & idle["lease"].keys()
    clock.advance(19_499)
    assert lh("open", id="runner:r1")["status"] == "live"
    clock.advance(1)
    found = lh("open", id="runner:r1")
    assert found["status"] == "offline"
    assert found["lease"]["status"] == "live"
    assert not found["lease"]["lease_active"]
    assert lh.refused("open", id="runner:nobody")["code"] == "UNKNOWN_ID"


def test_only_changes_of_state_are_logged(lh: Lh, clock: ManualClock) -> None:
    for _ in range(20):
        beat(lh)
        clock.advance(1_000)
    assert log_kinds(lh) == ["online"]
    beat(lh, status="live")
    beat(lh, status="live")
    beat(lh, status="idle")
    assert log_kinds(lh) == ["online", "live", "idle"]
    clock.advance(20_000)
    before = seq_now(lh)
    beat(lh, "r2")
    assert log_kinds(lh) == ["online", "live", "idle", "offline"]
    assert seq_now(lh) == before + 2
    beat(lh)
    assert log_kinds(lh)[-1] == "online"


def test_a_runner_not_heard_of_for_long_is_forgotten(lh: Lh, clock: ManualClock) -> None:
    beat(lh, "r1")
    clock.advance(8 * 24 * 3_600_000)
    beat(lh, "r2")
    assert lh("jobs.radar")["runner_status"]["offline_count"] == 0
    assert lh.refused("open", id="runner:r1")["code"] == "UNKNOWN_ID"
    assert lh("open", id="runner:r2")


@pytest.mark.parametrize("wrong", ["", "a b", "a@1", "a|b", "x" * 129, "r\x1b[2J", "-r"])
def test_a_runner_id_that_would_break_a_line_or_a_ref_is_refused(lh: Lh, wrong: str) -> None:
    error = lh.refused("jobs.runner.heartbeat", runner_id=wrong, status="idle")
    assert error["code"] == "INVALID_INPUT"


def test_what_a_runner_offers_is_shown_with_its_lease(lh: Lh) -> None:
    offers: dict[str, Any] = {
        "executors": ["codex"],
        "profiles": {"codex": ["fast"]},
        "supports_artifacts": [],
        "max_parallel": 2,
        "sandbox_policy": "local",
    }
    assert beat(lh, **offers)["offers"] == offers
