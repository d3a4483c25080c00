"""The command line. Nothing heavy is imported before it is known what is wanted.

`main` finds the command, reads its arguments, runs it, and turns what comes back, answer or error,
into text for people or into `{ok, command, data, error}`. The exit code follows `ok`.
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
    """Let no file that we open take the place of a stream that was closed."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # writing there fails
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _import_nothing_from_here() -> None:
    """Take the current folder off the import path, where `python -m` and PYTHONPATH may put it.

    It may be a repository of strangers. What we start ourselves has never had it there.
    """
    try:
        here = os.getcwd()  # noqa: PTH109  (nothing is imported yet but what Python has by itself)
    except FileNotFoundError:
        return
    if here != os.path.abspath(f"{__file__}/../../../.."):  # noqa: PTH100
        sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]
