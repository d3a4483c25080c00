"""`status`: where the caller is, who else is here, and the best next action.

The short view fits in `SHORT` characters of JSON with its envelope: what matters most comes first,
and `more` says that something no longer fits. The full view has everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from longhouse.desk.next import OPEN_FOCUS, Next, derive_next
from longhouse.desk.room import room
from longhouse.desk.types.status import (
    Defaults,
    Docs,
    GetStatus,
    JobLine,
    Me,
    Server,
    Since,
    Status,
    WorkspacePolicy,
)
from longhouse.kernel.budget import Drop, Keep, Pop
from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell, clip
from longhouse.memory import last_entry, seen_seq
from longhouse.store.tx import Tx, sql

__all__ = [
    "DEFAULTS",
    "around_lines",
    "asking",
    "get_status",
]

SHORT = 900
"""The most characters of a short answer, envelope and actions included."""
ENVELOPE = 200
"""The characters of an envelope around its result and actions, without the workspace's name."""
RANK = {"high": 0, "medium": 1, "low": 2}
FIRST = (
    ("me", 1),
    ("target", 1),
    ("inbox", 1),
    ("job", 1),
    ("here", 1),
    ("processes", 1),
    ("here", 3),
    ("jobs", 1),
    ("held", 1),
    ("since", 1),
    ("here", 4),
    ("processes", 3),
    ("held", 3),
    ("runner", 1),
    ("here", 8),
)
"""What the short view has room for, most important first, and how many of each."""

VITAL = ("me", "inbox", "job", "here", "processes", "jobs")
"""What a short view says something of, as long as it can be made to fit."""
TITLES = (60, 40, 30)
"""How long titles are, if that leaves room for what is vital."""
MORE = "view=full"
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
        f"me={result['me'].get('agent') or result['me']['role']}",
    ]
    if server := result.get("server"):
        state.append(f"version={server['version']}")
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
    if here := result.get("here"):
        found.append(f"here {' '.join(here)}")
    if going := result.get("processes"):
        found.append("; ".join(going))
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
        found.append(f"jobs running={jobs.get('running', 0)} queued={jobs['queued']}")
        if waiting := jobs.get("waiting"):
            found.append(f"waits: {cell(waiting.get('why') or waiting['code'], 160)}")
    if runner := result.get("runner"):
        alarm = "!" if runner["status"] == "offline" and (job or result.get("jobs")) else ""
        found.append(f"runner={runner['status']}{alarm}")
    return found


@room.command(
    "status",
    also=(
        "system.status workspace.status system.state state whoami tasks.status "
        "system.version:view=full version:view=full"
    ),
    example=GetStatus(),
    lines=status_lines,
    tier="gold",
    profile="default",
    trim=[
        Pop("held", leave=1),
        Pop("processes", leave=1),
        Drop("workspace_policy"),
        Drop("last_event"),
        Drop("defaults"),
        Drop("golden_path"),
        Drop("last_doc_entry"),
        Drop("last_task_event"),
        Drop("runner_autostart"),
        Drop("server"),
        Pop("held"),
        Pop("processes"),
        Pop("here"),
        Drop("runner"),
        Drop("jobs"),
        Drop("target"),
        Keep(("workspace", "headline", "focus", "seq", "me")),
    ],
)
def get_status(tx: Tx, req: GetStatus) -> Status:
    """Show where you are, who else is here, what runs, and the best next action."""
    me = asking(tx, req)
    seq = tx.last_seq()
    derived = derive_next(tx)
    focus = derived.targeting.focus
    around = {
        **_around(tx, me, focus, jobs="jobs" in derived.shown),
        **derived.shown,
        "since": _since(tx),
    }
    shown = {name: value for name, value in around.items() if value}
    shown["me"] = Me(agent=me, role=tx.by.role.name.lower())
    required = {
        "workspace": tx.workspace,
        "schema_version": tx.facts.schema_version,
        "workspace_exists": seq > 0,  # a client that only received its token has written nothing
        "seq": seq,
        "checkout": derived.targeting.checkout,
        "focus": focus,
        "defaults": DEFAULTS,
    }
    if req.view == "full":
        tx.suggestions.extend(derived.suggestions)
        return Status(**required, **shown, **_rest(tx, seq, derived))
    actions = _ranked(tx, derived.suggestions)
    around_it = ENVELOPE + len(tx.workspace) + sum(size for _, size in actions[:1])
    fits = _best_fitting(required, shown, SHORT - around_it)
    tx.suggestions.extend(_also(actions, SHORT - around_it - _chars({**required, **fits})))
    return Status(**required, **fits)


