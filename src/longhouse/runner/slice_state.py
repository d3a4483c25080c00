"""Decides what to do after a slice: a pure state machine over how the slice ended.

    how the slice ended                     next step
    --------------------------------------  -------------------------------------------------
    DONE with proof                         END as DONE
    DONE without proof, the first time      ask for proof, another SLICE
    DONE without proof, again               look for proof from the MANAGER, else ask again;
                                            after max_proof_rounds END as FAILED
    FAILED                                  END as FAILED
    CONTINUE                                wait for an open question's ANSWER, another SLICE
    no answer, a bad one, out of time       report the error, pause, another SLICE, in a fresh
                                            session if this one was resumed; after
                                            max_failures in a row END as FAILED
    its lease expired                       another SLICE, whose prompt says so
    the program cannot be started           DECLINE the job: another runner may have the program

Nothing here waits, writes or makes a call: `slice_loop.py` acts on the decisions.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from longhouse.executors import AgentAnswer, Options
from longhouse.kernel.clock import rfc3339
from longhouse.runner.slice_proof import ASK, all_refs, stable_refs

__all__ = [
    "Ending",
    "NextStep",
    "Report",
    "SliceDecision",
    "SliceEnd",
    "SliceState",
    "after_answer",
    "after_manager",
    "ask_for_proof",
    "begin_slice",
    "judge",
    "over_limit",
]

ERROR_CHARS = 800
NOTE_CHARS = 300
MAX_PAUSE_S = 60.0
NO_PROOF = "the answer was DONE, but no ref proves it"
LEASE_NOTE = "the last slice was stopped because its lease could not be renewed"
UNANSWERED_NOTE = "your question was not answered in time: decide for yourself"


class NextStep(Enum):
    """What the driver does next."""

    SLICE = "run another slice"
    ANSWER = "wait for the manager's answer to an open question, then run another slice"
    MANAGER = "check whether the manager has supplied proof instead"
    END = "end the job"
    DECLINE = "give the job back: it cannot run here"


class SliceState(NamedTuple):
    """The state of a job between two slices."""

    slices: int = 0
    failures: int = 0
    proof_rounds: int = 0
    given_up_on: str | None = None
    """The question whose answer the job no longer waits for."""
    notes: tuple[str, ...] = ()
    """Notes about the last slice for the next slice's prompt."""
    last: AgentAnswer = AgentAnswer(status="CONTINUE", summary="")
    stored: tuple[str, ...] = ()
    """Refs of what was stored for the job, oldest first."""

    def refs(self) -> list[str]:
        """The agent's own refs first, since they are the proof; then the stored artifacts."""
        return list(dict.fromkeys([*all_refs(self.last), *reversed(self.stored)]))


class SliceEnd(NamedTuple):
    """How a slice ended: `why` as in `Ended`, and the answer or the error."""

    why: str
    answer: AgentAnswer | None = None
    trouble: str = ""
    notes: tuple[str, ...] = ()
    resumed: bool = False
    """Whether it resumed a session, which may then be the cause of a failure."""


class Report(NamedTuple):
    """An event to report."""

    kind: str
    message: str
    meta: dict[str, Any] | None = None


class Ending(NamedTuple):
    """How the job is to end; `proof` holds the refs that prove it is done."""

    status: str
    summary: str
    refs: list[str]
    proof: list[str] = []


class SliceDecision(NamedTuple):
    """The next step. The driver first reports, then pauses, then takes the step."""

    step: NextStep
    state: SliceState
    report: Report | None = None
    pause_s: float = 0.0
    fresh_session: bool = False
    ending: Ending | None = None
    reason: str = ""


def over_limit(job: dict[str, Any], now_ms: float) -> str | None:
    """The limit of its own that the job has reached, if any; an unknown cost counts as zero."""
    limits, usage = job.get("limits") or {}, job.get("usage") or {}
    deadline = limits.get("deadline_ms")
    if deadline and now_ms >= deadline:
        return f"not done by its deadline ({rfc3339(deadline)})"
    tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    if limits.get("max_tokens") and tokens >= limits["max_tokens"]:
        return f"not done after {tokens} tokens; max_tokens is {limits['max_tokens']}"
    cost = usage.get("cost_usd")
    spent = float(cost) if isinstance(cost, int | float) else 0.0
    if limits.get("max_cost_usd") and spent >= limits["max_cost_usd"]:
        return f"not done after ${spent:.2f}; max_cost_usd is {limits['max_cost_usd']}"
    return None


