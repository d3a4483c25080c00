"""The command line. Nothing heavy is imported before it is known what is wanted.

`main` finds the command, reads its arguments, runs it, and turns what comes back, answer or error,
into text for people or into `{ok, command, data, error}`. The exit code follows `ok`.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run one command line; never raises, never shows a traceback."""
    argv = sys.argv[1:] if argv is None else argv
    if argv in (["--version"], ["-V"]):
        from longhouse.__about__ import __version__

        sys.stdout.write(f"longhouse {__version__}\n")
        return 0
    from longhouse.surfaces.cli.run import run

    return run(argv)
