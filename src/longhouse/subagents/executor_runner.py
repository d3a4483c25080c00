"""Subagents as agents of their own: Codex, Claude Code, or whatever a runner can execute.

The child is a headless program in a folder, under a guard of the supervisor: it ends with its whole
tree when the dispatch is cancelled, out of time or interrupted, and when this process dies. It has
the tools of its own program; of the session it sees only what `context` tells it.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from longhouse.config import load
from longhouse.kernel.delegation import MODEL_NAME
from longhouse.runner.executors import find_executors
from longhouse.runner.executors.base import (
    PROFILES,
    AgentAnswer,
    ClaimedJob,
    Executor,
    Invocation,
    McpEntry,
    Slice,
    SliceResult,
)
from longhouse.runner.inside import NotTaken, open_inside
from longhouse.runner.options import Options, Sandbox, load_options
from longhouse.runner.runner_context import entry_for
from longhouse.runner.sessions import ExecutorSession, is_session_id
from longhouse.runner.slice_result import result_of, trouble_of
from longhouse.subagents.errors import DispatchSubagentError, LimitReached, describe
from longhouse.subagents.events import EventBus, PromptExecuted, PromptResponse
from longhouse.subagents.scope import Scope
from longhouse.subagents.session import Session
from longhouse.subagents.types import DispatchSubagent, DispatchSubagentResult
from longhouse.supervisor import Child, Ended, child_env

__all__ = ["ExecutorRunner"]

MAX_SLICES = 10
LEASE_MARGIN_S = 60.0

ROLE = """\
You are a subagent. Do the one task below, then end with exactly one JSON object, nothing around it:
{example}
- status: DONE (all of it), CONTINUE (more to do: you are started again), FAILED (it cannot be).
- summary: in plain ASCII, what you did and found, or why not. It is all that the one who asked \
will see, and nobody answers questions.
- refs: the label of each expected artifact that is finished, exactly as it is given below; else [].
- artifacts: files that you wrote as results, as {{"kind": "report|diff|patch|bench|docs_update", \
"path": "relative/path"}}; else []. events: []."""

_EXAMPLE = {
    "status": "DONE",
    "summary": "The cookie expires too early.",
    "refs": ["report.md"],
    "events": [],
    "artifacts": [],
}


class ExecutorRunner:
    """A ready runner: `ExecutorRunner("claude_code", cwd="checkout")`.

    `executor` is the name of one that is found on this machine, those that others install
    included, or an Executor. One start of the agent counts as a turn; its tokens are charged to the
    dispatch. `context` may tell the child what of the session it should know; `with_longhouse`
    connects it to the store of `cwd`, over MCP.
    """

    def __init__(
        self,
        executor: str | Executor,
        *,
        cwd: str | Path = ".",
        profile: str = PROFILES[0],
        model: str | None = None,
        sandbox: Sandbox | None = None,
        slice_s: float | None = None,
        max_slices: int = MAX_SLICES,
        context: Callable[[Session], str] | None = None,
        with_longhouse: bool = False,
    ) -> None:
        self._cwd = Path(cwd).absolute()
        settings = load(cwd=self._cwd)
        self._store = settings.dir
        options = load_options({}, settings.dir)
        self._executor = _named(executor, options) if isinstance(executor, str) else executor
        if profile not in self._executor.profiles:
            raise ValueError(
                f"profile must be one of {', '.join(self._executor.profiles)}; got {profile!r}"
            )
        if model is not None and not re.match(MODEL_NAME, model):
            raise ValueError(f"model: {model[:40]!r} is not a valid model name")
        self._profile = profile
        self._model = model
        self._sandbox: Sandbox = sandbox or options.sandbox
        self._slice_s = float(options.slice_s if slice_s is None else slice_s)
        self._grace_s = options.kill_grace_s
        self._max_slices = max_slices
        self._context = context
        self._entry = McpEntry()
        if with_longhouse:
            entry = entry_for(options, folder=settings.dir, workspace=settings.workspace)
            # There is no claim that could name a token of the child's own.
            self._entry = entry._replace(token=settings.token) if entry.url else entry

    @property
    def guidance(self) -> str:
        """What the parent's model must know of such a child."""
        return (
            f"The subagent is {self._executor.name}, a program of its own: it does not see this "
            "conversation, has the tools of that program and not yours, and works in the folder "
            f"{self._cwd}; what it writes there stays."
        )

    def __call__(
        self, *, session: Session, bus: EventBus, params: DispatchSubagent
    ) -> DispatchSubagentResult:
        with TemporaryDirectory(prefix="longhouse-", ignore_cleanup_errors=True) as scratch:
            answer, delivered = self._work(session, params, Path(scratch))
        if answer.status == "FAILED":
            raise DispatchSubagentError(answer.summary.strip() or "its agent gave up")
        name = f"{params.prompt_ns}/{params.prompt_key}-subagent"
        response = PromptResponse(name, answer.summary)
        bus.publish(PromptExecuted(name, self._executor.name, response))
        return DispatchSubagentResult(answer.summary, artifacts=tuple(delivered))

    def _work(
        self, session: Session, params: DispatchSubagent, scratch: Path
    ) -> tuple[AgentAnswer, dict[str, None]]:
        """Slices until one is the last, each in the session of the one before."""
        scope = session.scope
        task = self._task(session, params)
        job = self._job(scope, params)
        agent: ExecutorSession | None = None
        prompt, delivered = task, dict[str, None]()
        for number in range(1, self._max_slices + 1):
            scope.start_turn()
            this = Slice(
                number,
                prompt,
                self._cwd,
                scratch,
                self._sandbox,
                self._entry,
                agent.id if agent else None,
            )
            answer, agent = self._slice(scope, job, this, agent)
            delivered |= dict.fromkeys([*answer.refs, *self._made(answer)])
            if answer.status != "CONTINUE":
                return answer, delivered
            prompt = f"{task}\n\n# Where you stopped\n{answer.summary}"
            if agent is not None:
                prompt = "Go on with the task, and end with the JSON object as before."
        raise LimitReached("turns", self._max_slices)

    def _slice(
        self, scope: Scope, job: ClaimedJob, this: Slice, agent: ExecutorSession | None
    ) -> tuple[AgentAnswer, ExecutorSession | None]:
        plan = self._executor.plan(job, this)
        ended = self._run(scope, plan)
        result = result_of(self._executor, ended, this.scratch)
        agent, tokens = self._charged(result, agent)
        scope.spend(tokens)
        scope.check()
        if ended.why == "unstarted":
            raise DispatchSubagentError(trouble_of(ended, result, self._slice_s))
        if ended.why != "exit" or result.answer is None:
            why = trouble_of(ended, result, self._slice_s)
            raise DispatchSubagentError(f"{self._executor.name}: {why}")
        return result.answer, agent

    def _run(self, scope: Scope, plan: Invocation) -> Ended:
        """The child from its start to the end of its tree, which comes early if the scope says."""
        left_s = scope.seconds_left()
        allowed_s = self._slice_s if left_s is None else min(self._slice_s, left_s)
        try:
            child = Child(
                plan.argv,
                env=child_env(plan.env),
                cwd=self._cwd,
                stdin=plan.stdin,
                grace_s=self._grace_s,
                lease_s=allowed_s + LEASE_MARGIN_S,
            )
        except OSError as error:
            raise DispatchSubagentError(
                f"{self._executor.name} cannot be started in {self._cwd}: {describe(error)}"
            ) from error
        over = threading.Event()

        def watch() -> None:
            if scope.wait(over.is_set) is not None:
                child.end("stop")

        threading.Thread(target=watch, name="longhouse-executor-watch", daemon=True).start()
        try:
            return child.wait(time.monotonic() + allowed_s)
        except BaseException:  # whoever interrupts does not wait for the end of the tree
            child.end("stop")
            threading.Thread(target=child.wait, args=(0.0,), daemon=True).start()
            raise
        finally:
            over.set()
            scope.wake()

    def _charged(
        self, result: SliceResult, agent: ExecutorSession | None
    ) -> tuple[ExecutorSession | None, int]:
        """The agent's session after a slice, and the tokens that this slice used."""
        used = result.usage
        if result.session is not None and is_session_id(result.session):
            if agent is None or agent.id != result.session:
                agent = ExecutorSession(self._executor.name, result.session)
            used = agent.used(result, self._executor)
            agent = agent.after(result)
        return agent, used.input_tokens + used.output_tokens

    def _task(self, session: Session, params: DispatchSubagent) -> str:
        parts = [ROLE.format(example=json.dumps(_EXAMPLE)), f"# Your task\n{params.instructions}"]
        if params.plan_step_id is not None:
            parts.append(f"It is step {params.plan_step_id} of the asker's plan.")
        if params.expected_artifacts:
            parts.append("# Expected artifacts\n" + "\n".join(params.expected_artifacts))
        if self._context is not None and (told := self._context(session).strip()):
            parts.append(f"# What the asker knows\n{told}")
        return "\n\n".join(parts) + "\n"

    def _job(self, scope: Scope, params: DispatchSubagent) -> ClaimedJob:
        """As executors take it; a subagent has no claim to report under."""
        return ClaimedJob(
            id=scope.dispatch_id or "subagent",
            workspace="",
            title=f"{params.prompt_ns}/{params.prompt_key}",
            prompt=params.instructions,
            kind=params.mode,
            profile=self._profile,
            runner_id="",
            claim_revision=0,
            model=self._model,
            expected_artifacts=params.expected_artifacts,
        )

    def _made(self, answer: AgentAnswer) -> list[str]:
        """The files among its results that are there, in the folder that it works in."""
        root = self._cwd.resolve()
        found = []
        for made in answer.artifacts:
            with suppress(NotTaken, OSError):
                os.close(open_inside(root, made.path, never=self._store))
                found.append(made.path)
        return found


def _named(name: str, options: Options) -> Executor:
    found = find_executors(options)
    if name not in found:
        raise ValueError(f"there is no executor {name!r} here; there are: {', '.join(found)}")
    return found[name]
