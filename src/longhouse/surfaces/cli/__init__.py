"""The command line. It imports nothing heavy before it knows which command to run.

`main` finds the command, parses its arguments, runs it, and prints the answer or the error as text
for people or as `{ok, command, data, error}`. The exit code follows `ok`.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run one command line; never raises, never shows a traceback."""
    if argv is None:
        argv = sys.argv[1:]
        _import_nothing_from_here()
        _fill_closed_streams()
    if argv in (["--version"], ["-V"], ["version"]):
        from longhouse.__about__ import __version__

        sys.stdout.write(f"longhouse {__version__}\n")
        return 0
    from longhouse.surfaces.cli.run import run

    return run(argv)


def _fill_closed_streams() -> None:
    """Keep files we open from taking the descriptor of a closed standard stream."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # writing there fails
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _import_nothing_from_here() -> None:
    """Remove the current folder from the import path, where `python -m` and PYTHONPATH may put it.

    It may be an untrusted repository. Processes that we start never have it on their path.
    """
    try:
        here = os.getcwd()  # noqa: PTH109  (nothing beyond what Python itself loads is imported yet)
    except FileNotFoundError:
        return
    if here != os.path.abspath(f"{__file__}/../../../.."):  # noqa: PTH100
        sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]
