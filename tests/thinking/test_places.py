"""Where thinking commands act: the target, the named branch, the focus, the checkout."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.kit import Lh
from tests.thinking.kit import task

NAMED = {
    "branch": "main",
    "ref": "main",
    "notes_doc": "notes",
    "graph_doc": "graph",
    "trace_doc": "trace",
    "doc": "trace",
}
THOUGHT = {"thought": "x", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
CARDS: dict[str, dict[str, Any]] = {
    "think.card": {"card": "x"},
    "think.add.note": {"card": "x"},
    "think.reasoning.pipeline": {"frame": "x"},
    **{f"think.{read}": {} for read in ("context", "query", "pack", "context.pack", "pins")},
    **{f"think.{read}": {} for read in ("frontier", "next", "watch")},
}
TRACES: dict[str, dict[str, Any]] = {
    "think.trace.step": {"step": "x"},
    "think.trace.sequential.step": THOUGHT,
    "think.trace.hydrate": {},
    "think.trace.validate": {},
}


def place(lh: Lh, cmd: str, **args: Any) -> tuple[str, set[str]]:
    """The branch and documents that an answer names."""
    said = lh(cmd, **args)
    docs = said.get("docs", {})
    names = [said.get(key) for key in ("graph_doc", "trace_doc", "doc")]
    return said["branch"], {doc for doc in (*names, docs.get("graph"), docs.get("trace")) if doc}


@pytest.mark.proves("MEM-168", "MEM-185", "MEM-275")
def test_a_target_is_given_alone(lh: Lh) -> None:
    target = task(lh)["id"]
    tried = set()
    for command in lh.house.registry:
        takes = set(command.request.__struct_fields__)
        if command.room != "thinking" or "target" not in takes:
            continue
        for name in takes & NAMED.keys():
            args = {**msgspec.to_builtins(command.example), "target": target, name: NAMED[name]}
            error = lh.refused(command.cmd, **args)
            assert error["code"] == "INVALID_INPUT"
            assert f"pass either target or {name}" in error["message"], command.cmd
            tried.add(command.cmd)
    assert tried >= {*CARDS, *TRACES, "think.link", "think.publish", "think.subgoal.open"}


@pytest.mark.proves("MEM-152", "MEM-186", "MEM-168", "MEM-199", "MEM-275")
def test_a_target_or_a_name_wins_over_the_focus_and_the_focus_over_the_checkout(lh: Lh) -> None:
    first, second = task(lh)["id"], task(lh)["id"]
    lh("vcs.branch.create", name="idea/a")
    lh("vcs.checkout", ref="idea/a")
    default = {}
    for cmd, args in (CARDS | TRACES).items():
        branch, docs = default[cmd] = place(lh, cmd, **args)
        assert (branch, bool(docs)) == ("idea/a", True)
        assert docs <= {"graph", "trace"}
        name, kind = ("doc", "trace") if cmd in TRACES else ("graph_doc", "graph")
        own = {"mine" if doc == kind else doc for doc in docs}
        assert place(lh, cmd, **{name: "mine"}, **args) == ("idea/a", own)
        own = {f"{first}-{doc}" for doc in docs}
        assert place(lh, cmd, target=first, **args) == (f"task/{first}", own)
    lh("tasks.focus.set", task=first)
    for cmd, args in (CARDS | TRACES).items():
        docs = default[cmd][1]
        for target, where in ((first, {}), (second, {"target": second})):
            own = {f"{target}-{doc}" for doc in docs}
            assert place(lh, cmd, **where, **args) == (f"task/{target}", own)
        for name in ("branch", "ref"):
            assert place(lh, cmd, **{name: "main"}, **args) == ("main", docs)
