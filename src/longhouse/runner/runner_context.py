"""What all jobs of a runner share: the control plane, the executors, paths and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.executors import Executor, McpEntry, Options, hidden_from_agents, is_here
from longhouse.kernel.delegation import best_way, ways_to_run
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.event_log import EventLog
from longhouse.runner.plane import Plane
from longhouse.runner.prompt import gate_rules
from longhouse.runner.skills import SkillPacks
from longhouse.runner.tool_tasks.starting import RunnerPolicy

__all__ = ["RunnerContext"]

TASK_CHARS = 6_000


class RunnerContext(NamedTuple):
    """Created once when the runner starts."""

    plane: Plane
    options: Options
    executors: dict[str, Executor]
    log: EventLog
    skills: SkillPacks
    workspace: str
    root: Path
    home: Path
    cache: Path
    """Where worktrees and scratch folders are: a folder of this store in the user's cache."""
    entry: McpEntry
    dry_run: bool = False
    policy: RunnerPolicy = RunnerPolicy()
    """What this runner's own settings say about background processes."""
    shares_folder: bool = True
    """Whether every server of the store can read our folder and manages its retention."""
    projects: tuple[str, ...] = ()
    """The projects of `root`: the server lets this runner work for workspaces bound to them."""
    keep_days: int = 0
    """How long to keep output here that no server has; 0 means forever."""
    find: Callable[[], Mapping[str, Executor]] = dict
    """Looks for agents again."""

    @property
    def hidden(self) -> tuple[Path, ...]:
        return hidden_from_agents(self.home)

    def ready(self) -> list[str]:
        """The executors whose program is on this machine now."""
        known = list(self.executors.items())  # another thread may add one
        return [name for name, one in known if self.dry_run or is_here(one)]

    def look_again(self) -> None:
        """Add an agent that was installed since this runner started; plug-ins need a restart."""
        for name, one in self.find().items():
            self.executors.setdefault(name, one)

    def way_to_run(self, meta: Mapping[str, Any]) -> tuple[Executor, str] | None:
        """The executor for a job with this meta, and its profile; None if none here can run it.

        The creator of a job is shown the result of the same rule (kernel/delegation.py). Here, only
        executors whose program is on this machine count.
        """
        said = meta.get("policy")
        policy = said if isinstance(said, dict) else {}
        profile = meta.get("executor_profile", "fast")
        ways = ways_to_run(
            {name: self.executors[name].profiles for name in self.ready()},
            executor=meta.get("executor", "auto"),
            profile=profile,
            least=policy.get("min_profile"),
            forbid=policy.get("forbid", ()),
        )
        way = best_way(ways, profile=profile, prefer=policy.get("prefer", ()))
        return (self.executors[way[0]], way[1]) if way else None

    def lacks(self, meta: Mapping[str, Any]) -> str:
        """Why none of the executors here runs a job with this meta."""
        found = ", ".join(self.ready()) or f"none of {', '.join(self.executors)}"
        return f"it asks for {meta.get('executor', 'auto')}; available here: {found}"

    def task_lines(self, task: str | None) -> str:
        """A snapshot of the job's task; empty if there is none or it cannot be read."""
        if task is None:
            return ""
        try:
            text: Any = self.plane.once(
                "tasks.snapshot", task=task, fmt="lines", max_chars=TASK_CHARS
            )
        except LonghouseError:
            return ""
        return text if isinstance(text, str) else ""

    def strict_gate(self, task: str | None) -> str:
        """What the gate requires of the task's next step; empty if the task is not strict."""
        if task is None:
            return ""
        try:
            gate: Any = self.plane.once("tasks.gate", task=task)
        except LonghouseError:
            return ""
        return gate_rules(gate) if gate["reasoning_mode"] == "strict" else ""
