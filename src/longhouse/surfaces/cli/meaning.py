"""What an unknown word on the command line means: asked only after it was not found.

A word means a command by the declared words here, by the verbs that all surfaces share
(`kernel/synonyms`), by the other names of the call that the command makes (`also` of the registry),
or as a typo of it. It is only named, never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.kernel.names import nearest, plain_name
from longhouse.kernel.synonyms import same_words
from longhouse.surfaces.cli.spec import Command

__all__ = ["meant"]

_WORDS = {
    "whoami": "agent status",
    "who": "agent list",
    "reserve": "agent reserve",
    "lock": "agent reserve",
    "unlock": "agent release",
    "send": "agent send",
    "msg": "agent send",
    "message": "agent send",
    "mail": "agent inbox",
    "inbox": "agent inbox",
    "find": "search",
    "grep": "search",
    "recall": "call think.knowledge.query",
    "remember": "note",
    "add-note": "note",
    "comment": "note",
    "commit": "note",
    "show": "open",
    "get": "open",
    "view": "open",
    "cat": "open",
    "describe": "open",
    "list": "task list",
    "ls": "task list",
    "todo": "task list",
    "todos": "task list",
    "issues": "task list",
    "tickets": "task list",
    "issue": "task",
    "ticket": "task",
    "memo": "note",
    "write": "note",
    "jot": "note",
    "diagnose": "doctor",
    "fsck": "verify",
    "verify-store": "verify",
    "uninstall": "docs operations",
    "upgrade": "docs operations",
    "update": "docs operations",
    "agents": "agent list",
    "jobs": "job list",
    "processes": "ps",
    "mcp-server": "mcp",
    "server": "serve",
    "stdout": "logs",
    "output": "logs",
    "tokens": "token list",
    "notes": "log",
    "decide": "think add",
    "hypothesis": "think add",
    "decision": "think add",
    "question": "think add",
    "evidence": "think add",
    "screen": "attach",
    "type": "keys",
    "send-keys": "keys",
    "interrupt": "signal",
    "delegate": "job create",
    "dispatch": "job create",
    "focus": "task focus",
    "start-task": "task start",
    "finish": "task done",
    "complete": "task done",
    "query": "search",
    "ask": "search",
    "env": "where",
    "pwd": "where",
    "path": "where",
    "web": "up",
    "ui": "up",
    "page": "up",
    "url": "up",
    "stats": "status",
    "overview": "status",
    "summary": "status",
    "heartbeat": "agent heartbeat",
    "register": "agent register",
    "handoff": "agent handoff",
    "retry": "job requeue",
    "requeue": "job requeue",
    "answer": "job reply",
    "reply": "job reply",
    "workers": "runner status",
    "runners": "runner status",
    "connect": "init",
    "save": "backup",
    "ready": "task next",
    "next": "task next",
    "create": "task add",
    "new": "task add",
    "add": "task add",
    "done": "task done",
    "close": "task close",
    "kill": "cancel",
    "terminate": "cancel",
    "exec": "run",
    "spawn": "run",
    "bash": "run",
    "tail": "logs",
    "history": "log",
    "branches": "branch",
    "checkout": "branch",
    "switch": "branch",
    "version": "--version",
    "shutdown": "down",
    "quit": "down",
    "restart": "up",
    "setup": "init",
    "install": "init",
    "health": "doctor",
    "check": "doctor",
    "config": "doctor",
    "settings": "doctor",
    "info": "status",
    "dashboard": "radar",
    "watch": "events",
    "follow": "events",
    "dump": "export",
    "load": "import",
    "man": "docs",
    "manual": "docs",
    "tools": "call system.cmd.list",
    "commands": "call system.cmd.list",
    "login": "token",
    "auth": "token",
    "plan": "task",
    "plans": "task list",
}
"""Words for which there is one thing to do here, which no single call names."""

_GROUP = {
    "agent": {
        "messages": "inbox",
        "mail": "inbox",
        "whoami": "status",
        "holds": "status",
        "take": "reserve",
        "send-message": "send",
        "lock-file": "reserve",
    },
    "think": {
        **dict.fromkeys(("decision", "hypothesis", "question", "evidence", "knowledge"), "add"),
        "pinned": "list",
        **dict.fromkeys(("note", "record", "write"), "add"),
        "open": "show",
        "status": "set",
    },
    "job": {
        "answer": "reply",
        "attach": "show",
        "status": "show",
        "start": "create",
        "watch": "tail",
        "queue": "list",
        "ps": "list",
    },
    "token": {
        "delete": "revoke",
        "rm": "revoke",
        "remove": "revoke",
        "show": "list",
        "destroy": "revoke",
    },
    "policy": {
        "list": "show",
        "ls": "show",
        "check": "test",
        "try": "test",
        "add": "allow",
        "remove": "withdraw",
        "delete": "withdraw",
        "rm": "withdraw",
    },
    "artifact": {"cat": "show", "read": "show", "upload": "add", "put": "add"},
    "project": {"remove": "forget", "delete": "forget", "rm": "forget"},
    "runner": {
        "ls": "status",
        "list": "status",
        "info": "status",
        "show": "status",
        "run": "start",
        "launch": "start",
        "up": "start",
        "begin": "start",
        "state": "status",
        "down": "stop",
        "ps": "status",
        "kill": "stop",
    },
    "workspace": {"current": "list", "switch": "list", "show": "list", "link": "bind"},
    "task": {
        "status": "show",
        "ready": "next",
        "open": "show",
        "use": "focus",
        "current": "focus",
        "cancel": "done",
        "finish": "done",
        "abandon": "done",
        "wontfix": "done",
        "todo": "list",
        "board": "list",
        "backlog": "list",
        "steps": "tree",
        "subtasks": "tree",
        "checklist": "tree",
        "details": "show",
        "print": "show",
        "split": "step",
        "decompose": "step",
        "stop": "done",
        "progress": "tree",
    },
}


def meant(word: str, among: Iterable[Command], group: str = "") -> str:
    """`; did you mean …?`, if one of these commands is meant."""
    known = {one.name: one for one in among}
    found = _declared(word, known, group) or _same_verb(word, known) or _by_call(word, known)
    found = found or nearest(word, known)
    return f"; did you mean {found!r}?" if found else ""


def _declared(word: str, known: dict[str, Command], group: str) -> str | None:
    if group:
        said = _GROUP.get(group, {}).get(word)
        return said if said in known else None
    said = _WORDS.get(word)
    if said is None:
        return None
    first, _, second = said.partition(" ")
    if first.startswith("-") or first == "call" or first in known:
        return said if not second or first == "call" or _has(known[first], second) else first
    return None


def _has(command: Command, second: str) -> bool:
    """Whether a command may be followed by this word: one of its own, or an argument."""
    return not command.children or command.child(second) is not None


def _same_verb(word: str, known: dict[str, Command]) -> str | None:
    """The only command whose verb is another word for this one: `create` for `add`."""
    said = same_words(word)
    found = [name for name in known if said and same_words(name) == said]
    return found[0] if len(found) == 1 else None


def _by_call(word: str, known: dict[str, Command]) -> str | None:
    """The only command that makes a call which is also called so."""
    from longhouse.house import registry  # the whole of it, which only a refusal can afford

    said, calls = plain_name(word), registry().commands
    families = {one.calls.partition(".")[0] for one in known.values() if one.calls}
    so_called = [
        cmd
        for cmd, command in calls.items()
        if cmd.partition(".")[0] in families and said in _called(command.also, cmd)
    ]
    found = [name for name, one in known.items() if so_called == [one.calls]]
    return found[0] if len(found) == 1 else None


def _called(also: Iterable[str], cmd: str) -> Iterator[str]:
    family = cmd.partition(".")[0]
    for one in (*also, cmd):
        yield plain_name(one).removeprefix(f"{family}.").removeprefix("task.")
