"""Runs subagents as separate programs: Codex, Claude Code, or any other executor.

The child is a headless program in a folder, under a guard of the supervisor: its whole tree ends
when the dispatch is cancelled, out of time or interrupted, and when this process dies. It has its
own program's tools; of the session it sees only what `context` returns.
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
from longhouse.executors import (
    AgentAnswer,
    ClaimedJob,
    Executor,
    ExecutorSession,
    Invocation,
    McpEntry,
    NotTaken,
    Options,
    Sandbox,
    Slice,
    SliceResult,
    entry_for,
    find_executors,
    hidden_from_agents,
    is_session_id,
    load_options,
    open_inside,
    result_of,
    trouble_of,
)
from longhouse.kernel.delegation import MODEL_NAME, PROFILES
from longhouse.kernel.errors import LonghouseError
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
You are a subagent. Do the one task below. Your final message must be exactly one JSON object and \
nothing else:
{example}
- status: DONE (everything is done), CONTINUE (there is more to do; you will be started again), \
FAILED (it cannot be done).
- summary: in plain ASCII, what you did and found, or why you could not. The caller sees nothing \
else, and no one can answer questions.
- refs: the label of each finished expected artifact, exactly as given below; otherwise [].
- artifacts: result files you wrote, as {{"kind": "report|diff|patch|bench|docs_update", \
"path": "relative/path"}}; otherwise [].
- events: always []."""

_EXAMPLE = {
    "status": "DONE",
    "summary": "The cookie expires too early.",
    "refs": ["report.md"],
    "events": [],
    "artifacts": [],
}


class ExecutorRunner:
    """A ready runner: `ExecutorRunner("claude_code", cwd="checkout")`.

    `executor` is an Executor or the name of one on this machine, including installed plug-ins.
    Each start of the agent counts as a turn; its tokens are charged to the dispatch. `context`
    may return what the child should know of the session; `with_longhouse` connects it to the
    store of `cwd` over MCP.
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
        options = load_options({}, settings.place)
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
            # Without a claim, the child cannot have its own token.
            self._entry = entry._replace(token=settings.token) if entry.url else entry

    @property
    def guidance(self) -> str:
        """What the parent's model must know about such a child."""
        return (
            f"The subagent is {self._executor.name}, a separate program: it does not see this "
            "conversation, has its own tools instead of yours, and works in the folder "
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
        """Run slices until the agent is finished, each resuming the session of the last."""
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
                hidden_from_agents(self._store),
            )
            answer, agent = self._slice(scope, job, this, agent)
            delivered |= dict.fromkeys([*answer.refs, *self._made(answer)])
            if answer.status != "CONTINUE":
                return answer, delivered
            prompt = f"{task}\n\n# Where you stopped\n{answer.summary}"
            if agent is not None:
                prompt = "Continue the task, and end with the JSON object as before."
        raise LimitReached("turns", self._max_slices)

    def _slice(
        self, scope: Scope, job: ClaimedJob, this: Slice, agent: ExecutorSession | None
    ) -> tuple[AgentAnswer, ExecutorSession | None]:
        try:
            plan = self._executor.plan(job, this)
        except LonghouseError as error:
            raise DispatchSubagentError(error.message) from error
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
        """Run the child until its tree has ended; the scope may end it early."""
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
        except BaseException:  # an interrupted caller does not wait until the tree has ended
            child.end("stop")
            threading.Thread(target=child.wait, args=(0.0,), daemon=True).start()
            raise
        finally:
            over.set()
            scope.wake()

    def _charged(
        self, result: SliceResult, agent: ExecutorSession | None
    ) -> tuple[ExecutorSession | None, int]:
        """The agent's session after a slice, and the tokens the slice used."""
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
            parts.append(f"It is step {params.plan_step_id} of the caller's plan.")
        if params.expected_artifacts:
            parts.append("# Expected artifacts\n" + "\n".join(params.expected_artifacts))
        if self._context is not None and (told := self._context(session).strip()):
            parts.append(f"# What the caller knows\n{told}")
        return "\n\n".join(parts) + "\n"

    def _job(self, scope: Scope, params: DispatchSubagent) -> ClaimedJob:
        """The task in the form executors expect; a subagent has no claim."""
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
        """The result files that exist in the folder the agent works in."""
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
        raise ValueError(f"executor: no {name!r} here; available: {', '.join(found)}")
    return found[name]
