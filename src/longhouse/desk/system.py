"""`system.storage`, `system.init` and `system.help`."""

from __future__ import annotations

from typing import Any

from longhouse.desk.help import help_text
from longhouse.desk.migration import renamed
from longhouse.desk.room import room
from longhouse.desk.status import DEFAULTS
from longhouse.desk.types.system import (
    GetStorage,
    Help,
    HelpText,
    Init,
    Initialised,
    ListCommands,
    Lookup,
    SchemaGet,
    Storage,
)
from longhouse.kernel.budget import Clip
from longhouse.memory import bootstrap
from longhouse.store.tx import Tx

__all__ = [
    "ListCommands",
    "Lookup",
    "SchemaGet",
    "renamed",
]


@room.command(
    "system.storage",
    also="store database info disk usage size",
    example=GetStorage(),
    needs_workspace=False,
)
def storage(tx: Tx, req: GetStorage) -> Storage:
    """Show where the store is and which database engine it uses."""
    facts = tx.facts
    return Storage(
        storage_dir=facts.storage_dir,
        engine=facts.engine,
        schema_version=facts.schema_version,
        now_ms=tx.now_ms,
    )


@room.command(
    "system.init",
    also="workspace.create workspace.init workspace.new",
    writes=True,
    additive=True,
    idempotent=True,
    example=Init(),
)
def init(tx: Tx, req: Init) -> Initialised:
    """Create the workspace with its default branch and check it out."""
    return Initialised(
        workspace=tx.workspace,
        storage_dir=tx.facts.storage_dir,
        schema_version=tx.facts.schema_version,
        checkout=bootstrap(tx),
        defaults=DEFAULTS,
    )


def _help_lines(result: dict[str, Any]) -> list[str]:
    return [line for line in result["text"].splitlines() if line.strip()]


@room.command(
    "system.help",
    also="docs manual guide .help man",
    example=Help(),
    needs_workspace=False,
    lines=_help_lines,
    trim=[Clip("text", 80)],
)
def help_(tx: Tx, req: Help) -> HelpText:
    """Explain how to use Longhouse: the protocol, tags, proof and daily flow."""
    return HelpText(text=help_text(tx.facts.registry))
