"""`system.*`: what this house offers and how it is, derived from the registry and the store."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longhouse.desk.help import help_text
from longhouse.desk.room import room
from longhouse.desk.status import DEFAULTS, GOLDEN_PATH, Defaults
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.registry import PORTALS, Command, Registry, nearest
from longhouse.kernel.schema import args_schema
from longhouse.kernel.values import Request, Result, Value
from longhouse.memory import reading as memory
from longhouse.memory.branches import MAIN
from longhouse.store.tx import Tx

__all__ = ["ListCommands", "Lookup", "SchemaGet", "renamed"]


class SchemaGet(Request, frozen=True, kw_only=True):
    """The arguments of one command."""

    cmd: Annotated[str, Meta(min_length=1, max_length=128)]


class Safety(Value, frozen=True, kw_only=True):
    destructive: bool
    idempotent: bool
    confirm_level: Literal["none", "soft", "hard"]


class CommandSchema(Result, frozen=True, kw_only=True):
    cmd: str
    summary: str
    portal: str
    op: str | None
    args_schema: dict[str, Any]
    example_minimal_args: dict[str, Any]
    example_valid_call: dict[str, Any]
    doc_ref: dict[str, str]
    default_budget_profile: str
    tier: str
    stability: Literal["stable", "experimental"]
    role: str
    writes: bool
    safety: Safety


@room.command("system.schema.get", op="schema.get", example=SchemaGet(cmd="docs.show"),
              needs_workspace=False)  # fmt: skip
def schema_get(tx: Tx, req: SchemaGet) -> CommandSchema:
    """The arguments of one command, with a call that is valid."""
    command: Command = tx.facts.registry.get(req.cmd.strip().lower())
    return CommandSchema(
        cmd=command.cmd,
        summary=command.summary,
        portal=command.portal,
        op=command.op,
        args_schema=args_schema(command),
        example_minimal_args=msgspec.to_builtins(command.example),
        example_valid_call=_example_call(tx.facts.registry, command),
        doc_ref=_doc_ref(command),
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


class ListCommands(Request, frozen=True, kw_only=True):
    """Page through the commands."""

    prefix: Annotated[str, Meta(max_length=128)] = ""
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class CommandRow(Value, frozen=True, kw_only=True):
    cmd: str
    summary: str
    portal: str
    op: str | None
    tier: str
    writes: bool


class OffsetPagination(Value, frozen=True, kw_only=True):
    offset: int
    limit: int
    total: int
    has_more: bool
    next_cursor: int | None = None
    count: int


class CommandPage(Result, frozen=True, kw_only=True):
    cmds: list[CommandRow]
    pagination: OffsetPagination


@room.command("system.cmd.list", op="cmd.list", example=ListCommands(prefix="jobs."),
              needs_workspace=False, trim=[Clip("cmds.summary", 40), Pop("cmds")])  # fmt: skip
def list_commands(tx: Tx, req: ListCommands) -> CommandPage:
    """Page through the commands, golden ones first."""
    hidden: tuple[str, ...] = () if tx.facts.toolset == "full" else ("audit",)
    if tx.facts.toolset == "core" and not req.prefix:
        hidden = ("audit", "advanced")
    found = [c for c in tx.facts.registry if c.cmd.startswith(req.prefix) and c.tier not in hidden]
    found.sort(key=lambda c: (c.tier != "gold", c.cmd))
    page = found[req.offset : req.offset + req.limit]
    end = req.offset + len(page)
    more = end < len(found)
    return CommandPage(
        cmds=[
            CommandRow(cmd=c.cmd, summary=c.summary, portal=c.portal, op=c.op, tier=c.tier,
                       writes=c.writes)
            for c in page
        ],
        pagination=OffsetPagination(
            offset=req.offset, limit=req.limit, total=len(found), has_more=more,
            next_cursor=end if more else None, count=len(page),
        ),
    )  # fmt: skip


class SummariseOps(Request, frozen=True, kw_only=True):
    """What the surface consists of."""


class OpsSummary(Result, frozen=True, kw_only=True):
    surface: dict[str, Any]
    registry: dict[str, Any]


@room.command("system.ops.summary", op="ops.summary", example=SummariseOps(),
              needs_workspace=False)  # fmt: skip
def ops_summary(tx: Tx, req: SummariseOps) -> OpsSummary:
    """What the surface consists of: tools, golden ops and commands per domain."""
    registry: Registry = tx.facts.registry
    by_tool = {tool: registry.ops_of(tool) for tool in PORTALS if registry.ops_of(tool)}
    domains = Counter(c.cmd.partition(".")[0] for c in registry)
    return OpsSummary(
        surface={
            "tools": {"count": len(PORTALS), "names": list(PORTALS)},
            "golden_ops": {"count": sum(map(len, by_tool.values())), "by_tool": by_tool},
        },
        registry={"cmd": {"count": len(registry.commands), "by_domain": dict(domains)}},
    )


class Lookup(Request, frozen=True, kw_only=True):
    """The command that an old tool name stands for."""

    old_name: Annotated[str, Meta(min_length=1, max_length=128)]


class Found(Result, frozen=True, kw_only=True):
    old_name: str
    cmd: str
    portal: str
    doc_ref: dict[str, str]
    example_valid_call: dict[str, Any]


_RENAMED = {
    "branch": "vcs.branch.", "tag": "vcs.tag.", "think_template": "think.reasoning.seed",
    "think_pipeline": "think.reasoning.pipeline", "macro_anchor_note": "think.macro.anchor.note",
    "macro_branch_note": "think.idea.branch.create", "checkout": "vcs.checkout", "log": "vcs.log",
    "reflog": "vcs.reflog", "reset": "vcs.reset", "commit": "vcs.commit",
    "notes_commit": "vcs.notes.commit", "docs_list": "docs.list", "show": "docs.show",
    "diff": "docs.diff", "merge": "docs.merge", "export": "docs.export", "init": "system.init",
    "help": "system.help", "skill": "system.skill", "diagnostics": "system.diagnostics",
    "storage": "system.storage", "tasks_runner_heartbeat": "jobs.runner.heartbeat",
}  # fmt: skip
_PREFIXES = (
    ("tasks_jobs_", "jobs."), ("anchors_", "think.anchor."), ("anchor_", "think.anchor."),
    ("context_pack", "think.context.pack"), ("trace_", "think.trace."), ("branch_", "vcs.branch."),
    ("tag_", "vcs.tag."), ("transcripts_", "docs.transcripts."), ("graph_", "graph."),
    ("think_", "think."), ("tasks_", "tasks."), ("system_", "system."),
)  # fmt: skip


def renamed(old_name: str) -> str:
    """What a command of that old tool name is called now, whether or not this house has it."""
    name = old_name.strip().lower().rpartition("/")[2]
    return _RENAMED.get(name) or next(
        (new + name[len(old):].replace("_", ".") for old, new in _PREFIXES if name.startswith(old)),
        name.replace("_", "."),
    )  # fmt: skip


@room.command("system.migration.lookup", op="migration.lookup",
              example=Lookup(old_name="notes_commit"), needs_workspace=False)  # fmt: skip
def migration_lookup(tx: Tx, req: Lookup) -> Found:
    """The command that an old tool name stands for."""
    registry: Registry = tx.facts.registry
    cmd = renamed(req.old_name)
    command = registry.commands.get(cmd)
    if command is None:
        near = nearest(cmd, registry.commands)
        raise UnknownId(
            f"old_name: no command stands for {req.old_name[:80]!r}",
            recovery=f"nearest is {near!r}" if near else "list commands: system.cmd.list",
        )
    return Found(
        old_name=req.old_name,
        cmd=command.cmd,
        portal=command.portal,
        doc_ref=_doc_ref(command),
        example_valid_call=_example_call(registry, command),
    )


class GetStorage(Request, frozen=True, kw_only=True):
    """Where the store is."""


class Storage(Result, frozen=True, kw_only=True):
    storage_dir: str
    engine: str
    schema_version: int


@room.command("system.storage", example=GetStorage(), needs_workspace=False)
def storage(tx: Tx, req: GetStorage) -> Storage:
    """Where the store is and which engine holds it."""
    facts = tx.facts
    return Storage(
        storage_dir=facts.storage_dir, engine=facts.engine, schema_version=facts.schema_version
    )


class Init(Request, frozen=True, kw_only=True):
    """Make the workspace with its default branch."""


class Initialised(Result, frozen=True, kw_only=True):
    workspace: str
    storage_dir: str
    schema_version: int
    checkout: str
    defaults: Defaults


@room.command("system.init", writes=True, idempotent=True, example=Init())
def init(tx: Tx, req: Init) -> Initialised:
    """Make the workspace with its default branch and check it out."""
    return Initialised(
        workspace=tx.workspace,
        storage_dir=tx.facts.storage_dir,
        schema_version=tx.facts.schema_version,
        checkout=memory.bootstrap(tx),
        defaults=DEFAULTS,
    )


class Help(Request, frozen=True, kw_only=True):
    """How to work here."""


class HelpText(Result, frozen=True, kw_only=True):
    text: str


def _help_lines(result: dict[str, Any]) -> list[str]:
    return [line for line in result["text"].splitlines() if line.strip()]


@room.command("system.help", example=Help(), needs_workspace=False, lines=_help_lines,
              trim=[Clip("text", 2000), Clip("text", 800), Clip("text", 200)])  # fmt: skip
def help_(tx: Tx, req: Help) -> HelpText:
    """How to work here: the protocol, tags, proof, and the daily flow."""
    return HelpText(text=help_text(tx.facts.registry))


class Diagnose(Request, frozen=True, kw_only=True):
    """Is everything in order, and what to do about what is not."""

    target: str | None = None
    task: str | None = None
    plan: str | None = None


class Diagnosis(Result, frozen=True, kw_only=True):
    workspace: str
    checkout: str | None
    focus: str | None
    target: str | None
    summary: str
    issues: list[dict[str, Any]]
    context_health: dict[str, Any]
    golden_path: list[str]


@room.command("system.diagnostics", example=Diagnose(), trim=[Pop("issues")])
def diagnostics(tx: Tx, req: Diagnose) -> Diagnosis:
    """Is everything in order, and what to do about what is not."""
    at = memory.targeting(tx)
    issues: list[dict[str, Any]] = []
    if at.checkout is None:
        issues.append(
            {"severity": "warning", "code": "NO_CHECKOUT", "message": "no branch is checked out",
             "recovery": f"system.init checks {MAIN!r} out"}
        )  # fmt: skip
        tx.suggest(Init(), f"make and check out {MAIN!r}", action_id="recover.init")
    if memory.last_entry(tx) is None:
        issues.append(
            {"severity": "warning", "code": "CONTEXT_EMPTY", "message": "no document has an entry",
             "recovery": "write a first note with vcs.notes.commit"}
        )  # fmt: skip
    return Diagnosis(
        workspace=tx.workspace,
        checkout=at.checkout,
        focus=at.focus,
        target=req.target or req.task or req.plan or at.focus,
        summary=f"{len(issues)} to look at" if issues else "all in order",
        issues=issues,
        context_health={
            "status": "warn" if issues else "ok",
            "codes": [issue["code"] for issue in issues],
        },
        golden_path=[cmd for cmd in GOLDEN_PATH if cmd in tx.facts.registry.commands],
    )


def _example_call(registry: Registry, command: Command) -> dict[str, Any]:
    action = action_for(registry, None, Suggestion(command.example, ""))
    return {"tool": action.tool, "args": action.args}


def _doc_ref(command: Command) -> dict[str, str]:
    return {"path": "docs/commands.md", "anchor": command.cmd.replace(".", "")}
