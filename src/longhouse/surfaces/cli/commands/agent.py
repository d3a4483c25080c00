"""`longhouse agent`: identities, file reservations, and messages between agents."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.surfaces.cli import arriving
from longhouse.surfaces.cli.checkout import checkout_root, place, uncommitted_files
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.identities import as_agent, forget
from longhouse.surfaces.cli.render import flat, local_time, many, table
from longhouse.surfaces.cli.spec import AS_OF, Command, Flag, Shown

STATUSES = ("idle", "spawning", "running", "working", "stuck", "done", "stopped", "dead")
CATEGORIES = ("HANDOFF", "BLOCKED", "DECISION", "INFO")

_AGENT = Flag("agent", "the agent to act as (default: LONGHOUSE_AGENT_ID)", "NAME")
_SCOPE = Flag("scope", "the files, relative to the checkout's root: src/parser/*", "SCOPE")
_BEAD = Flag(
    "bead", "the work item (a bead), such as TASK-001 (default: your focus)", "ID", field="bead_id"
)
_KEPT = ("agent_token",)
"""Read from the file in which `init`, `register` or `adopt` saved the token."""
_TO = Flag("to", "an agent, role:ROLE or broadcast", "WHOM")
_SUBJECT = Flag("subject", "the subject line", "TEXT")
_ROLE = Flag("role", "its role in the team (default: agent)", "ROLE")
_LIMIT = Flag("limit", "how many (default: 50)", "N", kind=int)


def _need(given: dict[str, Any], *names: str) -> None:
    """Refuse a call that lacks a flag, naming the flag as typed."""
    for name in names:
        if not given.get(name):
            flag = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{flag} is missing", recovery=f"add {flag} …")


def adopt(cli: Cli, agent: str | None = None, scope: str | None = None) -> Shown:
    _need({"agent": agent}, "agent")
    return arriving.adopt(cli, agent or "", scope)


def retire(cli: Cli, agent: str | None = None) -> Shown:
    me = as_agent(cli, agent)
    gone = cli.call("agents.retire", **me)
    forget(cli, gone["agent"]["agent_id"])
    text = f"{gone['agent']['agent_id']} has retired; {gone['released']} reservations released"
    return Shown(gone, [text])


def show(cli: Cli, agent: str | None = None) -> Shown:
    found = cli.call("agents.show", agent=as_agent(cli, agent)["agent"])
    return Shown(found, _agents([found["agent"]]))


def show_list(cli: Cli, result: dict[str, Any]) -> Iterable[str]:
    yield from _agents(result["agents"]) if result["agents"] else ["no agents yet"]
    if result["has_more"]:
        yield f"more: --cursor {result['next_cursor']}"


def _agents(agents: list[dict[str, Any]]) -> Iterator[str]:
    columns = ("agent_id", "role", "status", "liveness", "last_seen_at")
    return table(agents, columns)


def heartbeat(cli: Cli, agent: str | None = None) -> Shown:
    found = cli.call("agents.heartbeat", **as_agent(cli, agent))
    seen = found["agent"]
    return Shown(found, [f"{seen['agent_id']} was last seen at {local_time(seen['last_seen_at'])}"])


def reserve(
    cli: Cli,
    agent: str | None = None,
    scope: str | None = None,
    bead: str | None = None,
    ttl: int | None = None,
    shared: bool = False,
    takeover_stale: bool = False,
) -> Shown:
    _need({"scope": scope}, "scope")
    made = cli.call(
        "agents.reserve",
        **as_agent(cli, agent),
        **place(scope),
        bead_id=bead,
        ttl_minutes=ttl,
        mode="shared" if shared else None,
        takeover_stale=takeover_stale or None,
    )
    held = made["reservation"]
    until = local_time(held["expires_at"])
    lines = [f"{held['scope']} is yours until {until} ({held['reservation_id']})"]
    lines += [f"taken over from {one['agent_id']}" for one in made.get("taken_over", [])]
    return Shown(made, lines)


def _mode(call: Mapping[str, Any]) -> dict[str, Any]:
    left = dict(call)
    if left.get("mode") in ("shared", "exclusive"):
        left["shared"] = True if left.pop("mode") == "shared" else None
    return left


def release(cli: Cli, agent: str | None = None, scope: str | None = None) -> Shown:
    _need({"scope": scope}, "scope")
    ended = cli.call("agents.release", **as_agent(cli, agent), **place(scope))
    return Shown(ended, [f"{ended['reservation']['scope']} is released"])


def renew(
    cli: Cli, agent: str | None = None, scope: str | None = None, ttl: int | None = None
) -> Shown:
    where = place(scope) if scope else {}
    kept = cli.call("agents.renew", **as_agent(cli, agent), **where, ttl_minutes=ttl)
    lines = [
        f"{one['scope']} is yours until {local_time(one['expires_at'])}"
        for one in kept["reservations"]
    ]
    return Shown(kept, lines)


def changes(cli: Cli, agent: str | None = None, alone: bool = False) -> Shown:
    from longhouse.git import FAILED, as_reported, said

    me, root = as_agent(cli, agent), checkout_root()
    try:
        changed = as_reported(uncommitted_files())
    except FAILED as error:
        raise Conflict(
            f"git cannot list the changes in {root}: {said(error)}",
            recovery=f"run: git -C {shlex.quote(str(root))} status (git must be installed, and the "
            "folder must be a repository with at least one commit)",
        ) from None
    if changed is None:
        return Shown({"outside": [], "count": 0}, ["no uncommitted changes in this checkout"])
    changed["alone"] = alone
    found = cli.call("agents.changed", **me, changed=changed, root=str(root))
    return Shown(found, _changes(found, changed["more"]))


def _changes(found: dict[str, Any], more: int) -> Iterator[str]:
    if not found["outside"]:
        yield "every changed file in this checkout is reserved"
    yield from table(found["outside"], ("path", "holder"))
    if more:
        yield f"{many(more, 'more changed file')} not checked against reservations"
    if found.get("ref"):
        yield f"recorded: {found['ref']}"


def status(
    cli: Cli, agent: str | None = None, bead: str | None = None, as_of: int | None = None
) -> Shown:
    found = cli.call("agents.status", agent=agent, bead_id=bead, as_of=as_of)
    return Shown(found, _holdings(found))


def _holdings(found: dict[str, Any]) -> Iterator[str]:
    counts = found["summary"]
    yield (
        f"{counts['active']} reserved, {counts['released']} released, {counts['expired']} expired; "
        f"{many(counts['unacked_required_messages'], 'message')} to accept"
    )
    columns = ("scope", "agent_id", "owner_liveness", "bead_id", "expires_at")
    yield from table(found["reservations"], columns)
    yield from _messages(found["unacked_required_messages"])
    for change in found["outside"]:
        who = change.get("job_id") or f"seen by {change['agent_id']}"
        paths = ", ".join(file["path"] for file in change["files"]) or "many files"
        yield flat(f"changed but not reserved ({who}): {paths}")


def send(cli: Cli, **given: Any) -> Shown:
    given["agent"] = given.pop("from", None) or given.get("agent")
    _need(given, "to", "subject", "body")
    sent = cli.call(
        "agents.send",
        **as_agent(cli, given["agent"]),
        to=given["to"],
        bead_id=given.get("bead"),
        subject=given["subject"],
        body=given["body"],
        category=given.get("category"),
        thread=given.get("thread"),
    )
    names = ", ".join(one["to_agent"] for one in sent["messages"])
    return Shown(sent, [f"{sent['messages'][0]['message_id']} sent to {names}"])


def handoff(cli: Cli, **given: Any) -> Shown:
    _need(given, "to", "subject", "summary", "next_action")
    return _tell(cli, "agents.handoff", given, "summary", "next_action")


def blocked(cli: Cli, **given: Any) -> Shown:
    _need(given, "to", "subject", "blocker", "requested_action")
    return _tell(cli, "agents.blocked", given, "blocker", "requested_action", "urgency")


def _tell(cli: Cli, cmd: str, given: dict[str, Any], *own: str) -> Shown:
    where = place(given["scope"]) if given.get("scope") else {}
    made = cli.call(
        cmd,
        **as_agent(cli, given.get("agent")),
        **where,
        to=given["to"],
        bead_id=given.get("bead"),
        subject=given["subject"],
        **{name: given.get(name) for name in own},
    )
    sent = made["message"]
    return Shown(made, [f"{sent['message_id']} sent to {sent['to_agent']}, who must accept it"])


def inbox(cli: Cli, agent: str | None = None, **given: Any) -> Shown:
    states = [one for word in given.get("state") or [] for one in word.split(",") if one]
    page = cli.call(
        "agents.inbox",
        agent=as_agent(cli, agent)["agent"],
        state=states or None,
        bead_id=given.get("bead"),
        thread=given.get("thread"),
        text=given.get("text"),
        limit=given.get("limit"),
        cursor=given.get("cursor"),
    )
    lines = list(_messages(page["messages"])) or ["no messages"]
    if page["has_more"]:
        lines.append(f"more: --cursor {page['next_cursor']}")
    return Shown(page, lines)


def _messages(messages: list[dict[str, Any]]) -> Iterator[str]:
    columns = ("message_id", "state", "category", "bead_id", "from_agent", "to_agent", "subject")
    return table(messages, columns)


def read(cli: Cli, agent: str | None = None, message: str | None = None) -> Shown:
    _need({"message": message}, "message")
    marked = cli.call("agents.read", **as_agent(cli, agent), message=message)
    text = marked["message"]
    head = f"{text['from_agent']} to {text['to_agent']}, {text['category']}: {text['subject']}"
    body = (f"  {line}" for line in text["body"].splitlines())
    return Shown(marked, [flat(head), "", *body])


def ack(cli: Cli, agent: str | None = None, message: str | None = None) -> Shown:
    _need({"message": message}, "message")
    marked = cli.call("agents.ack", **as_agent(cli, agent), message=message)
    return Shown(marked, [f"{message} is accepted"])


_MESSAGE = Flag("message", "the message, such as msg_12", "ID")
_SAY = [_AGENT, _TO, _BEAD, _SUBJECT]

command = Command(
    "agent",
    "Register an identity, reserve files, and talk to the other agents",
    details="Tokens of identities registered or adopted here are kept in the store's folder, "
    "readable only\nby you, and used when --agent names one of them.",
    children=[
        Command(
            "init",
            "Choose this session's identity: a new one, or an earlier one with evidence",
            flags=[
                Flag("adopt", "continue as this identity", "NAME"),
                Flag("register", "register this new name", "NAME"),
                _ROLE,
                Flag("scope", "the files whose uncommitted changes are the evidence", "SCOPE"),
                Flag("non-interactive", "never ask; fail if there is no safe choice"),
            ],
            run=arriving.init,
            examples=[
                "longhouse agent init --non-interactive --json",
                "longhouse agent init --adopt amber-otter --scope 'src/*'",
            ],
        ),
        Command(
            "register",
            "Register an identity: a unique name, and the token that proves it",
            flags=[
                Flag("name", "its name (default: a generated one)", "NAME"),
                _ROLE,
                Flag("display", "its display name", "TEXT"),
                Flag("kind", "what it is (default: agent)", "KIND", choices=("agent", "person")),
                Flag("status", "its status (default: idle)", "STATUS", choices=STATUSES),
                Flag("force-update", "update an identity you already hold"),
            ],
            run=arriving.register,
            calls="agents.register",
            finds=("rig",),
        ),
        Command(
            "adopt",
            "Continue as an earlier identity, with evidence",
            flags=[
                Flag("agent", "the identity", "NAME"),
                Flag("scope", "the files whose uncommitted changes are the evidence", "SCOPE"),
            ],
            run=adopt,
            calls="agents.adopt",
            finds=("uncommitted",),
        ),
        Command(
            "retire",
            "Retire an identity and release its reservations",
            flags=[_AGENT],
            run=retire,
            calls="agents.retire",
            finds=_KEPT,
        ),
        Command(
            "list",
            "List agents",
            flags=[
                Flag("role", "only this role", "ROLE"),
                Flag("status", "only this status", "STATUS", choices=STATUSES),
                Flag("include-retired", "include retired agents"),
                _LIMIT,
                Flag("cursor", "continue after this name", "NAME"),
                AS_OF,
            ],
            calls="agents.list",
            show=show_list,
        ),
        Command("show", "Show one identity", flags=[_AGENT], run=show, calls="agents.show"),
        Command(
            "heartbeat",
            "Report that you are still active",
            flags=[_AGENT],
            run=heartbeat,
            calls="agents.heartbeat",
            finds=_KEPT,
            examples=["longhouse agent heartbeat --agent amber-otter --json"],
        ),
        Command(
            "send",
            "Send a message to an agent, a role or everyone",
            flags=[
                *_SAY,
                Flag("from", "the same as --agent", "NAME"),
                Flag("body", "the text", "TEXT"),
                Flag("category", "the category (default: INFO)", "KIND", choices=CATEGORIES),
                Flag("thread", "the thread (default: the work item's)", "THREAD"),
            ],
            run=send,
            calls="agents.send",
            finds=_KEPT,
        ),
        Command(
            "inbox",
            "Show your messages, newest first",
            flags=[
                _AGENT,
                Flag("state", "unread, read or acked; may be repeated", "STATE", many=True),
                _BEAD,
                Flag("thread", "only this thread", "THREAD"),
                Flag("text", "only messages with these words", "TEXT"),
                _LIMIT,
                Flag("cursor", "continue from here", "SEQ", kind=int),
            ],
            run=inbox,
            calls="agents.inbox",
            finds=_KEPT,
        ),
        Command(
            "read",
            "Show a message and mark it as read",
            flags=[_AGENT, _MESSAGE],
            run=read,
            calls="agents.read",
            finds=_KEPT,
        ),
        Command(
            "ack",
            "Accept a message",
            flags=[_AGENT, _MESSAGE],
            run=ack,
            calls="agents.ack",
            finds=_KEPT,
        ),
        Command(
            "reserve",
            "Reserve files before you edit them",
            flags=[
                _AGENT,
                _SCOPE,
                _BEAD,
                Flag(
                    "ttl",
                    "how many minutes to hold it, 5 to 1440 (default: 120)",
                    "MINUTES",
                    kind=int,
                    field="ttl_minutes",
                ),
                Flag("shared", "allow other shared reservations of the same files"),
                Flag("takeover-stale", "take it over from an owner who has gone silent"),
            ],
            run=reserve,
            calls="agents.reserve",
            values_of=_mode,
            finds=_KEPT,
            examples=["longhouse agent reserve --scope 'src/parser/*' --bead TASK-001"],
        ),
        Command(
            "renew",
            "Extend your reservations, as each of your actions also does",
            flags=[
                _AGENT,
                _SCOPE,
                Flag(
                    "ttl",
                    "how many minutes to hold them, 5 to 1440 (default: as before)",
                    "MINUTES",
                    kind=int,
                    field="ttl_minutes",
                ),
            ],
            run=renew,
            calls="agents.renew",
            finds=_KEPT,
        ),
        Command(
            "release",
            "Release reserved files",
            flags=[_AGENT, _SCOPE],
            run=release,
            calls="agents.release",
            finds=_KEPT,
        ),
        Command(
            "changes",
            "Show and record changed files in this checkout that are not reserved",
            flags=[
                _AGENT,
                Flag("alone", "no one else works in this checkout: all changes are yours"),
            ],
            run=changes,
            calls="agents.changed",
            finds=(*_KEPT, "changed"),
            details="Checks files with uncommitted changes. A file that another agent has "
            "reserved is assumed to be\nthat agent's work, unless you pass --alone.",
        ),
        Command(
            "status",
            "Show reservations and messages still to be accepted",
            flags=[Flag("agent", "only this agent's", "NAME"), _BEAD, AS_OF],
            run=status,
            calls="agents.status",
        ),
        Command(
            "handoff",
            "Hand a work item off to another agent",
            flags=[
                *_SAY,
                Flag("summary", "what was done", "TEXT"),
                Flag("next-action", "what to do next", "TEXT"),
                _SCOPE,
            ],
            run=handoff,
            calls="agents.handoff",
            finds=_KEPT,
        ),
        Command(
            "blocked",
            "Report that you are blocked, and ask another agent for help",
            flags=[
                *_SAY,
                Flag("blocker", "what blocks you", "TEXT"),
                Flag("requested-action", "what you need them to do", "TEXT"),
                Flag(
                    "urgency",
                    "how urgent (default: medium)",
                    "U",
                    choices=("low", "medium", "high"),
                ),
                _SCOPE,
            ],
            run=blocked,
            calls="agents.blocked",
            finds=_KEPT,
        ),
    ],
)
