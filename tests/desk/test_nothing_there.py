"""No focus, a focus that was deleted, ids of the wrong kind, rooms with nothing in them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.work.kit import close, new_task

LOOKS = ("tasks.snapshot", "tasks.resume.super", "tasks.gate")
MACROS = ("tasks.macro.close.step", "tasks.macro.finish")
NO_TARGET = "target: expected a task or plan, or a focus; fix: task=TASK-001"


def offered(envelope: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls of an answer, as command or tool and arguments."""
    calls = [(one["tool"], one["args"]) for one in envelope["actions"]]
    return [(args.get("cmd") or args.get("op") or tool, args.get("args")) for tool, args in calls]


@pytest.mark.parametrize("cmd", [*LOOKS, *MACROS])
def test_an_empty_house_is_told_to_start_a_task(lh: Lh, cmd: str) -> None:
    refused = lh.envelope(cmd)
    assert (refused["error"]["code"], refused["error"]["message"]) == ("INVALID_INPUT", NO_TARGET)
    assert offered(refused)[0] == ("tasks.macro.start", {})
    assert refused["actions"][0]["missing"] == ["task_title"]
    lh.run_actions({"actions": refused["actions"][:1]}, task_title="Ours")
    assert cmd not in LOOKS or lh(cmd)


def test_an_empty_house_says_so_and_lacks_nothing_to_say_it(lh: Lh) -> None:
    status = lh("status", view="full")
    assert status["headline"] == "workspace acme is new: nothing was written yet"
    assert status.keys().isdisjoint({"job", "held", "inbox", "since", "target", "last_doc_entry"})
    assert lh("tasks.execute.next")["headline"] == "start a task"
    found = lh("system.diagnostics")
    assert [one["code"] for one in found["issues"]] == ["NO_CHECKOUT", "CONTEXT_EMPTY"]
    assert lh("status", view="full")["seq"] == 0, "reading created nothing"


@pytest.mark.parametrize("cmd", LOOKS)
def test_without_a_focus_the_tasks_there_are_offered(lh: Lh, cmd: str) -> None:
    task = new_task(lh, "a")
    refused = lh.envelope(cmd)
    assert (refused["error"]["code"], refused["error"]["message"]) == ("INVALID_INPUT", NO_TARGET)
    assert offered(refused)[0] == ("tasks.radar", {"task": task})
    before = fingerprint(lh)
    lh.run_actions(refused)
    assert fingerprint(lh) == before, "nobody named this task, so it is only shown"


@pytest.mark.parametrize("by", [{}, {"agent_id": "amber-otter"}])
def test_a_deleted_focus_is_no_focus_for_anybody(lh: Lh, by: dict[str, str]) -> None:
    task = new_task(lh, "a")
    lh("tasks.focus.set", task=task, **by)
    other = new_task(lh, "b")
    lh("tasks.delete", task=task)
    assert lh("status", view="full", **by)["focus"] is None
    assert "focus=-" in lh.lines("status", view="full", **by)[0]
    for cmd in LOOKS:
        refused = lh.envelope(cmd, **by)
        assert refused["error"]["message"] == NO_TARGET
        assert offered(refused)[0] == ("tasks.radar", {"task": other})
        gone = lh.envelope(cmd, task=task, **by)
        assert gone["error"]["code"] == "UNKNOWN_ID"
        assert gone["error"]["message"] == f"task: there is no {task}"
    lh.run_actions(gone)


@pytest.mark.parametrize(
    "given, call",
    [
        ({"task": "PLAN-001"}, {"plan": "PLAN-001"}),
        ({"plan": "TASK-001"}, {"task": "TASK-001"}),
        ({"task": "STEP-00000001"}, "STEP-00000001"),
        ({"target": "JOB-001"}, "JOB-001"),
        ({"target": "CARD-1"}, "CARD-1"),
        ({"plan": "a:core"}, "a:core"),
    ],
)
@pytest.mark.parametrize("cmd", ["tasks.snapshot", "tasks.resume.super"])
def test_an_id_of_another_kind_is_put_where_it_belongs_or_opened(
    lh: Lh, cmd: str, given: dict[str, str], call: dict[str, str] | str
) -> None:
    task = new_task(lh, "a")
    lh("jobs.create", title="Look", prompt="Look at it.")
    lh("think.card", card={"id": "CARD-1", "title": "x", "tags": ["a:core"]}, target=task)
    refused = lh.envelope(cmd, **given)
    if isinstance(call, dict):  # a read is carried out where the id belongs, and teaches it
        assert refused["warnings"][-1]["code"] == "UNDERSTOOD"
        assert refused["result"] == lh.envelope(cmd, **call)["result"]
        return
    assert refused["error"]["code"] == "INVALID_INPUT"
    assert ("open", None) in offered(refused)
    assert call in [one["args"].get("id") for one in refused["actions"]]
    lh.run_actions(refused)


@pytest.mark.parametrize("wrong", ["", "TASK-x", "x", "TASK-001 ", "TASK-" + "9" * 40])
def test_an_id_of_no_kind_is_answered_with_one_that_is_right(lh: Lh, wrong: str) -> None:
    new_task(lh, "a")
    refused = lh.envelope("tasks.snapshot", task=wrong)
    assert refused["error"]["code"] == "INVALID_INPUT"
    assert refused["error"]["recovery"]
    lh.run_actions(refused)


def test_a_task_without_an_open_step_is_not_offered_the_same_call_again(lh: Lh) -> None:
    task = new_task(lh, "a")
    close(lh, task)
    refused = lh.envelope("tasks.macro.close.step", task=task, note="again")
    assert refused["error"]["message"].startswith(f"path: {task} has no open step")
    assert "tasks.macro.close.step" not in [cmd for cmd, _ in offered(refused)]
    lh.run_actions(refused)
