"""Upkeep of a store: back it up, move a workspace, verify its integrity.

Nothing here depends on a room: tables are found in the schema, and rooms register their checks.
"""

from longhouse.store.upkeep.archive import ArchiveInvalid
from longhouse.store.upkeep.backup import BackedUp, back_up
from longhouse.store.upkeep.exporting import ExportSummary, export_workspace
from longhouse.store.upkeep.importing import Imported, import_workspace
from longhouse.store.upkeep.printed import outputs_of
from longhouse.store.upkeep.repair import Repair, repair
from longhouse.store.upkeep.restoring import Restored, restore
from longhouse.store.upkeep.verify import Problem, Verified, verify

__all__ = [
    "ArchiveInvalid",
    "BackedUp",
    "ExportSummary",
    "Imported",
    "Problem",
    "Repair",
    "Restored",
    "Verified",
    "back_up",
    "export_workspace",
    "import_workspace",
    "outputs_of",
    "repair",
    "restore",
    "verify",
]