def begin_slice(
    state: SliceState, ran_s: float, options: Options, over: str | None = None
) -> SliceDecision:
    """Another slice, unless the job has used up its time, its slices or one of its own limits."""
    if over is not None:
        return _failed(state, over)
    if ran_s >= options.max_runtime_s:
        why = f"not done after {ran_s:.0f} s; the limit is {options.max_runtime_s} s"
        return _failed(state, why)
    if state.slices >= options.max_slices:
        return _failed(state, f"not done after {state.slices} slices")
    return SliceDecision(NextStep.SLICE, state._replace(slices=state.slices + 1))


def judge(state: SliceState, end: SliceEnd, job: str, options: Options) -> SliceDecision:
    """Decide the next step after a slice."""
    state = state._replace(notes=end.notes)
    if end.why == "exit" and end.answer is not None:
        return _follow(state._replace(failures=0, last=end.answer), end.answer, job, options)
    if end.why == "unstarted":
        return SliceDecision(NextStep.DECLINE, state, reason=end.trouble)
    if end.why == "lease":
        return SliceDecision(NextStep.SLICE, _noting(state, LEASE_NOTE))
    return _failure(state, end, options)


def ask_for_proof(state: SliceState, why: str, options: Options) -> SliceDecision:
    """Ask for the missing proof, or fail the job after `max_proof_rounds` requests."""
    most = options.max_proof_rounds
    asked = state.proof_rounds
    state = state._replace(proof_rounds=asked + 1)
    if asked >= most:
        refusal = f"Not accepted as done: {why}, asked {asked} times"
        return _failed(state, f"{state.last.summary}\n\n{refusal}")
    message = f"{why} (round {asked + 1} of {most}). {ASK}"
    report = Report("proof_gate", message, {"gates": asked + 1})
    return SliceDecision(NextStep.SLICE, state, report)


def after_manager(state: SliceState, given: list[str], options: Options) -> SliceDecision:
    """DONE with the manager's proof if there is any; otherwise ask the agent again."""
    if not given:
        return ask_for_proof(state, NO_PROOF, options)
    ending = Ending("DONE", state.last.summary, [*given, *state.refs()], given)
    return SliceDecision(NextStep.END, state, ending=ending)


def after_answer(state: SliceState, unanswered: str | None) -> SliceDecision:
    """Another slice; if the question is still open, the agent must decide for itself."""
    if unanswered is not None and unanswered != state.given_up_on:
        state = _noting(state._replace(given_up_on=unanswered), UNANSWERED_NOTE)
    return SliceDecision(NextStep.SLICE, state)


def _follow(state: SliceState, answer: AgentAnswer, job: str, options: Options) -> SliceDecision:
    if answer.status == "CONTINUE":
        return SliceDecision(NextStep.ANSWER, state)
    if answer.status == "FAILED":
        summary = answer.summary or "its agent gave up"
        return SliceDecision(NextStep.END, state, ending=Ending("FAILED", summary, state.refs()))
    if proof := stable_refs(all_refs(answer), job):
        ending = Ending("DONE", answer.summary, state.refs(), proof)
        return SliceDecision(NextStep.END, state, ending=ending)
    if state.proof_rounds:
        return SliceDecision(NextStep.MANAGER, state)
    return ask_for_proof(state, NO_PROOF, options)


def _failure(state: SliceState, end: SliceEnd, options: Options) -> SliceDecision:
    trouble = end.trouble
    failures, most = state.failures + 1, options.max_failures
    message = f"slice {state.slices} failed ({failures} of {most}): {trouble[:ERROR_CHARS]}"
    report = Report("error", message)
    state = _noting(
        state._replace(failures=failures), f"the last slice failed: {trouble[:NOTE_CHARS]}"
    )
    if failures >= most:
        why = f"{failures} slices in a row failed; the last: {trouble}"
        return _failed(state, why)._replace(report=report)
    pause_s = options.retry_pause_ms / 1000 * 2 ** (failures - 1)
    return SliceDecision(
        NextStep.SLICE, state, report, pause_s=min(pause_s, MAX_PAUSE_S), fresh_session=end.resumed
    )


def _failed(state: SliceState, why: str) -> SliceDecision:
    return SliceDecision(NextStep.END, state, ending=Ending("FAILED", why, state.refs()))


def _noting(state: SliceState, note: str) -> SliceState:
    return state._replace(notes=(*state.notes, note))
