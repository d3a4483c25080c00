"""A task's steps as a tree: paths, order, and which step is next.

A path `s:0.s:2` counts siblings from zero. The first open step is the first in working order: a
step's children before the step itself, earlier siblings first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.work.types.entities import Step

__all__ = ["MAX_DEPTH", "MAX_STEPS", "Tree", "inside"]

MAX_DEPTH = 128
MAX_STEPS = 1_000


class Tree:
    """The steps of one task, linked by parent and ordinal."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.by_id: dict[str, Step] = {}
        self.children: dict[str | None, list[Step]] = {}
        for step in sorted(steps, key=lambda s: s.ordinal):
            self.by_id[step.step_id] = step
            self.children.setdefault(step.parent_id, []).append(step)
        self.paths: dict[str, str] = {}
        self._by_path: dict[str, Step] = {}
        waiting: list[tuple[str | None, str]] = [(None, "")]
        while waiting:
            above, prefix = waiting.pop()
            for index, step in enumerate(self.children.get(above, ())):
                path = f"{prefix}s:{index}"
                self.paths[step.step_id], self._by_path[path] = path, step
                waiting.append((step.step_id, f"{path}."))

    def at(self, path: str) -> Step | None:
        """The step at that path; `s:00` is not accepted for `s:0`."""
        return self._by_path.get(path)

    def working_order(self) -> Iterator[Step]:
        """Children before their parent, earlier siblings first."""
        stack: list[tuple[Step, bool]] = [(s, False) for s in reversed(self.children.get(None, []))]
        while stack:
            step, below_done = stack.pop()
            if below_done:
                yield step
                continue
            stack.append((step, True))
            stack.extend((child, False) for child in reversed(self.children.get(step.step_id, [])))

    def reading_order(self) -> Iterator[Step]:
        """A step before its children, earlier siblings first."""
        stack = list(reversed(self.children.get(None, [])))
        while stack:
            step = stack.pop()
            yield step
            stack.extend(reversed(self.children.get(step.step_id, [])))

    def first_open(self) -> Step | None:
        return next(self.open_steps(), None)

    def open_steps(self) -> Iterator[Step]:
        """The open steps, in working order."""
        return (step for step in self.working_order() if not step.completed)

    def depth(self, step_id: str | None) -> int:
        return 0 if step_id is None else self.paths[step_id].count(".") + 1

    def below(self, step_id: str) -> list[Step]:
        """Everything below a step, in working order."""
        root = self.paths[step_id]
        return [
            step
            for step in self.working_order()
            if step.step_id != step_id and inside(self.paths[step.step_id], root)
        ]

    def above(self, step: Step) -> list[Step]:
        """The step's ancestors, nearest first."""
        found = []
        while step.parent_id is not None:
            step = self.by_id[step.parent_id]
            found.append(step)
        return found

    def next_ordinal(self, parent: str | None) -> int:
        siblings = self.children.get(parent)
        return siblings[-1].ordinal + 1 if siblings else 0


def inside(path: str, prefix: str) -> bool:
    """Whether a path equals `prefix` or is below it: `s:0` contains `s:0.s:1`, not `s:01`."""
    return path == prefix or path.startswith(prefix + ".")
