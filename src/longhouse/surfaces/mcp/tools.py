"""The ten tools as clients see them, derived from the registry: names, schemas, accurate hints.

A caller is told only of what its role may call.

Every byte here takes up room in every client's context; `tools/list` stays below 10,000 bytes.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.lines import gist
from longhouse.kernel.registry import PORTALS, Command, Registry, Role
from longhouse.kernel.schema import args_schema

__all__ = ["INSTRUCTIONS", "instructions", "tool_list"]

INSTRUCTIONS = """\
Longhouse is shared, durable memory and work for agents and people. Start with `status`: it shows \
where you are and the best next call. `open` shows anything by its id (notes@12, JOB-001). The \
other tools take {op, args}, or {op: "call", cmd, args} for any command; `system` with \
op=cmd.list lists commands and op=schema.get shows the arguments of one. Answers carry `actions`: \
calls that run as given; add what `missing` names first. Record decisions and evidence as you go."""

_ABOUT = {
    "status": "Where am I, and what is the best next call? Start here.",
    "open": "Show anything by its id or ref: notes@12, TASK-001, JOB-001@45, CARD-12.",
    "workspace": "Which workspace this connection uses. The crew (cmd=agents.*): register, who is "
    "here, reserve and release files before you edit them, send messages, inbox, handoff.",
    "tasks": "Plans, tasks and steps: what to do, what is done, and the proof of it. More: "
    "macro.start, focus.set, ready, resume.super, note, block, edit, complete, delete, history.",
    "jobs": "Delegate work to agents and follow it. Background processes such as dev servers "
    "(cmd=tool.*): task_spawn, task_list, output_fetch for logs, task_wait, task_cancel.",
    "think": "Hypotheses, tests, evidence and decisions as cards that outlive a context window: "
    "add.hypothesis, add.decision, link, set.status, next, trace.step, anchor.list.",
    "graph": "The reasoning graph: query, change and merge nodes and edges; conflicts, diff.",
    "vcs": "Branches, notes and history of the shared memory: checkout, log, branch.list, tag.",
    "docs": "Read, search, compare and merge documents: notes, traces, artifacts, transcripts.",
    "system": "What this server offers: commands, schemas, help, storage, diagnostics.",
}
_ABOUT_READING = {
    "workspace": "Which workspace this connection uses. The crew (cmd=agents.*): who is here, who "
    "holds which files, who said what.",
    "tasks": "Plans, tasks and steps: what to do, what is done, and the proof of it. More: ready, "
    "resume.super, snapshot, history.",
    "jobs": "Jobs that agents work on, and background processes (cmd=tool.*): task_list, "
    "output_fetch for logs.",
    "think": "Hypotheses, tests, evidence and decisions as cards: query, frontier, next, "
    "anchor.list.",
    "graph": "The reasoning graph: query nodes and edges; conflicts, diff.",
}
"""What those tools are to a viewer, who may change nothing."""
_FAMILIES = {"workspace": "agents.", "jobs": "tool."}
"""The family of commands behind a tool that is not named like the tool."""
_FLAT_COMMON = ("workspace", "max_chars", "fmt", "budget_profile")
_OPEN_WORLD = frozenset({"jobs"})
"""Jobs run agents that reach beyond the store; every other tool stays inside it."""


def tool_list(registry: Registry, role: Role = Role.OPERATOR) -> list[dict[str, Any]]:
    """The ten tools for a role as plain values, in the order a newcomer meets them."""
    return [_tool(registry, name, role) for name in PORTALS]


def instructions(role: Role) -> str:
    """What a caller with this role is told at the start."""
    return INSTRUCTIONS if role > Role.VIEWER else INSTRUCTIONS.rpartition(" Record ")[0]


def _tool(registry: Registry, name: str, role: Role) -> dict[str, Any]:
    commands = [c for c in registry if c.portal == name and c.role <= role]
    flat = registry.commands.get(name)
    ops = [c.op for c in commands if c.op]
    return {
        "name": name,
        "description": _ABOUT[name] if flat else _describe(name, commands, role),
        "inputSchema": _flat_schema(flat) if flat else _portal_schema(ops),
        "annotations": _hints(name, commands),
    }


def _describe(name: str, commands: list[Command], role: Role) -> str:
    golden = "".join(f"\n{c.op}: {gist(c.summary, 52)}" for c in commands if c.op)
    more = f'\nAll: system op=cmd.list args={{"prefix":"{name}."}}'
    if name in _FAMILIES:
        more += f' or "{_FAMILIES[name]}"'
    about = _ABOUT[name]
    if role == Role.VIEWER:
        about = _ABOUT_READING.get(name, about)
    return about + golden + more


def _hints(name: str, commands: list[Command]) -> dict[str, bool]:
    """MCP annotations, which describe the least safe command behind the tool."""
    return {
        "readOnlyHint": bool(commands) and not any(c.writes for c in commands),
        "destructiveHint": any(c.destructive for c in commands),
        "idempotentHint": bool(commands) and all(c.idempotent for c in commands),
        "openWorldHint": name in _OPEN_WORLD,
    }


def _flat_schema(command: Command) -> dict[str, Any]:
    schema = args_schema(command)
    shown = (*command.fields(), *_FLAT_COMMON)
    properties = {k: _lean(v) for k, v in schema["properties"].items() if k in shown}
    flat: dict[str, Any] = {"type": "object", "properties": properties}
    if required := schema.get("required"):
        flat["required"] = required
    return flat


def _portal_schema(ops: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "workspace": {"type": "string"},
            "op": {"type": "string", "enum": [*ops, "call"]},
            "cmd": {"type": "string", "description": "with op=call: the command"},
            "args": {"type": "object", "description": "the command's arguments"},
            "fmt": {"type": "string", "enum": ["json", "lines"]},
            "budget_profile": {"type": "string", "enum": ["portal", "default", "audit"]},
        },
        "required": ["op"],
    }


def _lean(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional argument without null, which means the same as omitting it."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind.get("type") != "null"]
    if len(kinds) == 1:
        schema = kinds[0]
    kept = {k: v for k, v in schema.items() if k not in ("anyOf", "default")}
    if "enum" in kept:
        kept["enum"] = [choice for choice in kept["enum"] if choice is not None]
    return kept
