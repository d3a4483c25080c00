"""`system.migration.lookup`: maps tool names of older surfaces to commands."""

from __future__ import annotations

from longhouse.desk.catalog import doc_ref, example_call
from longhouse.desk.room import room
from longhouse.desk.types.system import CommandFound, Lookup, SchemaGet
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.registry import Registry
from longhouse.store.tx import Tx

__all__ = [
    "renamed",
]


_RENAMED = {
    "branch": "vcs.branch.",
    "tag": "vcs.tag.",
    "think_template": "think.reasoning.seed",
    "think_pipeline": "think.reasoning.pipeline",
    "macro_anchor_note": "think.macro.anchor.note",
    "macro_branch_note": "think.idea.branch.create",
    "checkout": "vcs.checkout",
    "log": "vcs.log",
    "reflog": "vcs.reflog",
    "reset": "vcs.reset",
    "commit": "vcs.commit",
    "notes_commit": "vcs.notes.commit",
    "docs_list": "docs.list",
    "show": "docs.show",
    "diff": "docs.diff",
    "merge": "docs.merge",
    "export": "docs.export",
    "init": "system.init",
    "help": "system.help",
    "skill": "system.skill",
    "diagnostics": "system.diagnostics",
    "storage": "system.storage",
    "tasks_mindpack": "tasks.resume.super",
    "tasks_runner_heartbeat": "jobs.runner.heartbeat",
}
_PREFIXES = (
    ("tasks_jobs_", "jobs."),
    ("anchors_", "think.anchor."),
    ("anchor_", "think.anchor."),
    ("context_pack", "think.context.pack"),
    ("trace_", "think.trace."),
    ("branch_", "vcs.branch."),
    ("tag_", "vcs.tag."),
    ("transcripts_", "docs.transcripts."),
    ("graph_", "graph."),
    ("think_", "think."),
    ("tasks_", "tasks."),
    ("system_", "system."),
)


def renamed(old_name: str) -> str:
    """The current command name for an old tool name, whether or not this house has it."""
    name = old_name.strip().lower().rpartition("/")[2]
    return _RENAMED.get(name) or next(
        (
            new + name[len(old) :].replace("_", ".")
            for old, new in _PREFIXES
            if name.startswith(old)
        ),
        name.replace("_", "."),
    )


@room.command(
    "system.migration.lookup",
    op="migration.lookup",
    example=Lookup(old_name="notes_commit"),
    needs_workspace=False,
)
def migration_lookup(tx: Tx, req: Lookup) -> CommandFound:
    """Find the command for an old tool name."""
    registry: Registry = tx.facts.registry
    cmd = renamed(req.old_name)
    command = registry.commands.get(cmd)
    if command is None:
        near = registry.meant(cmd)
        raise UnknownId(
            f"old_name: no command matches {req.old_name[:80]!r}",
            recovery=f"nearest is {near!r}" if near else "list commands: system.cmd.list",
            suggest=[Suggestion(SchemaGet(cmd=near), "the nearest command")] if near else (),
        )
    return CommandFound(
        old_name=req.old_name,
        cmd=command.cmd,
        portal=command.portal,
        doc_ref=doc_ref(command),
        example_valid_call=example_call(registry, command),
    )
