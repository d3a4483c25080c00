"""Prometheus metrics: calls, latencies, streams, the store.

Labels come from the registry and the error tree, never from a caller, so their number is bounded.
"""

from __future__ import annotations

import resource
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import structlog

from longhouse import __version__
from longhouse.kernel.envelope import Answer
from longhouse.surfaces.http.readiness import StoreState

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)

log = structlog.get_logger()


class Metrics:
    """The metrics of one server process; `observe` is called for every call."""

    def __init__(self) -> None:
        self.leading: Callable[[], bool] = lambda: False
        self.delivered = 0
        self.resumes = 0
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, float] = {}
        self._buckets: dict[str, list[int]] = {}

    def observe(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None:
        code = answer.code or "OK"
        self._calls[cmd, code] += 1
        self._seconds[cmd] = self._seconds.get(cmd, 0.0) + seconds
        counts = self._buckets.setdefault(cmd, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        if defect is not None:
            log.error("call.defect", cmd=cmd, code=code, exc_info=defect)
        else:
            log.debug("call", cmd=cmd, code=code, ms=round(seconds * 1000, 2))

    def text(self, *, requests_open: int, followers: int, store: StoreState) -> str:
        """The metrics in Prometheus text format."""
        calls = {_labels(cmd=cmd, code=code): n for (cmd, code), n in sorted(self._calls.items())}
        by_name = {_labels(workspace=name): seq for name, seq in sorted(store.seqs.items())}
        histogram = [
            line
            for cmd, counts in sorted(self._buckets.items())
            for line in _histogram("longhouse_call_seconds", cmd, counts, self._seconds[cmd])
        ]
        return "\n".join(
            [
                *_family("gauge", "longhouse_build_info", {_labels(version=__version__): 1}),
                *_family("counter", "longhouse_calls_total", calls),
                "# TYPE longhouse_call_seconds histogram",
                *histogram,
                *_family("gauge", "longhouse_leading", {"": int(self.leading())}),
                *_family("gauge", "longhouse_requests_open", {"": requests_open}),
                *_family("gauge", "longhouse_sse_subscribers", {"": followers}),
                *_family("counter", "longhouse_sse_events_total", {"": self.delivered}),
                *_family("counter", "longhouse_sse_resumes_total", {"": self.resumes}),
                *_family("gauge", "longhouse_store_up", {"": int(store.trouble is None)}),
                *_family("gauge", "longhouse_store_bytes", {"": store.bytes}),
                *_family("gauge", "longhouse_workspace_seq", by_name),
                *_family("gauge", "process_resident_memory_bytes", {"": _resident()}),
                "",
            ]
        )


def _family(kind: str, name: str, samples: Mapping[str, float]) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{labels} {value}"


def _labels(**labels: str) -> str:
    shown = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
    return "{" + shown + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _histogram(name: str, cmd: str, counts: list[int], seconds: float) -> Iterator[str]:
    total = 0
    for bound, count in zip((*BUCKETS, None), counts, strict=True):
        total += count
        le = "+Inf" if bound is None else f"{bound:g}"
        yield f"{name}_bucket{_labels(cmd=cmd, le=le)} {total}"
    yield f"{name}_sum{_labels(cmd=cmd)} {seconds:g}"
    yield f"{name}_count{_labels(cmd=cmd)} {total}"


def _resident() -> int:
    """Resident memory in bytes now, or its peak where only that is known."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
