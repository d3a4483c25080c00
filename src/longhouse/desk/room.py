"""What the desk's modules declare on."""

from longhouse.kernel.registry import Room

__all__ = ["room"]

room = Room(
    "desk",
    modules=(
        "catalog", "migration", "opening", "skill", "status", "system", "tokens", "workspaces",
    ),
)
