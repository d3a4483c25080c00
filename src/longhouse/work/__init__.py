"""The work room: plans, tasks in plans, steps in tasks, and the proof that a step is done.

Every change is one transaction that writes the entity, its event, the trace entry, the graph
projection and mirrored notes, on the entity's canonical branch whatever is checked out. Rooms above
stand on these functions, never on its tables:

    lookup.entity_row(tx, id), radar.scene_of(tx, row)    a plan or task with steps and horizon
    views.next_call(tx, scene)                            the one call that brings it on
    views.handoff_of(scene), events.timeline(tx, id, n)   the hand-over, the newest events
    events.happened(tx, id, kind, payload, …)             record something about a plan or task
    starting.bootstrap(tx, Bootstrap(…))                  a plan where needed, a task and its steps
"""

from longhouse.work.room import room

__all__ = ["room"]
