"""The memory room: documents on branches, their version control, the typed graph, and targeting.

Owns branches, documents, entries, graph versions, conflicts, refs, tags, checkout and focus. Other
rooms call the functions below inside their own transactions and never touch its tables:

    scope(tx, kind, target=, branch=, doc=)      which branch and document a command means
    reasoning_ref(id), ensure_target(tx, id)     the branch and documents of a plan or task
    target_info(tx, target)                      a plan or task, as the room that owns it reports it
    standing(tx), set_focus(tx, id | None)       the caller's checkout and focus
    ensure_branch(tx, name)                      a branch to write on
    append_entry(tx, branch, doc, kind=, content=, …, source_event_id=)   once per event
    view_of(tx, branch, doc, as_of), page_of(tx, view, cursor=, limit=)   a page of entries
    apply_ops(tx, branch, doc, ops, internal=, only_changes=)             write nodes and edges
    visible(tx, view, keys), node_page(tx, view, NodeFilter, before=, limit=), edges_among(…)
    edges_at(tx, view, ids, "from" | "into", limit)                       the edges of some nodes
    nodes_named(tx, id), nodes_tagged(tx, tag, before=, limit=)           nodes across all graphs

They are imported lazily, so a command-line call loads only the modules it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from longhouse.memory.room import room

if TYPE_CHECKING:
    from longhouse.memory.branches import (
        ENDLESS,
        Branch,
        View,
        ensure_branch,
        find_branch,
        view_of,
    )
    from longhouse.memory.branching import make_branch
    from longhouse.memory.entries import Appended, append_entry, first_shown, page_of
    from longhouse.memory.graph.apply import Written, apply_ops
    from longhouse.memory.graph.rows import edge_from, node_from
    from longhouse.memory.graph.view import (
        NodeFilter,
        Nodes,
        edges_among,
        edges_at,
        node_page,
        nodes_named,
        nodes_tagged,
        visible,
    )
    from longhouse.memory.targeting import (
        DocumentScope,
        Targeting,
        bootstrap,
        checkout_branch,
        ensure_target,
        reasoning_ref,
        scope,
        set_focus,
        standing,
        target_info,
    )

__all__ = [
    "ENDLESS",
    "Appended",
    "Branch",
    "DocumentScope",
    "NodeFilter",
    "Nodes",
    "Targeting",
    "View",
    "Written",
    "append_entry",
    "apply_ops",
    "bootstrap",
    "checkout_branch",
    "edge_from",
    "edges_among",
    "edges_at",
    "ensure_branch",
    "ensure_target",
    "find_branch",
    "first_shown",
    "make_branch",
    "node_from",
    "node_page",
    "nodes_named",
    "nodes_tagged",
    "page_of",
    "reasoning_ref",
    "room",
    "scope",
    "set_focus",
    "standing",
    "target_info",
    "view_of",
    "visible",
]

_HOMES = {
    "branches": ("ENDLESS", "Branch", "View", "ensure_branch", "find_branch", "view_of"),
    "branching": ("make_branch",),
    "entries": ("Appended", "append_entry", "first_shown", "page_of"),
    "graph.apply": ("Written", "apply_ops"),
    "graph.rows": ("edge_from", "node_from"),
    "graph.view": (
        "NodeFilter",
        "Nodes",
        "edges_among",
        "edges_at",
        "node_page",
        "nodes_named",
        "nodes_tagged",
        "visible",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"longhouse.memory.{_HOME.get(name, 'targeting')}"), name)
