"""The jobs room: delegated work as durable records with claims, attention, proof and an outcome.

Owns jobs, their dependencies, and runners' leases. It executes nothing: runners claim work and
report through commands. README.md has the states, the invariants and what happens on failure.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.jobs.autostart import RunnerProcesses
    from longhouse.jobs.creating import add_job
    from longhouse.jobs.facts import STARTER
    from longhouse.jobs.failure import failure_of
    from longhouse.jobs.leading import may_end
    from longhouse.jobs.presence import runners_present
    from longhouse.jobs.radar import radar_of_task
    from longhouse.jobs.reading import active_job_of, list_jobs, usage_of_task
    from longhouse.jobs.routing import ExecutorOrAuto, Policy
    from longhouse.jobs.steering import cancel_job
    from longhouse.jobs.values import Job, JobUsage
    from longhouse.jobs.vouching import claim_of_agent
else:
    __getattr__ = door(__name__)
