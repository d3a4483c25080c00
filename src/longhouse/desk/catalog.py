"""`system.schema.get`, `cmd.list`, `ops.summary`: the commands, described from the registry alone.

A toolset limits what is listed, never what can be called: `core` lists the golden commands, `daily`
adds the advanced ones, `full` adds the audit ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from longhouse.desk.room import room
from longhouse.desk.types.system import (
    CommandPage,
    CommandRow,
    CommandSchema,
    ListCommands,
    OffsetPagination,
    OpsSummary,
    Safety,
    SchemaGet,
    SummariseOps,
)
from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.envelope import portal_call
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.explain import shape
from longhouse.kernel.lines import cell, gist
from longhouse.kernel.registry import PORTALS, Command, Registry
from longhouse.kernel.schema import common_args, own_schema, required_args
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = [
    "doc_ref",
    "example_call",
]


class DeskFacts(NamedTuple):
    """The toolset to list when a caller names none."""

    toolset: str

    @classmethod
    def from_house(cls, house: HouseFacts) -> DeskFacts:
        return cls(house.settings.toolset)


CAPABILITIES = (
    "context.refs.artifact",
    "execution.resume_session",
    "execution.rpc",
    "ui.background_tasks",
)
"""Capability ids that other tools use for background processes; each is declared as an alias of
its command."""
_TIERS = {"core": ("gold",), "daily": ("gold", "advanced"), "full": ("gold", "advanced", "audit")}


def _schema_lines(result: dict[str, Any]) -> list[str]:
    """The command, then one line per argument; a star marks required ones."""
    schema = result.get("args_schema", {})
    needed = schema.get("required", ())
    lines = [f"{result['cmd']} ({'writes' if result['writes'] else 'reads'}): {result['summary']}"]
    for name, prop in schema.get("properties", {}).items():
        about = f"; {prop['description']}" if prop.get("description") else ""
        star = "*" if name in needed else ""
        lines.append(cell(f"{name}{star} {shape(prop, schema)}{about}", 200))
    return [*lines, f"and {' '.join(result['common_args'])} (system.help: COMMON)"]


@room.command(
    "system.schema.get",
    also="schema describe schema.get args system.cmd.get system.cmd.show",
    op="schema.get",
    lines=_schema_lines,
    example=SchemaGet(cmd="docs.show"),
    needs_workspace=False,
    trim=[
        Drop("doc_ref"),
        Drop("example_minimal_args"),
        Drop("args_schema.$defs"),
        Drop("args_schema"),
    ],
)
def schema_get(tx: Tx, req: SchemaGet) -> CommandSchema:
    """Show the arguments of one command, with a valid example call."""
    command: Command = tx.facts.registry.get(req.cmd)
    example = msgspec.to_builtins(command.example)
    return CommandSchema(
        cmd=command.cmd,
        summary=command.summary,
        portal=command.portal,
        op=command.op,
        args_schema=own_schema(command),
        common_args=common_args(command),
        example_minimal_args={k: v for k, v in example.items() if k in required_args(command)},
        example_valid_call=example_call(tx.facts.registry, command),
        doc_ref=doc_ref(command),
        default_budget_profile=command.profile,
        tier=command.tier,
        stability="stable",
        role=command.role.name.lower(),
        writes=command.writes,
        safety=Safety(
            destructive=command.destructive,
            idempotent=command.idempotent,
            confirm_level="soft" if command.destructive else "none",
        ),
    )


def _speaks_of(command: Command, word: str) -> bool:
    """Whether a command is called so, or says so of itself."""
    said = (command.cmd, *command.also, command.summary.lower())
    return any(word in one for one in said)


@room.command(
    "system.cmd.list",
    also=(
        "commands list cmds help.commands tools search find system.cmd.search "
        "system.cmd.find .commands"
    ),
    op="cmd.list",
    example=ListCommands(prefix="jobs."),
    needs_workspace=False,
    trim=[Pop("cmds", leave=1, cursor="offset")],
)
def list_commands(tx: Tx, req: ListCommands) -> CommandPage:
    """List the commands of a toolset, golden ones first; unlisted commands work too."""
    toolset = req.toolset or tx.facts.of(DeskFacts).toolset
    named = [c for c in tx.facts.registry if c.cmd.startswith(req.prefix)]
    named = named or [c for c in tx.facts.registry if _speaks_of(c, req.prefix.strip().lower())]
    found = [c for c in named if c.tier in _TIERS[toolset]]
    found.sort(key=lambda c: (c.tier != "gold", c.cmd))
    start = req.offset if req.cursor is None else req.cursor
    if req.offset and start != req.offset:
        raise InvalidInput("cursor: expected cursor or offset, not both", recovery="leave one out")
    page = found[start : start + req.limit]
    end = start + len(page)
    more = end < len(found)
    if more:
        following = ListCommands(
            prefix=req.prefix, cursor=end, limit=req.limit, toolset=req.toolset
        )
        tx.suggest(following, "the next page")
    if hidden := len(named) - len(found):
        tx.suggest(
            ListCommands(prefix=req.prefix, toolset="full"),
            f"list the {hidden} others as well",
            priority="low",
        )
    return CommandPage(
        toolset=toolset,
        hidden=hidden,
        cmds=[
            CommandRow(
                cmd=c.cmd,
                summary=gist(c.summary, 60),
                portal=c.portal if c.portal != c.cmd.partition(".")[0] else None,
                op=c.op,
                tier=c.tier,
                writes=c.writes,
            )
            for c in page
        ],
        pagination=OffsetPagination(
            offset=start,
            limit=req.limit,
            total=len(found),
            has_more=more,
            next_cursor=end if more else None,
            count=len(page),
        ),
    )


@room.command(
    "system.ops.summary",
    also="ops summary capabilities stats",
    op="ops.summary",
    example=SummariseOps(),
    needs_workspace=False,
    trim=[Drop("surface.golden_ops.by_tool")],
)
def ops_summary(tx: Tx, req: SummariseOps) -> OpsSummary:
    """Summarize the tools, golden ops and commands per domain."""
    registry: Registry = tx.facts.registry
    by_tool = {tool: registry.ops_of(tool) for tool in PORTALS if registry.ops_of(tool)}
    domains = Counter(c.cmd.partition(".")[0] for c in registry)
    return OpsSummary(
        surface={
            "tools": {"count": len(PORTALS), "names": list(PORTALS)},
            "golden_ops": {"count": sum(map(len, by_tool.values())), "by_tool": by_tool},
        },
        registry={"cmd": {"count": len(registry.commands), "by_domain": dict(domains)}},
        capabilities={
            one: command.cmd for one in CAPABILITIES if (command := registry.stands_for(one))
        },
    )


def example_call(registry: Registry, command: Command) -> dict[str, Any]:
    """A valid tool call of this command."""
    _, args = portal_call(registry, command.example, {})
    return {"tool": command.portal, "args": args}


def doc_ref(command: Command) -> dict[str, str]:
    """Where the command reference describes the command."""
    return {"path": "docs/commands.md", "anchor": command.cmd.replace(".", "")}
