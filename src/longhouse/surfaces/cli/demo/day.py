"""Ten minutes in the life of a small team, second by second: what happens, and who does it.

Each step is an SDK call in the name of the acting agent. A step that depends on an earlier event
waits for it, so the day can run at any speed. People can take part on the page: a question they
have answered is not answered again.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from longhouse.api import (
    Ack,
    AddDecision,
    AddHypothesis,
    AllowTool,
    CancelTask,
    CloseStep,
    Complete,
    CreateJob,
    CreatePlan,
    HandOff,
    Inbox,
    JobView,
    MessageJob,
    OpenJob,
    Register,
    Release,
    ReportBlocked,
    ReportJob,
    Reserve,
    Send,
    SpawnTask,
    Start,
    WaitTask,
    WriteStdin,
)
from longhouse.kernel.errors import Conflict, LonghouseError
from longhouse.surfaces.cli.demo.stage import Stage

__all__ = ["Beat", "Day"]

OTTER, HARBOR, LEAD = "amber-otter", "cobalt-harbor", "lead"
ONE, TWO = "runner-one", "runner-two"
LONGEST_WAIT_S = 120.0
LOOK_S = 0.1


class Beat(NamedTuple):
    """Something that happens at a given second of the day."""

    second: int
    says: str
    does: Callable[[], object]


class Day:
    """What the team has created so far, and the steps that come next."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lh = stage.client
        self._tokens: dict[str, str] = {}
        self._lost_claim = 0
        self.refused: list[str] = []
        self.plan = self.parser = self.ranking = self.port = self.measure = self.process = ""
        self.terminal = ""

    def live(self) -> Iterator[Beat]:
        """Run the beats, yielding each one once it has happened."""
        for beat in self.beats():
            self._stage.until(beat.second)
            beat.does()
            yield beat

    def beats(self) -> list[Beat]:
        return [
            Beat(0, f"{OTTER}, {HARBOR} and a runner arrive", self._arrive),
            Beat(1, "the plan: ship the search box", self._plan),
            Beat(3, "both start, and reserve src/parser/* and src/ranking/*", self._reserve),
            Beat(4, "a job goes to the runner: port the old fixtures", self._delegate_port),
            Beat(6, f"{HARBOR} starts a background process", self._spawn),
            Beat(7, f"{HARBOR} opens a terminal and tries the search", self._open_terminal),
            Beat(8, f"{HARBOR} records a hypothesis and a decision", self._decide),
            Beat(30, f"{OTTER} closes a step, with proof", self._close_first_step),
            Beat(100, "the lead answers the runner's question", self._answer),
            Beat(150, f"{HARBOR} is blocked and asks {OTTER}", self._ask_for_help),
            Beat(175, f"{OTTER} answers", self._help),
            Beat(200, f"{HARBOR} is refused src/parser/lexer.py: {OTTER} holds it", self._intrude),
            Beat(230, f"{OTTER} hands the parser off to {HARBOR}", self._hand_off),
            Beat(250, f"{HARBOR} accepts, and reserves the parser", self._accept),
            Beat(270, "a second job: measure the ranking", self._delegate_measure),
            Beat(320, f"{ONE} is killed in the middle of it", self._kill),
            Beat(330, f"{TWO} takes over the job once the lease expires", self._take_over),
            Beat(400, f"a late report from {ONE} is refused", self._speak_too_late),
            Beat(480, "the measurement is done, with proof", self._measured),
            Beat(500, f"{HARBOR} closes the remaining steps, with proof", self._close_steps),
            Beat(540, "the processes are stopped; they outlived their runner", self._stop),
            Beat(560, "the tasks are done and the files are released", self._finish),
            Beat(600, "the day is over", lambda: None),
        ]

    # ------------------------------------------------------------------ morning

    def _arrive(self) -> None:
        for name, role in ((OTTER, "parser"), (HARBOR, "ranking")):
            made = self._lh(Register(name=name, role=role), agent_id=name)
            self._tokens[name] = made.agent_token
        self._stage.start_runner(ONE)

    def _plan(self) -> None:
        self.plan = self._lh(CreatePlan(title="Ship the search box"), agent_id=LEAD).id
        self.parser = self._task(
            "Parse quoted phrases", OTTER, ["Read quotes", "Port the fixtures"]
        )
        self.ranking = self._task("Rank by freshness", HARBOR, ["Score by date", "Measure it"])

    def _task(self, title: str, whose: str, steps: list[str]) -> str:
        start = Start(task_title=title, plan=self.plan, steps=list(steps), assignee=whose)
        return self._lh(start, agent_id=LEAD).task_id

    def _reserve(self) -> None:
        for name, scope, task in (
            (OTTER, "src/parser/*", self.parser),
            (HARBOR, "src/ranking/*", self.ranking),
        ):
            self._lh(Complete(task=task, status="ACTIVE"), agent_id=name)
            self._as(name, Reserve, scope=scope, bead_id=task)

    def _delegate_port(self) -> None:
        """In its own worktree; at the end it also changes a file that it was not given."""
        own = {"meta": {"isolation": "worktree"}} if self._stage.has_git else {}
        given = {"paths": ["tests/parser/*"], **own}
        self.port = self._job("Port the tokenizer's fixtures", "port", self.parser, **given)

    def _spawn(self) -> None:
        program = str(self._stage.write_process())
        self._lh(AllowTool(tool="exec", pattern=program), agent_id=LEAD)
        task = SpawnTask(tool="exec", args={"argv": [program]}, name="search", title="Search, live")
        self.process = self._lh(task, agent_id=HARBOR).task_id

    def _open_terminal(self) -> None:
        program = str(self._stage.write_prompt())
        why = "to try the search by hand"
        rule = AllowTool(tool="exec", pattern=program, pty=True, justification=why)
        self._lh(rule, agent_id=LEAD)
        prompt = SpawnTask(
            tool="exec",
            args={"argv": [program]},
            name="try-search",
            title="Try the search",
            execution_mode="pty",
        )
        self.terminal = self._lh(prompt, agent_id=HARBOR).task_id
        ready = WaitTask(task_id=self.terminal, until="line", pattern="Ask the index")
        if self._lh(ready).reached:
            self._type("fresh pages")

    def _type(self, words: str) -> None:
        chunk = base64.b64encode(f"{words}\n".encode()).decode()
        self._lh(WriteStdin(task_id=self.terminal, chunk_b64=chunk), agent_id=HARBOR)

    def _decide(self) -> None:
        guess = {"title": "Fresh pages win", "text": "People open what changed last."}
        guessed = self._lh(AddHypothesis(target=self.ranking, card=guess), agent_id=HARBOR)
        choice = {"title": "Order equal scores by date", "status": "accepted"}
        decision = AddDecision(target=self.ranking, card=choice, supports=[guessed.card_id])
        self._lh(decision, agent_id=HARBOR)

    def _close_first_step(self) -> None:
        self._close(OTTER, self.parser, "CMD: pytest tests/parser -k quotes (exit 0)")

    # ------------------------------------------------------------------ noon

    def _answer(self) -> None:
        asked = self._wait_for(self.port, lambda job: job.attention.needs_manager or _is_over(job))
        if asked.attention.needs_manager:
            self._lh(MessageJob(job=self.port, message="Keep them."), agent_id=LEAD)

    def _ask_for_help(self) -> None:
        self._as(
            HARBOR,
            ReportBlocked,
            to=OTTER,
            bead_id=self.ranking,
            subject="Which date counts?",
            blocker="The index has two dates per page.",
            requested_action="Decide whether hits are ordered by `created` or `changed`.",
        )

    def _help(self) -> None:
        sent = self._lh(Inbox(agent=OTTER)).messages
        asked = next(message for message in sent if message.category == "BLOCKED")
        self._as(OTTER, Ack, message=asked.message_id)
        self._as(
            OTTER,
            Send,
            to=HARBOR,
            bead_id=self.ranking,
            thread=asked.thread_id,
            subject="Re: Which date counts?",
            body="`changed`: the parser keeps it in every entry.",
        )

    def _intrude(self) -> None:
        lexer = {"scope": "src/parser/lexer.py", "bead_id": self.ranking}
        self._is_refused(lambda: self._as(HARBOR, Reserve, **lexer))

    def _hand_off(self) -> None:
        self._as(OTTER, Release, scope="src/parser/*")
        self._as(
            OTTER,
            HandOff,
            to=HARBOR,
            bead_id=self.parser,
            subject="The parser is yours",
            summary="Quotes are read; the fixtures are ported.",
            next_action="Close the last step and measure.",
            scope="src/parser/*",
        )

    def _accept(self) -> None:
        for message in self._lh(Inbox(agent=HARBOR)).messages:
            if message.requires_ack and message.state != "acked":
                self._as(HARBOR, Ack, message=message.message_id)
        self._as(HARBOR, Reserve, scope="src/parser/*", bead_id=self.parser)

    # ------------------------------------------------------------------ afternoon

    def _delegate_measure(self) -> None:
        self._wait_for(self.port, _is_over)
        self.measure = self._job("Measure the ranking", "measure", self.ranking)

    def _kill(self) -> None:
        def is_under_way(job: JobView) -> bool:
            return job.job.status == "RUNNING" and (job.job.percent or 0) >= 30

        claimed = self._wait_for(self.measure, is_under_way)
        self._lost_claim = claimed.job.revision
        self._stage.kill_runner(ONE)

    def _take_over(self) -> None:
        self._stage.start_runner(TWO)
        self._wait_for(self.measure, lambda job: job.job.runner == TWO)

    def _speak_too_late(self) -> None:
        late = ReportJob(
            job=self.measure,
            runner_id=ONE,
            claim_revision=self._lost_claim,
            message="I am back, and will continue where I left off.",
        )
        self._is_refused(lambda: self._lh(late, agent_id=ONE))

    # ------------------------------------------------------------------ evening

    def _measured(self) -> None:
        self._wait_for(self.measure, _is_over)

    def _stop(self) -> None:
        for task in (self.process, self.terminal):
            self._lh(CancelTask(task_id=task), agent_id=HARBOR)

    def _close_steps(self) -> None:
        proof = f"CMD: bench/rank.py --corpus week (exit 0)\n{self.measure}"
        self._close(HARBOR, self.parser, f"CMD: pytest tests/parser (exit 0)\n{self.port}")
        self._close(HARBOR, self.ranking, "CMD: pytest tests/ranking (exit 0)")
        self._close(HARBOR, self.ranking, proof)

    def _finish(self) -> None:
        for task in (self.parser, self.ranking):
            self._lh(Complete(task=task), agent_id=HARBOR)
        for scope in ("src/parser/*", "src/ranking/*"):
            self._as(HARBOR, Release, scope=scope)

    # ------------------------------------------------------------------ helpers

    def _as(self, name: str, request: Callable[..., Any], **args: Any) -> Any:
        """A call by one of the two agents, authenticated by its token."""
        asked = request(agent=name, agent_token=self._tokens[name], **args)
        return self._lh(asked, agent_id=name)

    def _job(self, title: str, script: str, task: str, **more: Any) -> str:
        prompt = f"{title}. The agent follows a script instead of a model.\n\nscript: {script}"
        asked = {"title": title, "prompt": prompt, "task": task, **more}
        job = CreateJob(executor="codex", max_attempts=3, **asked)
        return self._lh(job, agent_id=LEAD).job.id

    def _close(self, name: str, task: str, proof: str) -> None:
        self._lh(CloseStep(task=task, checkpoints="all", proof=proof), agent_id=name)

    def _wait_for(self, job: str, holds: Callable[[JobView], bool]) -> JobView:
        ends = time.monotonic() + LONGEST_WAIT_S
        while not holds(opened := self._lh(OpenJob(job=job))):
            if time.monotonic() > ends:
                last = opened.events[0]
                raise Conflict(
                    f"{job} is {opened.job.status} and makes no progress; its last event is "
                    f"{last.kind}: {last.message}",
                    recovery="try again when this machine is less busy: longhouse demo",
                )
            time.sleep(LOOK_S)
        return opened

    def _is_refused(self, act: Callable[[], object]) -> None:
        try:
            act()
        except LonghouseError as refusal:
            self.refused.append(refusal.code)


def _is_over(opened: JobView) -> bool:
    return opened.job.status in ("DONE", "FAILED", "CANCELED")
