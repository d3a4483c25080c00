"""The cost of a dispatch, compared with copying the inherited state, and the memory of children.

A shallow copy gives the child its own copy of every container and every item, which it would need
if values were not shared. Copying only the containers is printed as well. A dispatch copies none of
them, and its cost does not depend on the state: it checks the request and the result, makes an id,
and opens and closes a session, a bus and a scope under their locks. From about three thousand items
on, it costs less than five copies of the containers.
"""

from __future__ import annotations

import copy
import gc
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

from bench._harness import Figures, interleave, report
from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentResult,
    EventBus,
    InProcessEventBus,
    PromptSubagentToolsSection,
    Session,
    ToolContext,
)

REQUEST = DispatchSubagent("ad_hoc", "bench", "noop", "Do nothing.")
DONE = DispatchSubagentResult("Done.")


@dataclass(slots=True, frozen=True)
class Item:
    number: int
    text: str
    tags: tuple[str, ...] = ("a", "b")


def parent_of(items: int) -> Session:
    session = Session(bus=InProcessEventBus(), session_id="bench")
    session.seed_slice(Item, [Item(number, f"item {number}") for number in range(items)])
    return session


def no_op(*, session: Session, bus: EventBus, params: DispatchSubagent) -> DispatchSubagentResult:
    return DONE


def per_call(work: Callable[[], object], calls: int) -> Callable[[], float]:
    def contestant() -> float:
        started = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - started) / calls

    return contestant


def dispatching(items: int) -> Callable[[], object]:
    session = parent_of(items)
    (tool,) = PromptSubagentToolsSection(session=session, runner=no_op).tools()
    context = ToolContext(session)
    return lambda: tool.handler(REQUEST, context=context)


def one_dispatch() -> None:
    state = {kind: list(values) for kind, values in parent_of(1_000).snapshot().slices.items()}
    large = {kind: list(values) for kind, values in parent_of(100_000).snapshot().slices.items()}
    figures = interleave(
        {
            "dispatch": per_call(dispatching(1_000), 2_000),
            "dispatch-of-100000": per_call(dispatching(100_000), 2_000),
            "shallow-copy": per_call(
                lambda: {kind: [copy.copy(item) for item in state[kind]] for kind in state}, 3
            ),
            "containers-only": per_call(
                lambda: {kind: list(values) for kind, values in state.items()}, 2_000
            ),
            "containers-of-100000": per_call(
                lambda: {kind: list(values) for kind, values in large.items()}, 20
            ),
        }
    )
    report("subagents.dispatch", figures.ratio("dispatch", "shallow-copy"), "<=5.0", figures)
    report(
        "subagents.dispatch-against-containers",
        figures.ratio("dispatch", "containers-only"),
        "<=20.0",
    )
    report(
        "subagents.dispatch-against-many-containers",
        figures.ratio("dispatch-of-100000", "containers-of-100000"),
        "<=5.0",
    )
    report(
        "subagents.dispatch-by-state-size", figures.ratio("dispatch-of-100000", "dispatch"), "<=1.5"
    )


def held_by_children(items: int, children: int = 100) -> float:
    """The bytes held by `children` open children, each of which has changed one item."""
    session = parent_of(items)
    everyone = threading.Barrier(children)
    held: list[int] = []

    def changes_one(
        *, session: Session, bus: EventBus, params: DispatchSubagent
    ) -> DispatchSubagentResult:
        session.seed_slice(DispatchSubagentResult, [DONE])
        if everyone.wait() == 0:
            held.append(tracemalloc.get_traced_memory()[0])
        everyone.wait()
        return DONE

    section = PromptSubagentToolsSection(session=session, runner=changes_one)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    section.dispatch_all([REQUEST] * children, max_parallel=children)
    tracemalloc.stop()
    return float(held[0] - before)


def many_children() -> None:
    figures: Figures = interleave(
        {
            "inheriting-10": lambda: held_by_children(10),
            "inheriting-100000": lambda: held_by_children(100_000),
        },
        rounds=3,
    )
    report(
        "subagents.memory-of-100-children",
        figures.ratio("inheriting-100000", "inheriting-10"),
        "<=1.2",
        figures,
    )


if __name__ == "__main__":
    one_dispatch()
    many_children()
