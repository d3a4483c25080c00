"""The work room: plans, tasks in plans, steps in tasks, and the proof that a step is done.

Every change is one transaction that writes the entity, its event, the trace entry, the graph
projection and mirrored notes, on the entity's canonical branch no matter what is checked out.
Higher rooms call these functions and never touch its tables:

    lookup.entity_row(tx, id), radar.scene_of(tx, row)    a plan or task with steps and horizon
    views.next_call(tx, scene)                            the call that moves it forward
    views.handoff_of(scene), events.timeline(tx, id, n)   the handoff, the newest events
    events.happened(tx, id, kind, payload, …)             record an event of a plan or task
    starting.bootstrap(tx, Bootstrap(…))                  a new task with steps in a plan
"""

from longhouse.work.room import room

__all__ = ["room"]
