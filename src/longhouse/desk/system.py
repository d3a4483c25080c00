"""`system.*`: where the store is, how it starts, how it is, and how to work here."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from longhouse.desk.catalog import ListCommands, SchemaGet
from longhouse.desk.help import help_text
from longhouse.desk.migration import Lookup, renamed
from longhouse.desk.room import room
from longhouse.desk.status import DEFAULTS, Defaults, golden_path
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Request, Result
from longhouse.memory import reading as memory
from longhouse.memory.branches import MAIN
from longhouse.memory.types import CommitNote
from longhouse.store.tx import Tx

__all__ = [
    "Diagnose",
    "GetStorage",
    "Help",
    "Init",
    "ListCommands",
    "Lookup",
    "SchemaGet",
    "renamed",
]


WorkId = Annotated[str, Meta(min_length=1, max_length=64)]


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
              trim=[Clip("text", 80)])  # fmt: skip
def help_(tx: Tx, req: Help) -> HelpText:
    """How to work here: the protocol, tags, proof, and the daily flow."""
    return HelpText(text=help_text(tx.facts.registry))


class Diagnose(Request, frozen=True, kw_only=True):
    """Is everything in order, and what to do about what is not."""

    target: WorkId | None = None
    task: WorkId | None = None
    plan: WorkId | None = None


class Diagnosis(Result, frozen=True, kw_only=True):
    workspace: str
    checkout: str | None
    focus: str | None
    target: str | None
    summary: str
    issues: list[dict[str, Any]]
    context_health: dict[str, Any]
    golden_path: list[str]


@room.command("system.diagnostics", example=Diagnose(),
              trim=[Clip("issues.message", 40), Pop("issues")])  # fmt: skip
def diagnostics(tx: Tx, req: Diagnose) -> Diagnosis:
    """Is everything in order, and what to do about what is not."""
    given = [name for name in ("target", "task", "plan") if getattr(req, name) is not None]
    if len(given) > 1:
        raise InvalidInput(
            f"{given[1]}: expected one of target, task, plan, not {' and '.join(given)}; "
            f"fix: {given[0]}={getattr(req, given[0])}",
            hints=[{"kind": "choose_one", "fields": given}],
        )
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
        tx.suggest(
            CommitNote(content="What we are working on, and why."), "write a first note",
            action_id="recover.first.note",
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
        golden_path=golden_path(tx),
    )
