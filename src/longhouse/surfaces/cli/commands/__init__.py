"""Every command of the command line, in the order that help shows it; one module each.

A module is imported only when its command is used: it holds `command = Command(...)`.
"""

__all__ = ["NAMES", "SECTIONS"]

SECTIONS = {
    "Start and stop": ("init", "up", "down", "serve", "mcp"),
    "Look": ("status", "radar", "open", "events"),
    "Remember": ("note", "log", "branch", "diff", "graph"),
<<<<<<< HEAD
    "Do": ("agent", "job", "call", "skill", "beads"),
=======
    "Do": ("job", "runner", "call"),
>>>>>>> 7817cf3 (Start the runner: guarded children, slices, proof gate, executors for Codex and Claude Code)
    "Look after it": (
        "artifact", "backup", "restore", "export", "import", "verify", "token", "doctor",
        "completion",
    ),
}  # fmt: skip

NAMES = tuple(name for names in SECTIONS.values() for name in names)
