"""The strict gate, and the macros that finish work: each is one transaction, even if refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import close, new_task, step

PROOF = "CMD: make test (exit 0)"
CLOSE = "tasks.macro.close.step"


def strict(lh: Lh, *steps: str | dict[str, Any]) -> str:
    task = new_task(lh, *(steps or ("a", "b")))
    lh("tasks.edit", task=task, reasoning_mode="strict")
    lh("tasks.focus.set", task=task)
    return task


def card(lh: Lh, card_id: str, kind: str, **more: Any) -> None:
    links = {name: more.pop(name) for name in ("supports", "blocks") if name in more}
    lh("think.card", card={"id": card_id, "type": kind, **more}, step="focus", **links)


def argue(lh: Lh) -> None:
    """The smallest set that passes: a claim, its test, a counter-claim and the test of that."""
    card(lh, "CARD-H1", "hypothesis", title="The cache is stale")
    card(lh, "CARD-T1", "test", title="Ask twice", supports=["CARD-H1"])
    card(lh, "CARD-H2", "hypothesis", title="The log is", tags=["counter"], blocks=["CARD-H1"])
    card(lh, "CARD-T2", "test", title="Read the log", supports=["CARD-H2"])


def missing(lh: Lh) -> list[str]:
    return [one["code"] for one in lh("tasks.gate").get("missing", [])]


def test_a_strict_step_needs_a_claim_its_test_and_what_speaks_against_it(lh: Lh) -> None:
    strict(lh)
    assert missing(lh) == ["NO_CLAIM"]
    card(lh, "CARD-H1", "hypothesis", title="The cache is stale")
    assert missing(lh) == ["BM4_HYPOTHESIS_NO_TEST"]
    card(lh, "CARD-T1", "test", title="Ask twice", supports=["CARD-H1"])
    assert missing(lh) == ["BM10_NO_COUNTER_EDGES"]
    argue(lh)
    assert lh("tasks.gate")["passes"] is True
    closed = lh("tasks.step.close", checkpoints="gate", proof=PROOF, view="full")
    assert closed["step"]["completed"] is True
    assert missing(lh) == ["NO_CLAIM"], "the cards of one step do not count for the next"


def test_a_decision_about_which_the_engine_is_quiet_passes(lh: Lh) -> None:
    strict(lh)
    card(lh, "CARD-D1", "decision", title="Drop the cache")
    assert lh("tasks.gate")["passes"] is True
    lh("think.set.status", status="superseded", targets=["CARD-D1"])
    assert missing(lh) == ["NO_CLAIM"], "a settled card is not a claim"


@pytest.mark.parametrize(
    "cmd, args",
    [
        ("tasks.step.close", {"checkpoints": "gate", "proof": PROOF}),
        (CLOSE, {"proof": PROOF, "note": "It is done."}),
        ("tasks.done", {}),
        ("tasks.progress", {"completed": True}),
    ],
)
def test_every_way_to_close_a_strict_step_asks_the_gate_and_leaves_nothing(
    lh: Lh, cmd: str, args: dict[str, Any]
) -> None:
    strict(lh)
    lh("tasks.verify", checkpoints="gate")
    seq = lh("status")["seq"]
    refused = lh.envelope(cmd, **args)
    assert refused["error"]["code"] == "REASONING_REQUIRED"
    assert "NO_CLAIM" in refused["error"]["message"]
    assert lh("status")["seq"] == seq, "neither note nor proof stays"
    lh.run_actions(refused)
    assert missing(lh) == ["NO_CLAIM"], "a template is not a claim"
    assert lh.refused(cmd, **args)["code"] == "REASONING_REQUIRED"
    card(lh, "CARD-CLAIM-STEP-00000001", "decision", title="It is the cache", text="Measured.")
    lh(cmd, **args)


def test_following_the_offers_of_the_gate_brings_it_to_open(lh: Lh) -> None:
    strict(lh)
    card(lh, "CARD-H1", "hypothesis", title="The cache is stale")
    for _ in range(4):
        shut = lh.envelope("tasks.gate")
        if shut["result"]["passes"]:
            break
        lh.run_actions(
            shut, title="Ours", text="CMD: make bench\nLINK: https://ci.example/1\nSaw it"
        )
    assert lh("tasks.gate")["passes"] is True


def test_an_override_closes_and_is_on_record(lh: Lh) -> None:
    task = strict(lh, "a", step("b", proof={"tests": "require"}))
    why = {"reason": "The pager rings", "risk": "It may come back"}
    done = lh.envelope(CLOSE, proof=PROOF, override=why, view="smart")
    result = done["result"]
    assert result["step"]["completed"] is True
    assert result["overrode"][0].startswith("NO_CLAIM ")
    assert [one["code"] for one in done["warnings"]] == ["STRICT_OVERRIDE_APPLIED"]
    note = lh("docs.show", target=task, doc_kind="notes", limit=50)["entries"][0]["content"]
    assert "The pager rings" in note
    assert "It may come back" in note
    assert "NO_CLAIM" in note
    recorded = lh("tasks.history", task=task)["operations"]
    (event,) = [one for one in recorded if one["type"] == "gate_overridden"]
    assert event["payload"]["risk"] == "It may come back"
    assert lh.refused(CLOSE, override=why)["code"] == "PROOF_REQUIRED", "it does not replace proof"
    for wrong in ({"reason": "x"}, {"reason": "", "risk": "y"}, {}):
        assert lh.refused(CLOSE, proof=PROOF, override=wrong)["code"] == "INVALID_INPUT"


def test_an_override_where_nothing_is_missing_records_nothing(lh: Lh) -> None:
    strict(lh)
    argue(lh)
    done = lh.envelope(CLOSE, proof=PROOF, override={"reason": "r", "risk": "k"})
    assert "overrode" not in done["result"]
    assert done["warnings"] == []


def test_force_passes_the_gate_with_its_reason_and_what_was_missing(lh: Lh) -> None:
    strict(lh)
    forced = lh("tasks.progress", completed=True, force=True, reason="Rolled back")
    assert forced["event"]["payload"]["skipped"]["reasoning"][0].startswith("NO_CLAIM ")


def test_closing_a_step_gives_what_is_next_in_the_same_answer(lh: Lh) -> None:
    task = new_task(lh, "a", step("b", tests=["make bench"]))
    lh("tasks.focus.set", task=task)
    envelope = lh.envelope(CLOSE, note=f"Swapped it.\n{PROOF}", view="smart")
    done = envelope["result"]
    assert (done["path"], done["step"]["completed"]) == ("s:0", True)
    assert done["next"].startswith("next gate s:1 ")
    assert done["resume"]["capsule"]["step"]["path"] == "s:1"
    types = [one["type"] for one in done["events"]]
    assert types == ["step_noted", "evidence_captured", "step_verified", "step_done"]
    shown = lh("open", id="STEP-00000001")["proofs"][0]["receipt"]
    assert (shown["text"], shown["proves"]) == ("make test", True), "the note is the proof"
    lh.run_actions(envelope)
    state, command = lh.lines(CLOSE, proof=PROOF)
    assert state == "TASK-001 closed s:1 (b) | ref=TASK-001 | next finish"
    assert command == "tasks cmd=tasks.complete task=TASK-001"


def test_a_refused_macro_leaves_neither_note_nor_proof(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "require"}), "b")
    lh("tasks.focus.set", task=task)
    seq = lh("status")["seq"]
    refused = lh.envelope(CLOSE, note="Looks fine to me.")
    assert refused["error"]["code"] == "PROOF_REQUIRED"
    lh.run_actions(refused)
    assert lh("status")["seq"] == seq


def test_finish_ends_a_task_once_and_keeps_its_last_note(lh: Lh) -> None:
    task = new_task(lh, "a")
    refused = lh.envelope("tasks.macro.finish", task=task, final_note="Done.")
    assert refused["error"]["code"] == "CONFLICT"
    lh.run_actions(refused)
    close(lh, task)
    done = lh.envelope("tasks.macro.finish", task=task, final_note="The index is live.")
    assert (done["result"]["status"], done["result"]["changed"]) == ("DONE", True)
    kept = lh("open", id=done["result"]["final_note"])["entry"]
    assert kept["content"] == "The index is live."
    lh.run_actions(done)
    seq = lh("status")["seq"]
    again = lh("tasks.macro.finish", task=task, final_note="The index is live.")
    assert again["changed"] is False
    assert lh("status")["seq"] == seq


def test_what_was_done_already_is_recorded_in_one_call_or_not_at_all(lh: Lh) -> None:
    made = lh.envelope("tasks.macro.create.done", task_title="Mend the typo", proof=PROOF)
    task = made["result"]["task_id"]
    assert lh("open", id=task)["target"]["status"] == "DONE"
    lh.run_actions(made)
    seq = lh("status")["seq"]
    for wrong in (
        {"steps": ["a", "b"]},
        {"template": "basic-task"},
        {"proof": "looks fine", "steps": [step("a", proof={"tests": "require"})]},
        {"reasoning_mode": "strict"},
    ):
        assert not lh.envelope(
            "tasks.macro.create.done", **{"task_title": "T", "proof": PROOF, **wrong}
        )["success"]
    assert lh("status")["seq"] == seq, "no plan, task or step of a refused one stays"


def test_a_shut_gate_offers_two_cards_to_fill_in_and_how_it_is_argued(lh: Lh) -> None:
    strict(lh)
    for number in range(4):
        card(lh, f"CARD-H{number}", "hypothesis", title=f"Guess {number}")
    calls = [one["args"] for one in lh.envelope("tasks.gate")["actions"]]
    assert [one["cmd"] for one in calls] == ["think.card", "think.card", "think.playbook"]
    assert calls[-1]["args"] == {"name": "strict"}
