"""The section that offers the tool."""

from __future__ import annotations

from typing import Any

import pytest

import longhouse.subagents as subagents
from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentResult,
    EventBus,
    MarkdownSection,
    Prompt,
    PromptSubagentToolsSection,
    Session,
    ToolContext,
    ToolResult,
)
from tests.subagents.kit import DONE, Note, Runner, make_session, request


class NotesReader(Runner):
    """Records the notes that its child starts with."""

    def __init__(self) -> None:
        super().__init__(self._look)
        self.seen: list[tuple[Note, ...]] = []

    def _look(self, child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        self.seen.append(child.select_all(Note))
        return DONE


@pytest.mark.proves("SUB-004", "SUB-018")
def test_the_section_exposes_exactly_one_tool() -> None:
    section = PromptSubagentToolsSection(session=make_session(), runner=Runner())
    (tool,) = section.tools()
    assert tool.name == "dispatch_subagent"
    assert tool.description == "Run a prompt in an isolated child session."
    assert (tool.params_type, tool.result_type) == (DispatchSubagent, DispatchSubagentResult)
    assert section.key == "prompt-subagent.tools"


@pytest.mark.proves("SUB-004", "SUB-019")
def test_the_guidance_says_when_to_offload_what_a_child_has_and_how_to_ask() -> None:
    section = PromptSubagentToolsSection(session=make_session(), runner=Runner())
    text = section.render()
    assert text.startswith("## Prompt Subagent Dispatch\n")
    for topic in (
        "deep research",
        "large drafting",
        "step of a plan",
        "inherits the full tool set",
        "`instructions` specific",
        "Enumerate in `expected_artifacts`",
        "2,000 characters",
    ):
        assert topic in text
    assert text.isascii()


@pytest.mark.proves("SUB-004", "SUB-018")
def test_a_prompt_with_the_section_renders_its_guidance_and_offers_its_tool() -> None:
    section = PromptSubagentToolsSection(session=make_session(), runner=Runner())
    role = MarkdownSection(title="Role", key="role", text="Lead.")
    rendered = Prompt(ns="team", key="lead", sections=(role, section)).render()
    assert rendered.text == f"{role.render()}\n\n{section.render()}"
    assert rendered.tools == section.tools()


@pytest.mark.proves("SUB-020")
def test_the_section_cannot_be_built_without_the_parent_session() -> None:
    build: Any = PromptSubagentToolsSection
    with pytest.raises(TypeError, match="session"):
        build(runner=Runner())
    with pytest.raises(TypeError, match="session must be the parent Session; got NoneType"):
        build(session=None, runner=Runner())
    with pytest.raises(TypeError, match="runner must be callable"):
        build(session=make_session(), runner="codex")


def test_building_sections_changes_nothing_in_the_session() -> None:
    session = make_session()
    before = session.snapshot()
    for _ in range(2):
        PromptSubagentToolsSection(session=session, runner=Runner()).render()
    assert session.snapshot() == before


def test_without_a_context_the_tool_works_on_the_sections_session() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    runner = NotesReader()
    (tool,) = PromptSubagentToolsSection(session=session, runner=runner).tools()
    handler: Any = tool.handler
    assert handler(request()) == ToolResult("Done.", DONE)
    assert runner.seen == [(Note("one"),)]


def test_with_a_context_the_tool_works_on_the_session_of_the_call() -> None:
    bound, other = make_session(), make_session()
    other.seed_slice(Note, [Note("other")])
    runner = NotesReader()
    (tool,) = PromptSubagentToolsSection(session=bound, runner=runner).tools()
    assert tool.handler(request(), context=ToolContext(other)).success
    assert runner.seen == [(Note("other"),)]


@pytest.mark.proves("SUB-004", "SUB-005")
def test_the_public_names_are_those_of_the_contract_and_what_they_need() -> None:
    contract = {
        "DispatchSubagent",
        "DispatchSubagentError",
        "DispatchSubagentResult",
        "EventBus",
        "InProcessEventBus",
        "PromptSubagentToolsSection",
        "Session",
        "Snapshot",
        "SubagentMode",
        "SubagentRunner",
        "Tool",
        "ToolResult",
        "ToolValidationError",
    }
    around = {
        *("Clock", "SystemClock", "Limits", "Usage", "Scope"),
        *("DeadlineExceeded", "DispatchCancelled", "LimitReached", "PromptValidationError"),
        *("ReducerErrors", "SessionClosedError", "SliceValueError"),
        *("SnapshotRestoreError", "SnapshotSerializationError"),
        *("HandlerFailure", "NullEventBus", "PromptExecuted", "PromptResponse"),
        *("PublishResult", "ToolInvoked"),
        *("DataEvent", "PromptData", "Reducer", "Registration", "ToolData"),
        *("append", "append_all", "replace_latest", "upsert_by"),
        *("select_all", "select_latest", "select_where"),
        *("ToolCall", "ToolContext", "ToolHandler", "call_tool", "call_tools"),
        *("MarkdownSection", "Prompt", "RenderedPrompt", "Section"),
        *("DispatchFinished", "DispatchStarted", "NullRecorder", "Outcome", "Recorder"),
        *("Message", "Model", "ModelCall", "ModelTurn", "PromptRunner", "evaluate"),
    }
    assert set(subagents.__all__) == contract | around
    assert len(subagents.__all__) == len(set(subagents.__all__))
    assert all(hasattr(subagents, name) for name in subagents.__all__)
    assert issubclass(subagents.ToolValidationError, ValueError)
    assert issubclass(subagents.DispatchSubagentError, RuntimeError)
