"""Records of subagents: before they start, while they run, and how they ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from longhouse.ledger.types import ENDINGS
from longhouse.subagents import Outcome
from tests.kit import Lh

PARAMS = {
    "mode": "plan_step",
    "prompt_ns": "docs",
    "prompt_key": "reader",
    "instructions": "Sum up the README.",
    "expected_artifacts": ["a.md", "b.md"],
    "plan_step_id": "S001",
}
DIGEST = "ab" * 32
ENDED = {
    "outcome": "completed",
    "message": "It is about rivers.",
    "tools": [{"name": "read", "calls": 2}, {"name": "write", "calls": 1}],
    "usage": {"turns": 3, "tokens": 700, "children": 1},
    "artifacts": ["a.md"],
    "missing_artifacts": ["b.md"],
}


def start(lh: Lh, dispatch_id: str = "d1", **more: Any) -> dict[str, Any]:
    return lh(
        "jobs.subagent.start", **{"dispatch_id": dispatch_id, "depth": 1, "params": PARAMS, **more}
    )


def finish(lh: Lh, dispatch_id: str = "d1", **more: Any) -> dict[str, Any]:
    return lh("jobs.subagent.finish", dispatch_id=dispatch_id, **{**ENDED, **more})


def opened(lh: Lh, dispatch_id: str = "d1") -> dict[str, Any]:
    found: dict[str, Any] = lh("open", id=f"dispatch:{dispatch_id}")["subagent"]
    return found


def events(lh: Lh) -> list[tuple[str, str, str]]:
    from longhouse.client.feed import pages

    return [
        (row["subject"], row["kind"], row["data"]["status"])
        for page in pages(lh.house, 0, workspace="acme", follow=False)
        for row in page
        if row["stream"] == "subagents"
    ]


def _all(some: Callable[[Any], Iterable[str]], tx: Any) -> list[str]:
    return list(some(tx))


def complaints(lh: Lh, workspace: str = "acme") -> list[str]:
    found: list[str] = []
    for check in lh.house.registry.checks:
        if check.room == "ledger":
            found += lh.house.db.read(workspace, partial(_all, check.complaints), lh.house._call())
    return found


def test_a_subagent_is_on_record_from_before_its_start_to_its_end(lh: Lh) -> None:
    made = start(lh, session_id="s-1", snapshot_digest=DIGEST, lease_ttl_ms=60_000)
    assert made["changed"]
    assert made["ref"] == made["subagent"]["ref"]
    assert made["subagent"] == {
        "id": "SUB-001",
        "ref": made["ref"],
        "dispatch_id": "d1",
        "status": "running",
        "depth": 1,
        "params": PARAMS,
        "started_at_ms": lh.clock.now_ms(),
        "session_id": "s-1",
        "snapshot_digest": DIGEST,
        "lease_expires_at_ms": lh.clock.now_ms() + 60_000,
    }
    began = lh.clock.now_ms()
    lh.clock.advance(5_000)
    ended = finish(lh)
    assert ended["subagent"] == {
        "id": "SUB-001",
        "ref": ended["ref"],
        "dispatch_id": "d1",
        "status": "completed",
        "depth": 1,
        "params": PARAMS,
        "started_at_ms": began,
        "session_id": "s-1",
        "snapshot_digest": DIGEST,
        "message": "It is about rivers.",
        "tools": ENDED["tools"],
        "usage": ENDED["usage"],
        "artifacts": ["a.md"],
        "missing_artifacts": ["b.md"],
        "finished_at_ms": began + 5_000,
    }
    assert opened(lh) == ended["subagent"]
    assert events(lh) == [("SUB-001", "started", "running"), ("SUB-001", "finished", "completed")]
    assert complaints(lh) == []


def test_the_ledger_knows_every_outcome_of_a_dispatch() -> None:
    assert set(ENDINGS) == {outcome.value for outcome in Outcome}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_every_outcome_is_kept(lh: Lh, outcome: str) -> None:
    start(lh)
    finish(lh, outcome=outcome, error_type="OSError")
    found = opened(lh)
    assert (found["status"], found["error_type"]) == (outcome, "OSError")
    assert "presumed" not in found


def test_telling_it_twice_has_one_effect(lh: Lh) -> None:
    first, again = start(lh), start(lh)
    assert (first["changed"], again["changed"]) == (True, False)
    assert first["subagent"] == again["subagent"]
    ended, once_more = finish(lh), finish(lh)
    assert (ended["changed"], once_more["changed"]) == (True, False)
    assert ended["subagent"] == once_more["subagent"] == start(lh)["subagent"]
    assert len(events(lh)) == 2


def test_another_story_about_the_same_dispatch_is_refused(lh: Lh) -> None:
    start(lh)
    other = {**PARAMS, "instructions": "Something else."}
    refusal = lh.refused("jobs.subagent.start", dispatch_id="d1", depth=1, params=other)
    assert refusal["code"] == "CONFLICT"
    assert "SUB-001" in refusal["message"]
    finish(lh)
    refusal = lh.refused("jobs.subagent.finish", dispatch_id="d1", outcome="failed")
    assert refusal["code"] == "CONFLICT"
    assert opened(lh)["status"] == "completed"


def test_the_end_of_a_dispatch_that_was_never_recorded_is_refused(lh: Lh) -> None:
    envelope = lh.envelope("jobs.subagent.finish", dispatch_id="d9", outcome="completed")
    assert envelope["error"]["code"] == "UNKNOWN_ID"
    assert "jobs.subagent.start" in envelope["error"]["recovery"]
    lh.run_actions(envelope)


def test_a_subagent_whose_program_is_silent_reads_as_interrupted(lh: Lh) -> None:
    start(lh, lease_ttl_ms=60_000)
    lh.clock.advance(59_999)
    assert opened(lh)["status"] == "running"
    lh.clock.advance(1)
    found = opened(lh)
    assert (found["status"], found["presumed"]) == ("interrupted", True)
    assert lh("jobs.subagent.list", status="running")["subagents"] == []
    assert lh("jobs.subagent.list", status="interrupted")["count"] == 1
    assert len(events(lh)) == 1  # a read writes nothing


def test_upkeep_notes_the_interruption_once(lh: Lh) -> None:
    start(lh)
    start(lh, "d2", lease_ttl_ms=300_000)
    lh.clock.advance(100_000)
    (loop,) = [one for one in lh.house.registry.loops if one.name == "ledger.note_interruptions"]
    for _ in range(2):
        lh.house.db.write("acme", loop.run, lh.house._call())
    assert events(lh)[2:] == [("SUB-001", "interrupted", "interrupted")]
    found = opened(lh)
    assert (found["status"], found["presumed"]) == ("interrupted", True)
    assert found["finished_at_ms"] == found["started_at_ms"] + 60_000
    assert opened(lh, "d2")["status"] == "running"
    assert complaints(lh) == []


def test_a_renewed_lease_keeps_it_running(lh: Lh) -> None:
    for dispatch_id in ("d1", "d2", "d3"):
        start(lh, dispatch_id)
    finish(lh, "d3")
    before = len(events(lh))
    lh.clock.advance(50_000)
    told = lh("jobs.subagent.renew", dispatch_ids=["d1", "d1", "d3", "d9"], lease_ttl_ms=60_000)
    assert (told["renewed"], told["ended"], told["unknown"]) == (["d1"], ["d3"], ["d9"])
    assert told["lease_expires_at_ms"] == lh.clock.now_ms() + 60_000
    assert len(events(lh)) == before
    lh.clock.advance(50_000)
    assert [opened(lh, one)["status"] for one in ("d1", "d2")] == ["running", "interrupted"]


def test_a_program_that_was_only_asleep_takes_its_subagent_back(lh: Lh) -> None:
    start(lh)
    lh.clock.advance(100_000)
    start(lh, "d2")  # notes the interruption
    assert opened(lh)["presumed"]
    assert lh("jobs.subagent.renew", dispatch_ids=["d1"])["renewed"] == ["d1"]
    found = opened(lh)
    assert found["status"] == "running"
    assert "presumed" not in found
    assert "finished_at_ms" not in found
    assert [kind for subject, kind, _ in events(lh) if subject == "SUB-001"] == [
        "started",
        "interrupted",
        "resumed",
    ]
    assert complaints(lh) == []


def test_what_its_program_says_at_the_end_outdoes_the_presumption(lh: Lh) -> None:
    start(lh)
    lh.clock.advance(100_000)
    start(lh, "d2")
    assert finish(lh)["changed"]
    assert opened(lh)["status"] == "completed"
    assert "presumed" not in opened(lh)
    assert complaints(lh) == []


def test_an_interruption_that_its_program_told_is_final(lh: Lh) -> None:
    start(lh)
    finish(lh, outcome="interrupted")
    assert lh("jobs.subagent.renew", dispatch_ids=["d1"])["ended"] == ["d1"]
    assert lh.refused("jobs.subagent.finish", dispatch_id="d1", outcome="completed")


def test_a_snapshot_is_kept_as_an_artifact_that_no_sweep_takes(lh: Lh) -> None:
    state = '{"version": "1", "slices": []}'
    start(lh, snapshot=state, snapshot_digest=DIGEST)
    ref = opened(lh)["snapshot"]
    assert "".join(part["text"] for part in lh("open", id=ref)["parts"]) == state
    held = [
        one
        for holder in lh.house.registry.holders
        for one in lh.house.db.read("acme", partial(_all, holder), lh.house._call())
    ]
    assert ref.removeprefix("artifact:") in held


def test_verify_tells_a_record_that_its_events_do_not_explain(lh: Lh) -> None:
    from longhouse.ledger.room import sql

    start(lh)
    lh.house.db.write(
        "acme",
        lambda tx: tx.one(
            sql.subagent_end,
            dispatch_id="d1",
            status="failed",
            message="",
            error_type=None,
            tools="[]",
            usage="{}",
            artifacts="[]",
            missing_artifacts="[]",
            now=1,
            seq=1,
        ),
        lh.house._call(),
    )
    (complaint,) = complaints(lh)
    assert complaint.startswith("SUB-001 is failed at 1")
