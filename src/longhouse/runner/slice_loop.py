"""Drives one job from slice to slice: runs a child, records how it ended, does what `judge` says.

All decisions are made in `slice_state.py`; the code here only reads, runs, stores and reports.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.executors import (
    AgentAnswer,
    ClaimedJob,
    Executor,
    ExecutorSession,
    McpEntry,
    NotHere,
    SessionFile,
    Slice,
    SliceResult,
    is_session_id,
    result_of,
    trouble_of,
    unable,
)
from longhouse.git import TreeWatch
from longhouse.kernel.lines import clip
from longhouse.runner.claim import OVER, Claim, usage_told
from longhouse.runner.job_control import JobControl
from longhouse.runner.outputs import Outputs, Stored
from longhouse.runner.prompt import SliceContext, slice_prompt, thread_of
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.slice_files import SliceFile, SliceNote, begin
from longhouse.runner.slice_proof import all_refs, stable_refs
from longhouse.runner.slice_state import (
    Ending,
    NextStep,
    SliceDecision,
    SliceEnd,
    SliceState,
    after_answer,
    after_manager,
    ask_for_proof,
    begin_slice,
    judge,
    over_limit,
)
from longhouse.supervisor import Ended, StreamCapture

if TYPE_CHECKING:
    from io import FileIO

__all__ = ["SliceLoop", "Workplace", "open_job"]

MAX_EVENTS = 20
THREAD_LOOK = 40
LOOK_AGAIN_S = 15.0
SUMMARY_CHARS = 2_000


def open_job(context: RunnerContext, job: str, **more: Any) -> dict[str, Any]:
    """The job with its newest events, read from the control plane."""
    view: dict[str, Any] = context.plane.ask(
        "jobs.open", job=job, max_events=THREAD_LOOK, max_chars=80_000, **more
    )
    return view


class Workplace(NamedTuple):
    """Where a job's agent works: its folder, scratch folder, saved session and MCP entry.

    `files` finds out which files changed; None where git cannot tell.
    """

    cwd: Path
    scratch: Path
    session: SessionFile
    entry: McpEntry
    files: TreeWatch | None = None


class SliceLoop:
    """Runs slices until the job has an ending to report."""

    def __init__(
        self,
        context: RunnerContext,
        claim: Claim,
        control: JobControl,
        job: ClaimedJob,
        executor: Executor,
        place: Workplace,
        *,
        runtime: dict[str, Any],
        view: dict[str, Any] | None = None,
    ) -> None:
        """`view` is the job as just opened, so that the first slice need not open it again."""
        if OVER.items() <= runtime.items():
            runtime = {}
        self._context = context
        self._options = context.options
        self._claim = claim
        self._control = control
        self._job = job
        self._executor = executor
        self._place = place
        self._outputs = Outputs(
            context.plane, job.id, self._options.max_output_bytes, never=context.home
        )
        self._view = view
        self._session = place.session.find(runtime, executor)
        self._began = time.monotonic() - _noted(runtime.get("ran_s"))
        self._state = SliceState(
            proof_rounds=int(_noted(runtime.get("gates"))),
            last=AgentAnswer(status="CONTINUE", summary=str(runtime.get("summary", ""))),
        )

    def run(self, *, refused: str | None = None) -> Ending:
        """Run slices and return the ending; `refused` says why the server refused the last one."""
        decision = SliceDecision(NextStep.SLICE, self._state)
        if refused is not None:
            decision = ask_for_proof(self._state, refused, self._options)
        while True:
            self._state = decision.state
            if (due := decision.report) is not None:
                self._claim.report(due.kind, due.message, meta=due.meta)
            if decision.fresh_session:
                self._session = None
            self._control.pause(decision.pause_s)
            match decision.step:
                case NextStep.SLICE:
                    decision = self._next_slice()
                case NextStep.ANSWER:
                    decision = after_answer(self._state, self._await_answer())
                case NextStep.MANAGER:
                    decision = after_manager(self._state, self._manager_refs(), self._options)
                case NextStep.DECLINE:
                    raise NotHere(decision.reason)
                case NextStep.END:
                    assert decision.ending is not None
                    return decision.ending

    # ---- one slice

    def _next_slice(self) -> SliceDecision:
        view = self._view = self._view or self._open()
        over = over_limit(view["job"], time.time() * 1000)
        begun = begin_slice(self._state, time.monotonic() - self._began, self._options, over)
        if begun.step is NextStep.END:
            return begun
        self._state = begun.state
        resumed = self._session
        kept = self._output_file()
        files, began = self._place.files, time.monotonic()
        with kept.file:
            before = files.look() if files else None
            ended = self._run(kept.file)
            result = result_of(self._executor, ended, self._place.scratch)
            changed = files.since(before, self._job.given) if files else None
            self._record(ended, result, changed, began)
            kept.remove()
        if result.answer is None or ended.why != "exit":
            self._control.check()
        else:
            self._tell_answer(result.answer)
        end = SliceEnd(
            ended.why,
            result.answer,
            trouble_of(ended, result, self._options.slice_s),
            result.notes,
            resumed=resumed is not None,
        )
        return judge(self._state, end, self._job.id, self._options)

    def _run(self, file: FileIO) -> Ended:
        cwd, options = self._place.cwd, self._options
        this = Slice(
            number=self._state.slices,
            prompt=slice_prompt(self._job, self._prompt_context()),
            cwd=cwd,
            scratch=self._place.scratch,
            sandbox=options.sandbox,
            entry=self._place.entry,
            session=self._session.id if self._session else None,
            hidden=self._context.hidden,
        )
        left_s = options.max_runtime_s - (time.monotonic() - self._began)
        allowed_s = min(options.slice_s + options.slice_grace_s, max(left_s, 0.0))
        stdout = StreamCapture(file=file, most=options.max_output_bytes)
        try:
            plan = self._executor.plan(self._job, this)
            return self._control.run_child(plan, cwd, time.monotonic() + allowed_s, stdout)
        except OSError as error:
            raise unable(f"the agent cannot be started in {cwd}", error) from error

    def _output_file(self) -> SliceFile:
        """A file for everything the agent prints; after a crash the next runner finds it."""
        session = self._session or ExecutorSession(self._executor.name, "")
        note = SliceNote(
            self._job.id,
            self._claim.revision,
            self._state.slices,
            self._executor.name,
            session.id or None,
            session.total,
        )
        try:
            return begin(self._context.home, self._context.workspace, note)
        except OSError as error:
            raise unable("no file can be created for its output", error) from error

    def _prompt_context(self) -> SliceContext:
        view, self._view = self._view or self._open(), None
        state, resumed = self._state, self._session is not None
        return SliceContext(
            number=state.slices,
            slice_s=self._options.slice_s,
            skill="" if resumed else self._context.skills.text(self._job.kind, self._job.meta),
            thread=thread_of(view["events"]),
            prior_summary=state.last.summary,
            prior_refs=tuple(all_refs(state.last)),
            task="" if resumed else self._context.task_lines(self._job.task),
            gate="" if resumed else self._context.strict_gate(self._job.task),
            notes=state.notes,
            resumed=resumed,
            proof_missing=state.proof_rounds > 0,
        )

    # ---- recording it

    def _record(
        self, ended: Ended, result: SliceResult, changed: dict[str, Any] | None, began: float
    ) -> None:
        """Store the transcript, the session and the usage; report how the slice ended."""
        if ended.why == "lost":
            self._control.check()
        number, used = self._state.slices, self._use(result)
        transcript = self._outputs.transcript(number, ended.stdout)
        self._keep([transcript])
        outcome = result.answer.status if result.answer else f"no answer ({ended.why})"
        killed = f", {ended.killed} processes had to be killed" if ended.killed else ""
        stuck = f", {len(ended.left)} could not be killed" if ended.left else ""
        lacking = f"; {transcript.trouble}" if transcript.trouble and ended.stdout.total else ""
        if changed is not None:  # the server counts back from the time it receives the report
            changed["over_ms"] = int((time.monotonic() - began) * 1000)
        self._claim.report(
            "progress",
            f"runner: slice {number} ended after {ended.seconds:.1f} s: {outcome}"
            f"{killed}{stuck}{lacking}",
            refs=[transcript.ref] if transcript.ref else [],
            usage=usage_told(used, self._executor.name, began=ended.stdout.total > 0),
            meta=self._notes(result.answer or self._state.last),
            changed=changed,
        )
        self._log(
            "slice.ended",
            slice=number,
            why=ended.why,
            code=ended.code,
            signal=ended.signal,
            status=outcome,
            seconds=round(ended.seconds, 1),
            killed=ended.killed or None,
            session=result.session,
        )

    def _use(self, result: SliceResult) -> Any:
        """What the slice used; saves its session for the next slice."""
        used = result.usage
        if result.session and is_session_id(result.session):
            session = self._session
            if session is None or session.id != result.session:
                session = ExecutorSession(self._executor.name, result.session)
            used = session.used(result, self._executor)
            self._session = session.after(result)
        self._place.session.keep(self._session)
        return used

    def _notes(self, last: AgentAnswer) -> dict[str, Any]:
        """All runtime notes every time, so that none is left over from an earlier attempt."""
        return {
            "over": None,
            "counted": [self._claim.revision, self._state.slices],
            "ran_s": round(time.monotonic() - self._began),
            "gates": self._state.proof_rounds or None,
            "session": self._session.meta() if self._session else None,
            "summary": clip(last.summary, SUMMARY_CHARS) or None,
        }

    def _tell_answer(self, answer: AgentAnswer) -> None:
        """Store the files and report the events that the answer names."""
        made = self._outputs.files(answer.artifacts, self._place.cwd)
        self._keep(made)
        for event in answer.events[:MAX_EVENTS]:
            self._claim.report(
                event.kind, event.message or "-", refs=event.refs, percent=event.percent
            )
        if made:
            words = [f"{m.kind} {m.ref}" if m.ref else f"no {m.kind}: {m.trouble}" for m in made]
            digests = {m.ref: m.digest for m in made if m.ref}
            self._claim.report(
                "artifacts",
                "; ".join(words),
                refs=list(digests),
                meta={"artifacts": digests} if digests else None,
            )

    def _keep(self, stored: list[Stored]) -> None:
        refs = [one.ref for one in stored if one.ref]
        self._state = self._state._replace(stored=(*self._state.stored, *refs))
        for one in stored:
            if one.trouble and not one.is_empty:
                self._log("output.trouble", kind=one.kind, why=one.trouble)

    # ---- waiting for the manager

    def _await_answer(self) -> str | None:
        """Hold the job without a child while a question is open, up to `answer_wait_s`.

        The agent may have asked in its answer or by calling jobs.report. Each question is waited
        for only once. Returns the question if it is still open.
        """
        ends = time.monotonic() + self._options.answer_wait_s
        asked = self._open_question()
        if asked is None or asked == self._state.given_up_on:
            return asked
        self._log("job.waits", why="it asked the manager", ref=asked)
        while (left_s := ends - time.monotonic()) > 0:
            self._control.await_news(min(left_s, LOOK_AGAIN_S))
            if self._open_question() is None:
                return None
        return asked

    def _open_question(self) -> str | None:
        """The ref of the newest unanswered question."""
        view = self._view = self._open()  # the next slice's prompt uses it too
        if not view["attention"]["needs_manager"]:
            return None
        asked = (event["ref"] for event in view["events"] if event["kind"] == "question")
        return next(asked, "an older question")

    def _manager_refs(self) -> list[str]:
        """The proof that the manager has supplied since proof was requested."""
        view = self._view = self._open()
        if view["attention"]["needs_proof"]:
            return []
        told = (event for event in view["events"] if event["kind"] == "manager")
        return stable_refs((ref for event in told for ref in event.get("refs", [])), self._job.id)

    def _open(self) -> dict[str, Any]:
        return open_job(self._context, self._job.id)

    def _log(self, event: str, **facts: Any) -> None:
        self._context.log(event, job=self._job.id, **facts)


def _noted(value: Any) -> float:
    """A number from an earlier claim's notes; 0 if it is missing or invalid."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 10**9 else 0.0
