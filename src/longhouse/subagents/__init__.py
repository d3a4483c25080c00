"""Dispatches a bounded task into a throwaway child session.

A standalone library: sessions of immutable state, snapshots, tools, prompts, and the tool
`dispatch_subagent`. Only a child's result is returned; everything else is discarded with it.
`longhouse.subagents.openai_runner` is optional and imported by name.
"""

from longhouse.subagents.calls import ToolCall, call_tool, call_tools
from longhouse.subagents.clock import Clock, SystemClock
from longhouse.subagents.errors import (
    DeadlineExceeded,
    DispatchCancelled,
    DispatchSubagentError,
    LimitReached,
    PromptValidationError,
    ReducerErrors,
    SessionClosedError,
    SliceValueError,
    SnapshotRestoreError,
    SnapshotSerializationError,
    ToolValidationError,
)
from longhouse.subagents.events import (
    EventBus,
    HandlerFailure,
    InProcessEventBus,
    NullEventBus,
    PromptExecuted,
    PromptResponse,
    PublishResult,
    ToolInvoked,
)
from longhouse.subagents.limits import Limits, Usage
from longhouse.subagents.loop import Message, Model, ModelCall, ModelTurn, evaluate
from longhouse.subagents.prompts import MarkdownSection, Prompt, RenderedPrompt, Section
from longhouse.subagents.records import (
    DispatchFinished,
    DispatchStarted,
    NullRecorder,
    Outcome,
    Recorder,
)
from longhouse.subagents.reducers import (
    DataEvent,
    PromptData,
    Reducer,
    ToolData,
    append,
    append_all,
    replace_latest,
    select_all,
    select_latest,
    select_where,
    upsert_by,
)
from longhouse.subagents.runners import PromptRunner
from longhouse.subagents.scope import Scope
from longhouse.subagents.section import PromptSubagentToolsSection
from longhouse.subagents.session import Registration, Session
from longhouse.subagents.snapshots import Snapshot
from longhouse.subagents.tools import Tool, ToolContext, ToolHandler, ToolResult
from longhouse.subagents.types import (
    DispatchSubagent,
    DispatchSubagentResult,
    SubagentMode,
    SubagentRunner,
)

__all__ = [
    "Clock",
    "DataEvent",
    "DeadlineExceeded",
    "DispatchCancelled",
    "DispatchFinished",
    "DispatchStarted",
    "DispatchSubagent",
    "DispatchSubagentError",
    "DispatchSubagentResult",
    "EventBus",
    "HandlerFailure",
    "InProcessEventBus",
    "LimitReached",
    "Limits",
    "MarkdownSection",
    "Message",
    "Model",
    "ModelCall",
    "ModelTurn",
    "NullEventBus",
    "NullRecorder",
    "Outcome",
    "Prompt",
    "PromptData",
    "PromptExecuted",
    "PromptResponse",
    "PromptRunner",
    "PromptSubagentToolsSection",
    "PromptValidationError",
    "PublishResult",
    "Recorder",
    "Reducer",
    "ReducerErrors",
    "Registration",
    "RenderedPrompt",
    "Scope",
    "Section",
    "Session",
    "SessionClosedError",
    "SliceValueError",
    "Snapshot",
    "SnapshotRestoreError",
    "SnapshotSerializationError",
    "SubagentMode",
    "SubagentRunner",
    "SystemClock",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolData",
    "ToolHandler",
    "ToolInvoked",
    "ToolResult",
    "ToolValidationError",
    "Usage",
    "append",
    "append_all",
    "call_tool",
    "call_tools",
    "evaluate",
    "replace_latest",
    "select_all",
    "select_latest",
    "select_where",
    "upsert_by",
]
