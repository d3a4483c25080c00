"""The typed graph: versioned nodes and edges in a document on a branch.

Owns the versions, which of them a branch shows, three-way merges into the base, and conflicts.
Other rooms write cards and tasks into it and read them back, in views that `memory.view_of` makes.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.memory.graph.apply import apply_ops
    from longhouse.memory.graph.diff import diff_graphs
    from longhouse.memory.graph.merge import merge_graph
    from longhouse.memory.graph.rows import edge_from, node_from
    from longhouse.memory.graph.view import (
        NodeFilter,
        edges_among,
        edges_at,
        node_page,
        nodes_named,
        nodes_tagged,
        visible,
    )
else:
    __getattr__ = door(__name__)
