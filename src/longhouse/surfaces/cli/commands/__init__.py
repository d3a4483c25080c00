"""The command-line commands in the order help lists them, one module each.

Each module defines `command = Command(...)` and is imported only when its command is used.
"""

__all__ = ["NAMES", "SECTIONS", "SYNONYMS"]

SECTIONS = {
    "Start and stop": ("init", "up", "down", "demo", "serve", "mcp"),
    "Inspect": ("status", "where", "search", "resume", "radar", "open", "events", "logs", "docs"),
    "Memory": ("note", "log", "branch", "diff", "graph"),
    "Reasoning": ("think", "pack", "transcripts"),
    "Work": ("task", "job", "runner", "agent", "skill", "beads", "call"),
    "Background processes": (
        "run",
        "attach",
        "keys",
        "signal",
        "wait",
        "ps",
        "top",
        "cancel",
        "replay",
        "recording",
        "policy",
    ),
    "Maintenance": (
        "project",
        "workspace",
        "artifact",
        "backup",
        "restore",
        "export",
        "import",
        "release",
        "verify",
        "reindex",
        "token",
        "doctor",
        "completion",
    ),
}

NAMES = tuple(name for names in SECTIONS.values() for name in names)

SYNONYMS = {"start": "up", "stop": "down"}
"""Words people try first, and the commands they mean."""
