"""The memory room: documents on branches, their version control, the typed graph, and targeting.

Owns branches, documents, entries, graph versions, conflicts, refs, tags, checkout and focus. Other
rooms call these functions inside their own transactions and never touch its tables; nodes and edges
have a door of their own, `longhouse.memory.graph`.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.memory.branches import (
        ENDLESS,
        Branch,
        View,
        ensure_branch,
        find_branch,
        is_branch,
        view_of,
    )
    from longhouse.memory.branching import make_branch, unmerged_branches
    from longhouse.memory.entries import append_entry, first_shown, page_of
    from longhouse.memory.merging import base_of, merge_documents
    from longhouse.memory.names import check_node_id, normal_tags, target_of
    from longhouse.memory.searching import find_documents
    from longhouse.memory.sequential import derive
    from longhouse.memory.targeting import (
        Targeting,
        bootstrap,
        checkout_branch,
        current_branch,
        ensure_target,
        last_entry,
        leave_focus,
        mark_seen,
        reasoning_ref,
        seen_seq,
        set_focus,
        standing,
        take_place,
        target_info,
    )
else:
    __getattr__ = door(__name__)
