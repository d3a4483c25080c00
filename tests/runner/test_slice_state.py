"""The state machine of a job's slices: every row of its table, and the invariants of every path."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.executors.base import AgentAnswer
from longhouse.executors.options import Options, load_options
from longhouse.runner.slice_state import (
    LEASE_NOTE,
    UNANSWERED_NOTE,
    NextStep,
    SliceDecision,
    SliceEnd,
    SliceState,
    after_answer,
    after_manager,
    ask_for_proof,
    begin_slice,
    judge,
)
from tests.kit import place_of

OPTIONS: Options = load_options(
    {"max_failures": 3, "max_proof_rounds": 2, "max_slices": 9, "retry_pause_ms": 1_000},
    place_of(Path("/nowhere")),
    environ={},
)


def answered(status: str, *refs: str) -> SliceEnd:
    return SliceEnd("exit", AgentAnswer(status=status, summary="s", refs=list(refs)))  # type: ignore[arg-type]


FIRST = SliceState(slices=1)


def judged(end: SliceEnd, state: SliceState = FIRST) -> SliceDecision:
    return judge(state, end, "JOB-001", OPTIONS)


@pytest.mark.parametrize(
    "end, state, step, status",
    [
        (answered("DONE", "notes@1"), SliceState(), NextStep.END, "DONE"),
        (answered("DONE"), SliceState(), NextStep.SLICE, None),
        (answered("DONE", "JOB-001"), SliceState(), NextStep.SLICE, None),
        (answered("DONE"), SliceState(proof_rounds=1), NextStep.MANAGER, None),
        (answered("FAILED"), SliceState(), NextStep.END, "FAILED"),
        (answered("CONTINUE"), SliceState(), NextStep.ANSWER, None),
        (SliceEnd("exit", None, "garbage"), SliceState(), NextStep.SLICE, None),
        (SliceEnd("slice", None, "too long"), SliceState(), NextStep.SLICE, None),
        (SliceEnd("lost", None, "guard killed"), SliceState(), NextStep.SLICE, None),
        (SliceEnd("exit", None, "garbage"), SliceState(failures=2), NextStep.END, "FAILED"),
        (SliceEnd("lease"), SliceState(failures=2), NextStep.SLICE, None),
        (SliceEnd("unstarted", None, "no such file"), SliceState(), NextStep.DECLINE, None),
        (
            SliceEnd("slice", AgentAnswer(status="DONE", summary="")),
            SliceState(),
            NextStep.SLICE,
            None,
        ),
    ],
)
def test_what_follows_from_each_end_of_a_slice(
    end: SliceEnd, state: SliceState, step: NextStep, status: str | None
) -> None:
    decision = judged(end, state)
    assert decision.step is step
    assert (decision.ending.status if decision.ending else None) == status


def test_a_failure_is_reported_paused_for_and_told_to_the_next_slice() -> None:
    first = judged(SliceEnd("exit", None, "quota", resumed=True))
    assert first.report is not None
    assert first.report[:2] == ("error", "slice 1 failed (1 of 3): quota")
    assert (first.pause_s, first.fresh_session) == (1.0, True)
    assert first.state.notes == ("the last slice failed: quota",)
    second = judged(SliceEnd("exit", None, "quota"), first.state)
    assert (second.pause_s, second.fresh_session) == (2.0, False)
    assert judged(answered("CONTINUE"), second.state).state.failures == 0


def test_a_lease_that_ran_out_is_no_failure() -> None:
    decision = judged(SliceEnd("lease"))
    assert (decision.state.failures, decision.state.notes) == (0, (LEASE_NOTE,))
    assert decision.report is None


def test_proof_is_asked_for_so_many_times_and_then_the_job_has_failed() -> None:
    state, rounds = SliceState(slices=1), []
    for _ in range(3):
        decision = judged(answered("DONE"), state)
        if decision.step is NextStep.MANAGER:
            decision = after_manager(decision.state, [], OPTIONS)
        state = decision.state
        rounds.append(decision.report.meta if decision.report else decision.ending)
    assert rounds[:2] == [{"gates": 1}, {"gates": 2}]
    assert decision.ending is not None
    assert decision.ending.status == "FAILED"
    assert "asked 2 times" in decision.ending.summary


def test_proof_of_the_manager_ends_the_job_as_done() -> None:
    waiting = judged(answered("DONE"), SliceState(slices=2, proof_rounds=1, stored=("ART-001",)))
    decision = after_manager(waiting.state, ["notes@7"], OPTIONS)
    assert decision.ending == ("DONE", "s", ["notes@7", "ART-001"], ["notes@7"])


def test_a_question_is_given_up_on_once() -> None:
    state = after_answer(SliceState(), "JOB-001@5").state
    assert (state.notes, state.given_up_on) == ((UNANSWERED_NOTE,), "JOB-001@5")
    assert after_answer(state._replace(notes=()), "JOB-001@5").state.notes == ()
    assert after_answer(SliceState(), None).state == SliceState()


def test_a_job_has_so_much_time_and_so_many_slices() -> None:
    late = begin_slice(SliceState(), OPTIONS.max_runtime_s, OPTIONS)
    assert late.ending is not None
    assert "the limit is 86400 s" in late.ending.summary
    many = begin_slice(SliceState(slices=9), 0, OPTIONS)
    assert many.ending is not None
    assert begin_slice(SliceState(slices=8), 0, OPTIONS).state.slices == 9


ENDS = st.one_of(
    st.builds(
        answered, st.sampled_from(["DONE", "FAILED", "CONTINUE"]), st.sampled_from(["", "notes@1"])
    ),
    st.builds(
        SliceEnd,
        st.sampled_from(["exit", "slice", "lost", "lease", "signal"]),
        st.none(),
        st.text(),
    ),
)


@given(st.lists(ENDS, min_size=10, max_size=40), st.lists(st.booleans(), min_size=40))
def test_every_path_ends_and_only_proof_ends_it_as_done(
    ends: list[SliceEnd], proofs: list[bool]
) -> None:
    state = SliceState()
    for end, proved in zip(ends, proofs, strict=False):
        decision = begin_slice(state, 0, OPTIONS)
        if decision.step is NextStep.SLICE:
            decision = judged(end, decision.state)
        if decision.step is NextStep.MANAGER:
            decision = after_manager(decision.state, ["notes@9"] if proved else [], OPTIONS)
        if decision.step is NextStep.ANSWER:
            decision = after_answer(decision.state, None)
        if decision.ending is not None and decision.ending.status == "DONE":
            assert decision.ending.proof
            if not proved:  # the server refused it
                decision = ask_for_proof(decision.state, "nothing opens", OPTIONS)
        if decision.step is NextStep.END:
            break
        assert decision.step is NextStep.SLICE
        state = decision.state
    else:
        pytest.fail("it goes on for ever")
    assert state.slices <= OPTIONS.max_slices
    assert state.failures < OPTIONS.max_failures
    assert state.proof_rounds <= OPTIONS.max_proof_rounds
