"""How the program of an agent is planned, started with what options, and its output read.

Runner and subagents use it, and so do those who write an executor of their own: an entry point of
the group `longhouse.executors` names a function that takes the options and returns an `Executor`.
Names that such a plug-in may need are imported `as` themselves, which says so to type checkers.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.executors.base import AgentAnswer as AgentAnswer
    from longhouse.executors.base import AnswerArtifact as AnswerArtifact
    from longhouse.executors.base import AnswerEvent as AnswerEvent
    from longhouse.executors.base import ClaimedJob as ClaimedJob
    from longhouse.executors.base import Executor as Executor
    from longhouse.executors.base import Invocation as Invocation
    from longhouse.executors.base import McpEntry as McpEntry
    from longhouse.executors.base import RunOutput as RunOutput
    from longhouse.executors.base import Slice as Slice
    from longhouse.executors.base import SliceResult as SliceResult
    from longhouse.executors.base import TokenUsage as TokenUsage
    from longhouse.executors.claude_code import ClaudeCode
    from longhouse.executors.inside import NotTaken, open_inside
    from longhouse.executors.installed import agents_here, built_in, find_executors, is_here
    from longhouse.executors.instructions import SUFFIXES, beside, imports_of
    from longhouse.executors.options import OPTIONS, Sandbox, load_options
    from longhouse.executors.options import Options as Options
    from longhouse.executors.sessions import ExecutorSession, SessionFile, is_session_id
    from longhouse.executors.slice_result import result_of, trouble_of
    from longhouse.executors.surroundings import entry_for, hidden_from_agents
    from longhouse.executors.trouble import NoRoom, NotHere, unable
else:
    __getattr__ = door(__name__)
