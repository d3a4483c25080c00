"""Helpers for the tests of subagents: records, a manual clock, scripted runners and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from longhouse.subagents import (
    DispatchFinished,
    DispatchStarted,
    DispatchSubagent,
    DispatchSubagentResult,
    EventBus,
    InProcessEventBus,
    Limits,
    Message,
    ModelCall,
    ModelTurn,
    PromptSubagentToolsSection,
    Scope,
    Session,
    SubagentRunner,
    Tool,
    ToolContext,
    ToolInvoked,
    ToolResult,
)

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(slots=True, frozen=True)
class Note:
    text: str
    rank: int = 0


@dataclass(slots=True, frozen=True)
class Board:
    notes: tuple[Note, ...] = ()


@dataclass
class Draft:
    """A mutable payload, which a session must not accept."""

    lines: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Loose:
    """A payload that is frozen only at the top level."""

    lines: list[str]


class ManualClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


def counted_ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"D{next(numbers)}"


def make_scope(
    limits: Limits | None = None, *, clock: ManualClock | None = None, tools: tuple[Any, ...] = ()
) -> Scope:
    return Scope(
        limits or Limits(), clock=clock or ManualClock(), new_id=counted_ids(), tools=tools
    )


def make_session(limits: Limits | None = None, *, clock: ManualClock | None = None) -> Session:
    return Session(
        bus=InProcessEventBus(),
        session_id="session-1",
        created_at="2030-01-01T00:00:00+00:00",
        scope=make_scope(limits, clock=clock),
    )


def request(
    instructions: str = "Write the draft.",
    *,
    mode: Any = "ad_hoc",
    expected_artifacts: Any = (),
    plan_step_id: Any = None,
) -> DispatchSubagent:
    return DispatchSubagent(
        mode=mode,
        prompt_ns="team",
        prompt_key="writer",
        instructions=instructions,
        expected_artifacts=expected_artifacts,
        plan_step_id=plan_step_id,
    )


DONE = DispatchSubagentResult("Done.")

Play = Callable[[Session, EventBus, DispatchSubagent], Any]


class Runner:
    """Runs a scripted function in the child and records its calls."""

    def __init__(self, play: Play | None = None) -> None:
        self._play = play or (lambda *_: DONE)
        self.sessions: list[Session] = []
        self.buses: list[EventBus] = []
        self.params: list[DispatchSubagent] = []

    def __call__(self, *, session: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        self.sessions.append(session)
        self.buses.append(bus)
        self.params.append(params)
        return self._play(session, bus, params)


class Raises(Runner):
    def __init__(self, error: BaseException) -> None:
        def play(session: Session, bus: EventBus, params: DispatchSubagent) -> Any:
            raise error

        super().__init__(play)


class Records:
    """A recorder that keeps everything in memory."""

    def __init__(self) -> None:
        self.starts: list[DispatchStarted] = []
        self.finishes: list[DispatchFinished] = []

    def started(self, start: DispatchStarted, /) -> None:
        self.starts.append(start)

    def finished(self, finish: DispatchFinished, /) -> None:
        self.finishes.append(finish)


def dispatch_tool(
    session: Session,
    runner: SubagentRunner,
    *,
    limits: Limits | None = None,
    recorder: Any = None,
) -> Tool[DispatchSubagent, DispatchSubagentResult]:
    section = PromptSubagentToolsSection(
        session=session, runner=runner, limits=limits, recorder=recorder
    )
    (tool,) = section.tools()
    return tool


def run(
    runner: SubagentRunner,
    params: DispatchSubagent | None = None,
    *,
    session: Session | None = None,
    limits: Limits | None = None,
    recorder: Any = None,
) -> ToolResult[DispatchSubagentResult]:
    """Run one dispatch directly through the tool's handler."""
    session = make_session() if session is None else session
    tool = dispatch_tool(session, runner, limits=limits, recorder=recorder)
    return tool.handler(params or request(), context=ToolContext(session))


def invoked(
    name: str = "child_tool", value: object = None, *, success: bool = True, params: object = None
) -> ToolInvoked:
    return ToolInvoked(
        prompt_name="team/writer",
        adapter="test",
        name=name,
        params=params,
        result=ToolResult("ok" if success else "failed", value, success=success),
    )


def note_tool(name: str = "note", *, fails: bool = False, concurrent: bool = False) -> Any:
    """A tool that returns the note it is given."""

    def handler(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        if fails:
            raise RuntimeError("no paper")
        return ToolResult(f"noted {params.text}", params)

    return Tool(name, "Keep a note.", Note, Note, handler, concurrent=concurrent)


class ScriptedModel:
    """Answers with the given turns in order, and records its requests."""

    name = "scripted"

    def __init__(self, turns: Iterable[ModelTurn | Exception]) -> None:
        self._turns = iter(turns)
        self.asked: list[tuple[Message, ...]] = []
        self.offered: list[tuple[str, ...]] = []
        self.seconds: list[float | None] = []

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool[Any, Any]],
        *,
        seconds: float | None,
    ) -> ModelTurn:
        self.asked.append(tuple(messages))
        self.offered.append(tuple(tool.name for tool in tools))
        self.seconds.append(seconds)
        turn = next(self._turns)
        if isinstance(turn, Exception):
            raise turn
        return turn


def calling(*calls: tuple[str, str], tokens: int = 0) -> ModelTurn:
    """A turn that calls tools, given as (name, arguments)."""
    return ModelTurn(
        "",
        tuple(ModelCall(f"call-{i}", name, text) for i, (name, text) in enumerate(calls)),
        tokens,
    )
