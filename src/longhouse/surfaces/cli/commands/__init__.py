"""Every command of the command line, in the order that help shows it; one module each.

A module is imported only when its command is used: it holds `command = Command(...)`.
"""

__all__ = ["NAMES", "SECTIONS", "SYNONYMS"]

SECTIONS = {
    "Start and stop": ("init", "up", "down", "demo", "serve", "mcp"),
    "Look": ("status", "resume", "radar", "open", "events", "logs", "docs"),
    "Remember": ("note", "log", "branch", "diff", "graph"),
    "Think": ("think", "pack", "transcripts"),
    "Do": ("task", "job", "runner", "agent", "skill", "beads", "call"),
    "Run": (
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
    "Look after it": (
        "artifact",
        "backup",
        "restore",
        "export",
        "import",
        "verify",
        "token",
        "doctor",
        "completion",
    ),
}

NAMES = tuple(name for names in SECTIONS.values() for name in names)

SYNONYMS = {"start": "up", "stop": "down"}
"""What people try first, and what it is called here."""
