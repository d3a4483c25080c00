"""Starts, watches, captures and ends programs: the one implementation for the whole house.

The runner, subagents and the process host use it; it knows nothing of jobs, tasks or the store.
README.md describes the states of a child, the invariants, and how failures are handled.
"""

TYPE_CHECKING = False  # type checkers understand this; importing typing would cost time
if TYPE_CHECKING:
    from longhouse.supervisor.capture import StreamCapture
    from longhouse.supervisor.child import Child, child_env
    from longhouse.supervisor.strays import adopt_strays, start_apart
    from longhouse.supervisor.types import Ended

__all__ = ["Child", "Ended", "StreamCapture", "adopt_strays", "child_env", "start_apart"]

_LIVES_IN = {
    "StreamCapture": "capture",
    "Child": "child",
    "Ended": "types",
    "adopt_strays": "strays",
    "child_env": "child",
    "start_apart": "strays",
}


def __getattr__(name: str) -> object:
    """Load lazily what the small process host does not need."""
    if name in _LIVES_IN:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LIVES_IN[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
