"""The one shape of answers and errors; nothing else pins it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from longhouse.dispatch import Caller
from longhouse.dispatch.aftermath import Aftermath
from longhouse.house import House
from longhouse.kernel.envelope import actions_for, envelope, portal_call
from longhouse.kernel.errors import LonghouseError, OutcomeUnknown, Suggestion
from longhouse.kernel.opening import opens
from longhouse.kernel.registry import Role
from longhouse.memory.types.documents import CommitNote, ShowDocument
from longhouse.store.tx import Call
from tests.kit import CountedIds, Lh
from tools.commands import every_error

ENVELOPE = [
    "success",
    "intent",
    "result",
    "refs",
    "actions",
    "warnings",
    "suggestions",
    "context",
    "error",
    "timestamp",
]
ACTION = {"action_id", "priority", "tool", "args", "why", "risk"}


def test_a_success_has_every_field_in_order(lh: Lh) -> None:
    answer = lh.house.call("vcs.notes.commit", {"content": "x"})
    assert list(answer.envelope) == ENVELOPE
    assert answer.envelope["success"] is True
    assert answer.envelope["intent"] == "vcs.notes.commit"
    assert answer.envelope["error"] is None
    assert answer.envelope["suggestions"] == []
    assert answer.envelope["timestamp"] == "2027-01-15T08:00:00.000Z"
    assert (answer.status, answer.exit_code, answer.code) == (200, 0, None)
    assert msgspec.json.decode(answer.body()) == answer.envelope


def test_the_refs_of_a_result_are_those_of_its_envelope(lh: Lh) -> None:
    assert lh.envelope("vcs.notes.commit", content="x")["refs"] is None
    assert envelope("x.y", 0, result={"refs": ["notes@1"]})["refs"] == ["notes@1"]
    assert envelope("x.y", 0, result={})["refs"] is None


def test_an_action_names_its_workspace_only_where_the_command_has_one(lh: Lh) -> None:
    registry, common = lh.house.registry, {"workspace": "acme", "max_chars": 900}
    _, call = portal_call(registry, CommitNote(content="x"), common)
    assert (call["workspace"], call["args"]) == ("acme", {"content": "x", "max_chars": 900})
    _, call = portal_call(registry, registry.get("system.help").example, common)
    assert "acme" not in str(call)


def test_a_lost_answer_is_worth_repeating_only_under_a_key() -> None:
    bare, keyed = OutcomeUnknown(), OutcomeUnknown(key="k-1")
    assert (bare.retryable, keyed.retryable) == (False, True)
    assert "idempotency_key=k-1" in str(keyed.recovery)
    assert OutcomeUnknown().retryable is False


def test_a_ref_opens_or_not_or_is_of_no_known_shape(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    call = Call(now_ms=1, ids=CountedIds(), facts=lh.house.facts)
    found = [
        lh.house.db.read("acme", lambda tx, ref=ref: opens(tx, ref), call)
        for ref in ("notes@1", "notes@9", "neither one nor the other")
    ]
    assert found == [True, False, None]


def test_a_refusal_has_the_same_fields_and_an_error(lh: Lh) -> None:
    answer = lh.house.call("open", {"id": "JOB-999"})
    assert list(answer.envelope) == ENVELOPE
    assert answer.envelope["result"] is None
    error = answer.envelope["error"]
    assert set(error) == {"code", "message", "recovery", "retryable"}
    assert error["code"] == answer.code == "UNKNOWN_ID"
    assert (answer.status, answer.exit_code) == (404, 3)


def test_a_wrong_call_also_carries_hints_for_programs(lh: Lh) -> None:
    error = lh.refused("open")
    assert set(error) == {"code", "message", "recovery", "retryable", "hints"}


def test_actions_are_complete_calls_most_urgent_first_and_offered_once(lh: Lh) -> None:
    note = CommitNote(content="x")
    suggestions = [
        Suggestion(ShowDocument(), "low one", priority="low"),
        Suggestion(note, "first"),
        Suggestion(note, "the same again"),
        Suggestion(CommitNote(content="y"), "another", common={"max_chars": 90}),
    ]
    actions = actions_for(lh.house.registry, "acme", suggestions)
    assert [a["action_id"] for a in actions] == [
        "next::vcs.notes.commit",
        "next::vcs.notes.commit::2",
        "next::docs.show",
    ]
    assert all(set(action) == ACTION for action in actions)
    assert actions[0]["args"] == {
        "workspace": "acme",
        "op": "notes.commit",
        "args": {"content": "x"},
    }
    assert actions[1]["args"]["args"] == {"content": "y", "max_chars": 90}
    assert [a["risk"] for a in actions] == ["writes", "writes", "none"]


ERRORS = sorted(every_error(), key=lambda kind: kind.code)


@pytest.mark.parametrize("kind", ERRORS, ids=[kind.code for kind in ERRORS])
def test_every_error_has_a_code_a_message_and_its_numbers(kind: type[LonghouseError]) -> None:
    assert kind.code.replace("_", "").isupper()
    assert 400 <= kind.status < 600
    assert 1 <= kind.exit_code <= 125
    assert (kind.__doc__ or "").splitlines()[0].endswith(".")
    error = kind()
    assert error.message
    assert str(error) == error.message


def test_no_two_unrelated_errors_share_a_code() -> None:
    by_code: dict[str, list[type[LonghouseError]]] = {}
    for kind in every_error():
        by_code.setdefault(kind.code, []).append(kind)
    for code, kinds in by_code.items():
        root = min(kinds, key=lambda k: len(k.__mro__))
        assert all(issubclass(kind, root) for kind in kinds), code


def test_a_defect_tells_nothing_internal_and_reaches_the_observer(
    new_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = new_house()
    heard = []
    house.dispatcher.aftermath = Aftermath(lambda *told: heard.append(told))

    def broken(tx: object, request: object) -> None:
        raise ZeroDivisionError("secret detail")

    command = house.registry.get("docs.show")
    wrong = msgspec.structs.replace(command, handler=broken)
    monkeypatch.setitem(house.registry.commands, "docs.show", wrong)
    answer = house.call("docs.show", {})
    assert answer.code == "INTERNAL_ERROR"
    assert b"secret detail" not in answer.body()
    assert house.settle(5)
    assert isinstance(heard[0][3], ZeroDivisionError)
    house.dispatcher.aftermath.close()


@pytest.mark.parametrize("cmd", [None, 7, [], "", "no.such", "\ud800", "a" * 10_000])
def test_whatever_is_asked_for_the_answer_has_the_one_shape(lh: Lh, cmd: object) -> None:
    answer = lh.house.call(cmd, {})  # type: ignore[arg-type]
    assert list(answer.envelope) == ENVELOPE
    assert answer.code in ("UNKNOWN_CMD", "INVALID_INPUT")
    assert answer.body()


@pytest.mark.parametrize("args", [7, "x", [], [1]])
def test_arguments_that_are_no_object_are_refused(lh: Lh, args: object) -> None:
    assert lh.house.call("status", args).code == "INVALID_INPUT"  # type: ignore[arg-type]


def test_only_calls_that_the_role_may_make_are_offered(lh: Lh) -> None:
    viewer = lh.house.call("status", {}, Caller(Role.VIEWER))
    assert viewer.envelope["actions"] == []
    assert lh.envelope("status")["actions"]
    refused = lh.house.call("jobs.create", {}, Caller(Role.VIEWER))
    assert refused.code == "FORBIDDEN"
    assert "--role agent" in refused.envelope["error"]["recovery"]
