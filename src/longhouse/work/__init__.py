"""The work room: plans, tasks in plans, steps in tasks, and the proof that a step is done.

Every change is one transaction that writes the entity, its event, the trace entry, the graph
projection and mirrored notes, on the entity's canonical branch no matter what is checked out.
Higher rooms call these functions and never touch its tables.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.work.closing import closed, strict_gate
    from longhouse.work.deleting import remove
    from longhouse.work.editing import assign, move
    from longhouse.work.errors import ProofRequired
    from longhouse.work.events import happened, last_acted_on, timeline
    from longhouse.work.leases import free_steps, leases_of_others
    from longhouse.work.lint import context_health, patch_suggestions
    from longhouse.work.lint_rules import findings
    from longhouse.work.listing import tasks_page
    from longhouse.work.lookup import (
        entity_row,
        given_id,
        id_of,
        is_plan,
        step_named,
        tree_of,
        where_to_start,
    )
    from longhouse.work.next_step import next_call
    from longhouse.work.projections import waits_for
    from longhouse.work.proof import evidence_from_line
    from longhouse.work.radar import Scene, horizon_of, scene_of, steps_of
    from longhouse.work.receipts import steps_shown_by
    from longhouse.work.starting import bootstrap
    from longhouse.work.states import CLOSED, ReasoningMode
    from longhouse.work.steps import StepChange, step_change
    from longhouse.work.targets import known_target
    from longhouse.work.tree import inside
    from longhouse.work.views import evidence_of, handoff_of
else:
    __getattr__ = door(__name__)
