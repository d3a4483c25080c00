"""Counts the steps of a call: which of our functions run, in which files, on all threads.

A step is a call of one of our functions, or the continuation of one that waited; comprehensions do
not count, because newer Pythons inline them.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import longhouse

__all__ = ["Steps"]

ROOT = f"{Path(longhouse.__file__).parent}/"
BESIDE = ("longhouse.observer", "longhouse.reaction", "longhouse-wakeups")
"""Threads that do what follows an answer, or notice what other processes do."""


class Steps:
    """The steps taken while `counting`."""

    def __init__(self) -> None:
        self._counted: Counter[CodeType] | None = None
        self.taken: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that start from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextmanager
    def counting(self) -> Iterator[None]:
        counted = self._counted = Counter()
        try:
            yield
        finally:
            self._counted = None
        self.taken = Counter()
        for code, times in counted.items():
            name = code.co_qualname.rpartition(".")[2]
            if code.co_filename.startswith(ROOT) and (name == "<lambda>" or name[0] != "<"):
                self.taken[code.co_filename.removeprefix(ROOT), code.co_qualname] += times

    @property
    def calls(self) -> int:
        return sum(self.taken.values())

    @property
    def files(self) -> int:
        return len({file for file, _ in self.taken})

    def shown(self) -> str:
        """Where they are, most of them first."""
        by_file: dict[str, Counter[str]] = {}
        for (file, function), times in self.taken.items():
            by_file.setdefault(file, Counter())[function] += times
        rows = sorted(by_file.items(), key=lambda one: (-one[1].total(), one[0]))
        lines = [f"{self.calls} calls, {self.files} files"]
        for file, functions in rows:
            names = ", ".join(f"{name} {times}" for name, times in functions.most_common())
            lines.append(f"{functions.total():4} {file}: {names}")
        return "\n".join(lines)

    def _note(self, frame: FrameType, event: str, _arg: Any) -> None:
        counted = self._counted
        if event != "call" or counted is None or threading.current_thread().name in BESIDE:
            return
        counted[frame.f_code] += 1
