"""Subagents in the real Codex and Claude Code, with a scripted model behind them."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.subagents import (
    DispatchSubagent,
    InProcessEventBus,
    PromptSubagentToolsSection,
    Session,
    ToolResult,
)
from longhouse.subagents.executor_runner import ExecutorRunner
from tests.clients.agents import Agent
from tests.clients.scripted.model import Finish, Model
from tools import clients

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

TASK = DispatchSubagent("ad_hoc", "team", "scout", "Find out why.", ("report.md", "table.csv"))


def answer(status: str, summary: str, *refs: str) -> Finish:
    return Finish(
        {"status": status, "summary": summary, "refs": list(refs), "events": [], "artifacts": []}
    )


def dispatched(
    agent: Agent, model: Model, session: Session, monkeypatch: pytest.MonkeyPatch
) -> ToolResult[Any]:
    agent.prepare(model)
    for name, value in agent.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LONGHOUSE_CODEX_BIN", clients.codex())
    monkeypatch.setenv("LONGHOUSE_CLAUDE_BIN", clients.claude())
    runner = ExecutorRunner(agent.name.replace("-", "_"), cwd=agent.project)
    (result,) = PromptSubagentToolsSection(session=session, runner=runner).dispatch_all([TASK])
    return result


def test_a_real_agent_does_the_task_in_two_turns_of_one_session(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(bus=InProcessEventBus())
    with Model(
        answer("CONTINUE", "half of it"), answer("DONE", "It is the cookie.", "report.md")
    ) as model:
        result = dispatched(agent, model, session, monkeypatch)
        assert result.message == "It is the cookie."
        assert result.value is not None
        assert result.value.artifacts == ("report.md",)
        assert result.value.missing(TASK) == ("table.csv",)
        assert session.scope.usage.turns == 2
        assert session.scope.usage.tokens >= 100 * model.requests
