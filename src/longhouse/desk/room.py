"""The room object that the desk's modules register with."""

from longhouse.kernel.rooms import Room

__all__ = ["room"]

room = Room(
    "desk",
    modules=(
        "catalog",
        "delegating",
        "deleting",
        "diagnostics",
        "execute",
        "finishing",
        "gating",
        "history",
        "migration",
        "opening",
        "recovery",
        "resuming",
        "skill",
        "snapshot",
        "starting",
        "status",
        "system",
        "tokens",
        "workspaces",
    ),
)