def _rest(tx: Tx, seq: int, derived: Next) -> dict[str, Any]:
    """What only the full view says."""
    name = tx.workspace
    return {
        "headline": f"{name} at seq {seq}"
        if seq
        else f"workspace {name} is new: nothing was written yet",
        "server": Server(version=tx.facts.version, engine=tx.facts.engine),
        "state_fingerprint": derived.state_fingerprint,
        "golden_path": golden_path(tx),
        "last_doc_entry": last_entry(tx),
        "workspace_policy": _policy(tx),
    }


def _ranked(tx: Tx, suggestions: Sequence[Suggestion]) -> list[tuple[Suggestion, int]]:
    """What the caller may do, best first, and how long each is as an action."""
    found = []
    for one in suggestions:
        action = action_for(tx.facts.registry, tx.workspace, one)
        if tx.by.role >= tx.facts.registry.outline(one.request).role:
            rank = RANK[one.priority], action.action_id == OPEN_FOCUS, action.action_id
            found.append((rank, one, len(msgspec.json.encode(action).decode()) + 1))
    return [(one, size) for _, one, size in sorted(found, key=lambda each: each[0])]


def _also(actions: list[tuple[Suggestion, int]], most: int) -> Iterator[Suggestion]:
    """The best action, and those of the next that still fit."""
    for at, (one, size) in enumerate(actions):
        if at == 0 or size <= most:
            most -= size if at else 0
            yield one


def _best_fitting(required: dict[str, Any], shown: dict[str, Any], most: int) -> dict[str, Any]:
    """As much as fits: rather less of a title than nothing of who is here or what waits."""
    tried = [_fitting(required, _shortened(shown, longest), most) for longest in TITLES]
    return max(tried, key=lambda fits: sum(name in fits for name in VITAL))  # the first of several


def _fitting(required: dict[str, Any], shown: dict[str, Any], most: int) -> dict[str, Any]:
    """As much of what there is to show as fits, in order."""
    found: dict[str, Any] = {}
    for name, count in FIRST:
        value = shown.get(name)
        value = value[:count] if isinstance(value, list) else value
        while value and _chars({**required, **found, name: value, "more": MORE}) > most:
            value = value[:-1] if isinstance(value, list) else _briefer(value)
        if value and len(value) > len(found.get(name, ())) if isinstance(value, list) else value:
            found[name] = value
    return {**found, "more": None if found == shown else MORE}


def _briefer(value: Any) -> dict[str, Any] | None:
    """Why jobs wait in fewer words: without the sentence, then without what helps; else nothing."""
    waiting = value.get("waiting") if isinstance(value, dict) else None
    if not isinstance(waiting, dict):
        return None
    long = next((name for name in ("why", "fix") if name in waiting), None)
    if long is None:  # that nothing runs is the least to say
        rest = {name: one for name, one in value.items() if name != "running"}
        return rest if value.get("running") == 0 else None
    return {**value, "waiting": {name: one for name, one in waiting.items() if name != long}}


def _shortened(shown: dict[str, Any], longest: int) -> dict[str, Any]:
    """The same in fewer characters."""
    left = {name: shown[name] for name, _ in FIRST if name in shown}
    if target := left.get("target"):
        left["target"] = {"title": clip(target["title"], longest)}
    if inbox := left.get("inbox"):
        left["inbox"] = {name: inbox[name] for name in ("unread", "due") if name in inbox}
    if job := left.get("job"):
        said = clip(job.said, TITLES[0]) if job.said else None
        title = None if said else clip(job.title, longest)
        left["job"] = JobLine(
            id=job.id, status=job.status, marker=job.marker, said=said, title=title
        )
    return left


def _chars(of: dict[str, Any]) -> int:
    return len(msgspec.json.encode(of).decode())


def asking(tx: Tx, req: Any) -> str | None:
    """The caller's identity, if the call involves one; most calls do not."""
    if not tx.by.named and req.agent is None and req.agent_token is None:
        return None
    from longhouse.crew import asker

    return asker(tx, req)


def _around(tx: Tx, me: str | None, focus: str | None, *, jobs: bool) -> dict[str, Any]:
    """The title of what is in focus; for a task also its active job, lease and reservations."""
    if focus is None:
        return {}
    from longhouse.work import known_target

    if (known := known_target(tx, focus)) is None:
        return {}
    found = {"target": {"status": known.status, "title": clip(known.title or "", 100)}}
    if known.kind != "task":
        return found
    from longhouse.desk.surroundings import active_job, holders
    from longhouse.work import scene_of

    step = scene_of(tx, focus).step_focus
    return {
        **found,
        "job": active_job(tx, focus) if jobs else None,
        "held": holders(tx, me, focus, step),
    }


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
