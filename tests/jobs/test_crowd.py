"""Many concurrent clients leave the same result as they would in sequence."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from longhouse.store.artifacts import artifacts_of
from longhouse.store.upkeep import verify
from tests.jobs.kit import kinds, new_job
from tests.kit import Lh
from tests.store.test_asking import Spy
from tests.store.upkeep_kit import call_of

CLIENTS = 12
ROUNDS = 4


def client(lh: Lh, name: str, trouble: list[BaseException]) -> None:
    """Create two jobs and one that depends on both; then work on the queue, with some mistakes.

    Clients may take each other's jobs.
    """
    try:
        for _ in range(ROUNDS):
            both = [new_job(lh, title=f"{name} {part}") for part in ("one", "two")]
            new_job(lh, title=f"{name} last", after=both)
            while job := lh("jobs.claim", runner_id=name)["job"]:
                fence = {"job": job["id"], "runner_id": name, "claim_revision": job["revision"]}
                zombie = fence | {"claim_revision": job["revision"] + 1}
                assert lh.refused("jobs.report", **zombie, message="late")["code"] == "CONFLICT"
                lh("jobs.report", **fence, message="half", meta={"by": name})
                lh("jobs.complete", **fence, status="DONE", summary="done")
    except BaseException as error:
        trouble.append(error)


def test_a_crowd_leaves_what_one_after_the_other_would(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy, trouble = Spy(monkeypatch), list[BaseException]()
    threads = [threading.Thread(target=client, args=(lh, f"r{n}", trouble)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    client(lh, "r-last", trouble)  # jobs that became ready after their makers' last check
    assert trouble == []
    house = lh.house
    assert max(spy.crowds) > 1
    found = verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True)
    assert found.problems == []
    jobs = [f"JOB-{n:03d}" for n in range(1, (CLIENTS + 1) * ROUNDS * 3 + 1)]
    for job in jobs:
        told = Counter(kinds(lh, job))
        last: dict[str, Any] = lh("jobs.open", job=job)["job"]
        ready = 1 if last["title"].endswith("last") else 0
        assert told["ready"] <= ready
        assert (last["status"], told["claimed"], told["completed"]) == ("DONE", 1, 1), told
