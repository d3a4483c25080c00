"""`status`: the current state and the best next action."""

from __future__ import annotations

from typing import Any

from longhouse.desk.next import derive_next
from longhouse.desk.room import room
from longhouse.desk.types.status import (
    Defaults,
    Docs,
    GetStatus,
    Server,
    Since,
    Status,
    WorkspacePolicy,
)
from longhouse.kernel.budget import Drop, Keep, Pop
from longhouse.kernel.lines import cell, clip
from longhouse.memory import reading as memory
from longhouse.memory.targeting import seen_seq
from longhouse.store.tx import Tx, sql

__all__ = [
    "DEFAULTS",
    "around_lines",
    "asking",
    "get_status",
]


DEFAULTS = Defaults(branch="main", docs=Docs(notes="notes", graph="graph", trace="trace"))

GOLDEN_PATH = ("tasks.macro.start", "tasks.snapshot", "tasks.macro.close.step")
"""The recommended flow; commands that this house lacks are left out."""


def golden_path(tx: Tx) -> list[str]:
    return [cmd for cmd in GOLDEN_PATH if cmd in tx.facts.registry]


def status_lines(result: dict[str, Any]) -> list[str]:
    """The state on one line; the next command follows from the actions."""
    last = result.get("last_doc_entry")
    state = [
        "ready" if result["workspace_exists"] else "new",
        f"checkout={result['checkout'] or '-'}",
        f"workspace={result['workspace']}",
        f"focus={result['focus'] or '-'}",
        f"version={result['server']['version']}",
    ]
    event = result.get("last_task_event")
    seen = [f"task_event={event['event_id']}"] if event else []
    seen += [f"doc={last['doc']}@{last['seq']}"] if last else []
    tail = f" | last {' '.join(seen)}" if seen else ""
    return [" | ".join([clip(" ".join(state), 400) + tail, *_beside(result)])]


def _beside(result: dict[str, Any]) -> list[str]:
    """What else matters now: the job, the mail, what others hold, new changes."""
    found = around_lines(result)
    if inbox := result.get("inbox"):
        found.append("inbox " + " ".join(f"{k}={v}" for k, v in inbox.items() if k != "agent_id"))
    if others := [one for one in result.get("held", ()) if not one.get("mine")]:
        found.append(f"held {others[0]['what']} by {others[0]['by']}")
    if (since := result.get("since")) and since["changes"]:
        found.append(f"new={since['changes']} since={since['seq']}")
    return found


def around_lines(result: dict[str, Any]) -> list[str]:
    """The job with its marker and latest message, then job counts and the runner state."""
    found = []
    if job := result.get("job"):
        said = cell(job.get("said") or job["title"], 60)
        found.append(f"job={job['id']}({job['status']}{job.get('marker', '')}): {said}")
    if jobs := result.get("jobs"):
        found.append(f"jobs running={jobs['running']} queued={jobs['queued']}")
    if runner := result.get("runner"):
        alarm = "!" if runner["status"] == "offline" and (job or result.get("jobs")) else ""
        found.append(f"runner={runner['status']}{alarm}")
    return found


@room.command(
    "status",
    also="system.status workspace.status system.state state whoami tasks.status",
    example=GetStatus(),
    lines=status_lines,
    tier="gold",
    profile="default",
    trim=[
        Pop("held", leave=1),
        Drop("workspace_policy"),
        Drop("last_event"),
        Drop("defaults"),
        Drop("golden_path"),
        Drop("last_doc_entry"),
        Drop("last_task_event"),
        Drop("runner_autostart"),
        Drop("server"),
        Pop("held"),
        Drop("runner"),
        Drop("jobs"),
        Drop("target"),
        Keep(("workspace", "headline", "focus", "seq")),
    ],
)
def get_status(tx: Tx, req: GetStatus) -> Status:
    """Show the current state and the best next action."""
    facts = tx.facts
    me = asking(tx, req)
    seq = tx.last_seq()
    exists = seq > 0  # a client that only received its token has written nothing yet
    derived = derive_next(tx)
    for suggestion in derived.suggestions:
        tx.suggestions.append(suggestion)
    if exists:
        headline = f"{tx.workspace} at seq {seq}"
    else:
        headline = f"workspace {tx.workspace} is new: nothing was written yet"
    return Status(
        workspace=tx.workspace,
        headline=headline,
        server=Server(version=facts.version, engine=facts.engine),
        schema_version=facts.schema_version,
        workspace_exists=exists,
        seq=seq,
        checkout=derived.targeting.checkout,
        focus=derived.targeting.focus,
        state_fingerprint=derived.state_fingerprint,
        defaults=DEFAULTS,
        golden_path=golden_path(tx),
        last_doc_entry=memory.last_entry(tx),
        workspace_policy=_policy(tx),
        since=_since(tx),
        **_around(tx, me, derived.targeting.focus),
        **derived.shown,
    )


def asking(tx: Tx, req: Any) -> str | None:
    """The caller's identity, if the call involves one; most calls do not."""
    if not tx.by.named and req.agent is None and req.agent_token is None:
        return None
    from longhouse.desk.callers import asker

    return asker(tx, req)


def _around(tx: Tx, me: str | None, focus: str | None) -> dict[str, Any]:
    """The title of what is in focus; for a task also its active job, lease and reservations."""
    if focus is None:
        return {}
    from longhouse.work.targets import known_target

    if (known := known_target(tx, focus)) is None:
        return {}
    found = {"target": {"status": known.status, "title": clip(known.title or "", 100)}}
    if known.kind != "task":
        return found
    from longhouse.desk.surroundings import active_job, holders
    from longhouse.work.lookup import task_row
    from longhouse.work.radar import scene_of

    step = scene_of(tx, task_row(tx, focus)).step_focus
    return {**found, "job": active_job(tx, focus), "held": holders(tx, me, focus, step)}


def _since(tx: Tx) -> Since | None:
    """How many changes are new to the caller; None if it never asked for a delta."""
    after = seen_seq(tx)
    if after is None:
        return None
    from longhouse.desk.changes import MOST_COUNTED, unseen

    count = unseen(tx, after)
    return Since(seq=after, changes=count, has_more=count >= MOST_COUNTED)


def _policy(tx: Tx) -> WorkspacePolicy | None:
    """The workspace policy, or None if it is the default."""
    facts = tx.facts
    policy = WorkspacePolicy(
        default_workspace=facts.default_workspace,
        workspace_lock=facts.workspace_lock,
        workspace_allowlist=facts.workspace_allowlist,
        project_guard_configured=facts.project_guard,
        project_guard_stored=_stored_guard(tx),
        default_agent_id=facts.agent_id,
    )
    ordinary = WorkspacePolicy(default_workspace=tx.workspace, workspace_lock=False)
    return None if policy == ordinary else policy


def _stored_guard(tx: Tx) -> str | None:
    row = tx.one(sql.workspace_by_name, name=tx.workspace)
    return row["project_guard"] if row else None
