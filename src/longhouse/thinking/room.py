"""The room object that its modules register with, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "thinking",
    modules=(
        "advice",
        "anchor_moves",
        "anchor_views",
        "blast",
        "cards",
        "checks",
        "context",
        "context_pack",
        "exporting",
        "ideas",
        "knowledge",
        "moves",
        "opening",
        "packs",
        "pipeline",
        "playbooks",
        "publishing",
        "subgoals",
        "traces",
        "transcripts.digest",
        "transcripts.opening",
        "transcripts.recalling",
        "transcripts.search",
    ),
)
sql = Queries("longhouse.thinking")
