"""The course of one job: its slices, and what each of them leads to.

answer DONE with proof     -> the job is DONE
answer DONE without        -> proof_gate, another slice; after so many rounds FAILED
answer FAILED              -> the job is FAILED
answer CONTINUE            -> another slice; first the manager's word, if it asked for that
no answer, a bad one, an exit code, the end of the slice's time
                           -> error, another slice; after so many in a row FAILED
a program that is not there-> the job is given back: another runner may have it
no room for it just now    -> the same, and this runner may have it again after a rest
"""

from __future__ import annotations

import errno
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.lines import clip
from longhouse.runner.claim import OVER, ProofMissing
from longhouse.runner.executors.base import Answer, Executor, Job, Slice, SliceResult
from longhouse.runner.outputs import Outputs, Stored
from longhouse.runner.prompt import Context, slice_prompt, thread_of
from longhouse.runner.sessions import Session, find_session
from longhouse.runner.skills import skill_text
from longhouse.runner.slice_proof import ASK, all_refs, stable_refs
from longhouse.runner.slices import result_of, trouble_of
from longhouse.supervisor.capture import Capture
from longhouse.supervisor.child import Ended

if TYPE_CHECKING:
    from io import FileIO

    from longhouse.runner.work import Work

__all__ = ["Course", "NoRoom", "NotHere", "Over", "unable"]

EVENTS = 20
THREAD_LOOK = 40
ERROR_CHARS = 800
PAUSE_MOST_S = 60.0
LOOK_AGAIN_S = 15.0
_SHORT = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


class NotHere(LonghouseError):
    """The program that the job needs is not on this machine."""

    code = "EXECUTOR_MISSING"


class NoRoom(NotHere):
    """The machine is short of something just now: space, files, memory."""

    code = "NO_ROOM"


def unable(what: str, error: OSError) -> NotHere:
    """Why a job cannot be run here: not now, or not at all."""
    return (NoRoom if error.errno in _SHORT else NotHere)(f"{what}: {error.strerror or error}")


class Over(NamedTuple):
    """The job is to end so; `proof` are those of the refs that show it is done."""

    status: str
    summary: str
    refs: list[str]
    proof: list[str] = []


