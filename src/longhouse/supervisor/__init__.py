"""How a program is started, watched, captured and ended: one way for the whole house.

Runner, subagents and the process host stand on it; it knows nothing of jobs, tasks or the store.
README.md has the states of a child, what always holds, and what happens on failure.
"""

TYPE_CHECKING = False  # as type checkers understand it, without the cost of importing typing
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
    """What the small host of processes does without is loaded when it is asked for."""
    if name in _LIVES_IN:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LIVES_IN[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
