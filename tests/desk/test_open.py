"""`open` with what is not there: every refusal names a next call, and that call works."""

from __future__ import annotations

import pytest

from tests.kit import Lh

NOT_THERE = [
    "ART-099",
    "artifact:0123456789ab",
    "notes@99",
    "CONFLICT-" + "0" * 32,
    "TASK-099",
    "PLAN-099",
    "TASK-001@99",
    "JOB-099",
    "JOB-001@99",
    "runner:nobody",
    "SUB-099",
    "dispatch:0a1b2c",
    "msg_99",
    "CARD-999",
    "a:nowhere",
]


def test_every_kind_of_id_is_tried(lh: Lh) -> None:
    openers = lh.house.registry.openers
    untried = [one.what for one in openers if not any(one.pattern.match(id_) for id_ in NOT_THERE)]
    assert untried == []


@pytest.mark.parametrize("wanted", [*NOT_THERE, "zzz", "@", "artifact:abc", "job-1", "x" * 300])
def test_what_is_not_there_comes_with_a_call_that_finds_what_is(lh: Lh, wanted: str) -> None:
    lh("jobs.create", title="Look", prompt="Look at it.")
    lh("tasks.bootstrap", plan_title="Plan", task_title="Look", steps=[])
    refused = lh.envelope("open", id=wanted)
    assert not refused["success"]
    assert refused["error"]["recovery"]
    assert lh.run_actions(refused)