class Course:
    """Runs slices until there is an end to report."""

    def __init__(
        self,
        work: Work,
        job: Job,
        executor: Executor,
        runtime: dict[str, Any],
        cwd: Path,
        scratch: Path,
    ) -> None:
        if OVER.items() <= runtime.items():
            runtime = {}
        self._work = work
        self._claim = work.claim
        self._options = work.means.options
        self._job = job
        self._executor = executor
        self._cwd = cwd
        self._scratch = scratch
        self._outputs = Outputs(work.means.plane, job.id, self._options.max_output_bytes)
        self._session = find_session(runtime, executor)
        self._began = time.monotonic() - _noted(runtime.get("ran_s"))
        self._number = 0
        self._failures = 0
        self._gates = int(_noted(runtime.get("gates")))
        self._gated = self._gates > 0
        self._given_up_on: str | None = None
        self._notes: list[str] = []
        self._prior = Answer(status="CONTINUE", summary=str(runtime.get("summary", "")))
        self._stored: list[str] = []
        self._skill: str | None = None

    def run(self) -> Over:
        while True:
            if over := self._limit():
                return over
            self._number += 1
            started = self._session
            with self._transcript() as file:
                ended, result = self._slice(file)
                self._record(ended, result, started)
            if over := self._judge(ended, result, started):
                return over

    def _limit(self) -> Over | None:
        ran_s = time.monotonic() - self._began
        if ran_s >= self._options.max_runtime_s:
            return self._failed(
                f"not done after {ran_s:.0f} s, and {self._options.max_runtime_s} is the most"
            )
        if self._number >= self._options.max_slices:
            return self._failed(f"not done after {self._number} slices")
        return None

    # ---- one slice

    def _slice(self, file: FileIO) -> tuple[Ended, SliceResult]:
        self._claim.report("progress", f"runner: slice {self._number} starts")
        this = Slice(
            number=self._number,
            prompt=slice_prompt(self._job, self._context()),
            cwd=self._cwd,
            scratch=self._scratch,
            sandbox=self._options.sandbox,
            entry=self._work.means.entry,
            session=self._session.id if self._session else None,
        )
        longest_s = self._options.slice_s + self._options.slice_grace_s
        left_s = self._options.max_runtime_s - (time.monotonic() - self._began)
        until = time.monotonic() + min(longest_s, max(left_s, 0.0))
        stdout = Capture(file=file, most=self._options.max_output_bytes)
        try:
            plan = self._executor.plan(self._job, this)
            ended = self._work.run_child(plan, self._cwd, until, stdout)
        except OSError as error:
            raise unable(f"it cannot be started in {self._cwd}", error) from error
        return ended, result_of(self._executor, ended, self._scratch)

    def _transcript(self) -> FileIO:
        """A file for all that the agent prints; it has no name, so nobody else finds it."""
        try:
            return tempfile.TemporaryFile(buffering=0, dir=self._scratch)
        except OSError as error:
            raise unable("its output has no place", error) from error

    def _context(self) -> Context:
        view = self._work.means.plane.ask(
            "jobs.open", job=self._job.id, max_events=THREAD_LOOK, max_chars=40_000
        )
        resumed = self._session is not None
        if self._skill is None:
            self._skill = skill_text(
                self._work.means.plane, self._job.kind, self._job.meta, self._options
            )
        return Context(
            number=self._number,
            slice_s=self._options.slice_s,
            skill=self._skill,
            thread=thread_of(view["events"]),
            prior_summary=self._prior.summary,
            prior_refs=tuple(all_refs(self._prior)),
            task="" if resumed else self._work.means.task_lines(self._job.task),
            notes=tuple(self._notes),
            resumed=resumed,
            proof_missing=self._gated,
        )

    def _record(self, ended: Ended, result: SliceResult, before: Session | None) -> None:
        """Keep the transcript, the session and what it cost; tell how the slice ended."""
        if ended.why == "lost":
            self._work.check()
        used = result.usage
        if result.session:
            known = before is not None and before.id == result.session
            session = before if known and before else Session(self._executor.name, result.session)
            used = session.used(result, self._executor)
            self._session = session.after(result)
        said = result.answer or self._prior
        meta = {  # all of it each time: nothing of an attempt before this one is gone on with
            "over": None,
            "ran_s": round(time.monotonic() - self._began),
            "gates": self._gates or None,
            "session": self._session.meta() if self._session else None,
            "summary": clip(said.summary, 2_000) or None,
        }
        transcript = self._outputs.transcript(self._number, ended.stdout)
        self._keep([transcript])
        outcome = result.answer.status if result.answer else f"no answer ({ended.why})"
        leftovers = f", {ended.killed} processes had to be killed" if ended.killed else ""
        stuck = f", {len(ended.left)} could not be" if ended.left else ""
        untold = f"; {transcript.trouble}" if transcript.trouble and ended.stdout.total else ""
        self._claim.report(
            "progress",
            f"runner: slice {self._number} ended after {ended.seconds:.1f} s: {outcome}"
            f"{leftovers}{stuck}{untold}",
            refs=[transcript.ref] if transcript.ref else [],
            usage=used if any(used) else None,
            meta=meta,
        )
        self._work.tell(
            "slice.ended",
            slice=self._number,
            why=ended.why,
            code=ended.code,
            signal=ended.signal,
            status=outcome,
            seconds=round(ended.seconds, 1),
            killed=ended.killed or None,
            session=result.session,
        )

    # ---- what follows from it

    def _judge(self, ended: Ended, result: SliceResult, started: Session | None) -> Over | None:
        self._notes = list(result.notes)
        if ended.why == "exit" and result.answer is not None:
            self._failures = 0
            return self._follow(result.answer)
        self._work.check()
        if ended.why == "unstarted":
            raise NotHere(ended.error or "the program could not be started")
        if ended.why == "lease":
            self._notes.append("the last slice was ended: its lease could not be renewed")
            return None
        return self._failure(trouble_of(ended, result, self._options.slice_s), started)

    def _failure(self, trouble: str, started: Session | None) -> Over | None:
        self._failures += 1
        most = self._options.max_failures
        self._claim.report(
            "error",
            f"slice {self._number} failed ({self._failures} of {most}): {trouble[:ERROR_CHARS]}",
        )
        if self._failures >= most:
            return self._failed(f"{self._failures} slices in a row failed; the last: {trouble}")
        if started is not None:
            self._session = None  # it may be the session that is broken
        self._notes.append(f"the last slice failed: {trouble[:300]}")
        pause_s = self._options.retry_pause_ms / 1000 * 2 ** (self._failures - 1)
        self._work.pause(min(pause_s, PAUSE_MOST_S))
        return None

    def _follow(self, answer: Answer) -> Over | None:
        self._prior = answer
        made = self._outputs.files(answer.artifacts, self._cwd)
        self._keep(made)
        for event in answer.events[:EVENTS]:
            self._claim.report(
                event.kind, event.message or "-", refs=event.refs, percent=event.percent
            )
        self._tell_outputs(made)
        if answer.status == "FAILED":
            return Over("FAILED", answer.summary or "its agent gave up", self._refs(answer))
        if answer.status == "DONE":
            return self._done(answer)
        self._await_answer()
        return None

    def _done(self, answer: Answer) -> Over | None:
        """DONE stands only with proof; else it is CONTINUE, so many times."""
        refs = self._refs(answer)
        if proof := stable_refs(all_refs(answer), self._job.id):
            return Over("DONE", answer.summary, refs, proof)
        if self._gates and (given := self._proof_by_manager()):
            return Over("DONE", answer.summary, [*given, *refs], given)
        return self.gate("the answer was DONE, but no ref shows what was done")

    def gate(self, why: str) -> Over | None:
        """Ask for the missing proof, or end it when that was asked for often enough."""
        self._gates += 1
        self._gated = True
        if self._gates > self._options.max_proof_rounds:
            summary = f"{self._prior.summary}\n\nNot accepted as done: {why}, asked "
            return self._failed(f"{summary}{self._gates - 1} times")
        self._claim.report(
            "proof_gate",
            f"{why} (round {self._gates} of {self._options.max_proof_rounds}). {ASK}",
            meta={"gates": self._gates},
        )
        return None

    def refused(self, missing: ProofMissing) -> Over | None:
        """The server does not take it as done."""
        return self.gate(str(missing))

    def _proof_by_manager(self) -> list[str]:
        """What the manager has shown instead, since the proof was asked for."""
        view = self._work.means.plane.ask(
            "jobs.open", job=self._job.id, max_events=THREAD_LOOK, max_chars=40_000
        )
        if view["attention"]["needs_proof"]:
            return []
        said = [
            ref
            for event in view["events"]
            if event["kind"] == "manager"
            for ref in event.get("refs", [])
        ]
        return stable_refs(said, self._job.id)

    def _await_answer(self) -> None:
        """Hold the job, without a child, while a question is open, but not for ever.

        The agent may have asked in its answer or by itself; one question is waited for once.
        """
        ends = time.monotonic() + self._options.answer_wait_s
        asked = self._unanswered()
        if asked is None or asked == self._given_up_on:
            return
        self._work.tell("job.waits", why="it asked the manager", ref=asked)
        while (left_s := ends - time.monotonic()) > 0:
            if self._unanswered() is None:
                return
            self._work.await_news(min(left_s, LOOK_AGAIN_S))
        self._given_up_on = asked
        self._notes.append("your question was not answered in time: decide by yourself")

    def _unanswered(self) -> str | None:
        """The ref of the newest question that nobody has answered."""
        view = self._work.means.plane.ask(
            "jobs.open", job=self._job.id, max_events=THREAD_LOOK, max_chars=40_000
        )
        if not view["attention"]["needs_manager"]:
            return None
        asked = (event["ref"] for event in view["events"] if event["kind"] == "question")
        return next(asked, "an older question")

    def _tell_outputs(self, made: list[Stored]) -> None:
        if not made:
            return
        refs = [one.ref for one in made if one.ref]
        words = [
            f"{one.kind} {one.ref}" if one.ref else f"no {one.kind}: {one.trouble}" for one in made
        ]
        digests = {one.ref: one.digest for one in made if one.ref}
        self._claim.report(
            "artifacts",
            "; ".join(words),
            refs=refs,
            meta={"artifacts": digests} if digests else None,
        )

    def _keep(self, stored: list[Stored]) -> None:
        for one in stored:
            if one.ref:
                self._stored.append(one.ref)
            if one.trouble and not one.trouble.endswith("is empty"):
                self._work.tell("output.trouble", kind=one.kind, why=one.trouble)

    def _refs(self, answer: Answer) -> list[str]:
        """The agent's refs first: they are the proof; then what was stored for it."""
        return list(dict.fromkeys([*all_refs(answer), *reversed(self._stored)]))

    def _failed(self, why: str) -> Over:
        return Over("FAILED", why, self._refs(self._prior))


def _noted(value: Any) -> float:
    """A number that an earlier claim has left, whatever it may have left there."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 10**9 else 0.0
