"""Starts, watches, captures and ends programs: the one implementation for the whole house.

The runner, subagents and the process host use it; it knows nothing of jobs, tasks or the store.
README.md describes the states of a child, the invariants, and how failures are handled.
"""

from longhouse.kernel.doors import door

TYPE_CHECKING = False  # type checkers understand this; importing typing would cost time
if TYPE_CHECKING:
    from longhouse.supervisor import guard
    from longhouse.supervisor.capture import StreamCapture
    from longhouse.supervisor.child import Child, child_env
    from longhouse.supervisor.groups import ControlGroup, ControlGroups
    from longhouse.supervisor.strays import adopt_strays, start_apart
    from longhouse.supervisor.types import Ended
else:
    __getattr__ = door(__name__)
