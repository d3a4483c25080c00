"""Where a thinking command reads and writes: branch, documents and step.

An explicit target or branch wins; else the focus; else the checkout. A target has its own branch
and documents, so naming a target together with others is refused. A step belongs to a task.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from longhouse.kernel.errors import InvalidInput, Suggestion, UnknownId
from longhouse.memory import current_branch, is_branch, reasoning_ref, standing, target_info
from longhouse.memory.types.vcs import ListBranches
from longhouse.store.tx import Tx
from longhouse.thinking.types.scopes import StepPlace
from longhouse.thinking.types.traces import TraceScope
from longhouse.work import tree_of

__all__ = ["NoStep", "Place", "place_of"]


class Place(NamedTuple):
    """A branch and documents, with the target and step that they were derived from."""

    branch: str
    notes_doc: str
    trace_doc: str
    graph_doc: str
    target: str | None = None
    step: StepPlace | None = None


class NoStep(InvalidInput):
    """The task has no open step."""


_OVERRIDES = ("branch", "ref", "graph_doc", "trace_doc", "notes_doc")


def place_of(tx: Tx, req: Any) -> Place:
    """Where the request reads or writes; contradictory or unknown names are refused."""
    given = {name: getattr(req, name, None) for name in _OVERRIDES}
    own = "doc" if hasattr(req, "doc") else "trace_doc"
    named = [own if n == "trace_doc" else n for n, value in given.items() if value is not None]
    if req.target is not None and named:
        raise InvalidInput(
            f"target: pass either target or {named[0]}, not both",
            recovery=f"drop {', '.join(named)} to use the target's own, or drop target",
            hints=[{"kind": "choose_one", "fields": ["target", *named]}],
        )
    step = None if isinstance(req, TraceScope) else getattr(req, "step", None)
    if step is not None and named:
        raise InvalidInput(
            f"step: a step belongs to a task; pass step or {named[0]}, not both",
            recovery=f"drop {', '.join(named)} and pass target=TASK-…",
        )
    if named:
        return _explicit(tx, given)
    implied = req.target if req.target is not None else standing(tx).focus
    if implied is None:
        if step is not None:
            raise InvalidInput(
                "step: expected a task in target or in focus; fix: target=TASK-001",
                recovery="pass target=TASK-…, or set a focus with tasks.focus.set",
            )
        return Place(current_branch(tx), "notes", "trace", "graph")
    try:
        info = target_info(tx, implied)
    except UnknownId as error:
        raise _with_one_way_on(tx, error) from None
    ref = reasoning_ref(info.id)
    found = _step(tx, info.id, step) if step is not None else None
    return Place(ref.branch, ref.notes_doc, ref.trace_doc, ref.graph_doc, info.id, found)


def _explicit(tx: Tx, given: dict[str, str | None]) -> Place:
    branch, ref = given["branch"], given["ref"]
    if branch is not None and ref is not None and branch != ref:
        raise InvalidInput(
            f"ref: ref and branch mean the same, but {ref!r} and {branch!r} differ",
            recovery="pass one of them",
        )
    name = branch or ref
    if name is not None and not is_branch(tx, name):
        raise UnknownId(
            f"{'branch' if branch else 'ref'}: there is no branch {name[:128]!r}",
            recovery="copy a name from vcs.branch.list",
            suggest=[Suggestion(ListBranches(), "list the branches")],
        )
    return Place(
        name or current_branch(tx),
        given["notes_doc"] or "notes",
        given["trace_doc"] or "trace",
        given["graph_doc"] or "graph",
    )


def _with_one_way_on(tx: Tx, error: UnknownId) -> UnknownId:
    from longhouse.work.types.views import GetContext

    return UnknownId(
        error.message,
        recovery=error.recovery,
        suggest=[Suggestion(GetContext(), "list plans and tasks")],
    )


def _step(tx: Tx, target: str, wanted: str) -> StepPlace:
    if not target.startswith("TASK-"):
        raise InvalidInput(
            f"step: {target} is a plan, and only tasks have steps",
            recovery="pass target=TASK-…, or leave step out",
        )
    tree = tree_of(tx, target)
    if wanted == "focus":
        step = tree.first_open()
        if step is None:
            raise NoStep(
                f"step: {target} has no open step",
                recovery="name one by path (step=s:0), or add steps with tasks.plan.decompose",
            )
    else:
        by_id = {step_id.lower(): one for step_id, one in tree.by_id.items()}
        step = tree.at(wanted) if wanted.startswith("s:") else by_id.get(wanted.lower())
        if step is None:
            raise UnknownId(
                f"step: {target} has no step {wanted}",
                recovery="copy a path or step_id from tasks.radar",
                suggest=_steps_of(target),
            )
    return StepPlace(task_id=target, step_id=step.step_id, path=tree.paths[step.step_id])


def _steps_of(target: str) -> list[Suggestion]:
    from longhouse.work.types.views import GetRadar

    return [Suggestion(GetRadar(task=target), "list its steps")]
