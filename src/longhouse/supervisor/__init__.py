"""How a program is started, watched, captured and ended: one way for the whole house.

Runner, subagents and the process host stand on it; it knows nothing of jobs, tasks or the store.
README.md has the states of a child, what always holds, and what happens on failure.
"""

from longhouse.supervisor.capture import Capture
from longhouse.supervisor.child import Child, child_env
from longhouse.supervisor.strays import adopt_strays
from longhouse.supervisor.types import Ended

__all__ = ["Capture", "Child", "Ended", "adopt_strays", "child_env"]
