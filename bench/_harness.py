"""Shared by all benchmarks: run contestants in turn and compare them.

A promise is a ratio between contestants of the same run, never a time: `<=2.0` or `>=0.4`.
Contestants take turns in rounds, so that noise affects all of them alike, and the median of each
counts.

    figures = interleave({"floor": timed(bare), "longhouse": timed(ours)})
    report("claim-one", figures.ratio("longhouse", "floor"), "<=2.0", figures)
"""

from __future__ import annotations

import gc
import re
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

PROMISE = re.compile(r"(<=|>=)(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Figures:
    """Every contestant's figures, in the order they were measured."""

    raw: Mapping[str, tuple[float, ...]]

    def median(self, name: str) -> float:
        return median(self.raw[name])

    def ratio(self, name: str, against: str) -> float:
        return self.median(name) / self.median(against)


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """A contestant whose figure is the duration of `work` in seconds."""

    def contestant() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return contestant


def worked(work: Callable[[], object]) -> Callable[[], float]:
    """A contestant whose figure is the CPU seconds used by `work` and the processes it starts.

    On a busy machine this is more reliable than elapsed time for work that never waits.
    """

    def contestant() -> float:
        started = _processor_s()
        work()
        return _processor_s() - started

    return contestant


def _processor_s() -> float:
    each = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def interleave(
    contestants: Mapping[str, Callable[[], float]], *, rounds: int = 7, warmup: int = 1
) -> Figures:
    """Run the contestants in turn, starting each round with a different one."""
    names = list(contestants)
    raw: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(warmup + rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect()
            figure = contestants[name]()
            if turn >= warmup:
                raw[name].append(figure)
    return Figures({name: tuple(figures) for name, figures in raw.items()})


def kept(ratio: float, promise: str) -> bool:
    """Whether a ratio keeps a promise; NaN keeps none."""
    match = PROMISE.fullmatch(promise)
    if match is None:
        raise ValueError(f"a promise looks like <=2.0 or >=0.4, not {promise!r}")
    bound = float(match[2])
    return ratio <= bound if match[1] == "<=" else ratio >= bound


def report(id_: str, ratio: float, promise: str, figures: Figures | None = None) -> bool:
    """Print the raw figures as comments, then the line that `bench/_run.py` reads."""
    if not id_ or id_ != "".join(id_.split()):
        raise ValueError(f"a benchmark id must not be empty or contain spaces: {id_!r}")
    for name, values in (figures.raw if figures else {}).items():
        shown = " ".join(f"{value:.4g}" for value in values)
        print(f"# {id_} {name}: median {median(values):.4g} of {shown}")
    ok = kept(ratio, promise)
    print(f"BENCH {id_} {ratio:.3f} {promise} {'ok' if ok else 'miss'}", flush=True)
    return ok
