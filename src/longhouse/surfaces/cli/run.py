"""One run of the command line: parse, execute, print; every failure becomes a plain message."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from longhouse.config import absolute_path_only, wants_tracebacks
from longhouse.kernel.errors import InternalError, LonghouseError, StoreUnusable
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Console, OutputLost
from longhouse.surfaces.cli.parse import ParsedLine, parse
from longhouse.surfaces.cli.spec import Command, Shown

__all__ = ["run"]

INTERRUPTED = 130
NOT_WRITTEN = 74
PIPE_CLOSED = 141

_NEXT = "next: longhouse "
_HIDDEN = "<redacted>"
"""Marks a removed secret in a suggested call, which therefore cannot be pasted."""


def run(argv: list[str]) -> int:
    """Run a command line and return its exit code."""
    absolute_path_only()
    output, line = Console(), ParsedLine()
    try:
        try:
            code = _run(argv, line, output)
        except LonghouseError as error:
            code = _fail(error, line, output, as_json="--json" in argv)
        output.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has read enough
        _write_no_more()
        return PIPE_CLOSED
    except OutputLost as lost:
        _write_no_more()
        with suppress(OSError):
            sys.stderr.write(f"longhouse: the answer could not be written: {lost}\n")
            sys.stderr.flush()
        return NOT_WRITTEN
    return code


def _write_no_more() -> None:
    """Keep the interpreter from writing at exit, and from complaining that it cannot."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str], line: ParsedLine, output: Console) -> int:
    said = argv[0] if argv and argv[0] in ("help", "version") else None
    parse([*argv[1:], f"--{said}"] if said else argv, line)
    flags = line.globals
    as_json = flags.pop("json", False)
    if flags.pop("version", False):
        from longhouse.__about__ import __version__

        if as_json:
            output.json(_answer(line, {"version": __version__}, None, ok=True), pretty=False)
        else:
            output.line(f"longhouse {__version__}")
        return 0
    if flags.pop("help", False) or line.command is None:
        from longhouse.surfaces.cli.help import show_help

        show_help(line, output)
        return 0
    cli = line.cli = Cli(flags, output, as_json=as_json)
    if "token" in flags:
        output.note(
            "note",
            "every user of this machine can see --token in the process list; "
            "use --token-file or LONGHOUSE_TOKEN",
        )
    try:
        return _show(_carry_out(line.command, cli, line.values), line, output, as_json=as_json)
    except (LonghouseError, BrokenPipeError, OutputLost):
        raise
    except OSError as error:
        raise StoreUnusable.refused(error) from error
    except Exception as error:
        raise _defect(error, cli) from error
    finally:
        cli.close()


def _carry_out(command: Command, cli: Cli, values: dict[str, Any]) -> Shown | int | None:
    if command.run is not None:
        return command.run(cli, **values)
    result = cli.call(command.calls, **values)
    if isinstance(result, str):
        return Shown(result, [result])
    return Shown(result, command.show(cli, result) if command.show else _pretty(result))


def _show(shown: Shown | int | None, line: ParsedLine, output: Console, *, as_json: bool) -> int:
    if not isinstance(shown, Shown):
        return shown or 0
    if as_json:
        output.json(_answer(line, shown.data, None, ok=shown.ok), pretty=False)
    else:
        for text in shown.lines:
            output.line(_pasted(text) if _NEXT in text else text)
    return 0 if shown.ok else 1


def _pasted(text: str) -> str:
    """The `next:` line with a path to this program, if the shell does not find it by name."""
    from longhouse.surfaces.cli.clients import spoken

    return type(text)(text.replace(_NEXT, f"next: {spoken()} ", 1))


def _pretty(result: Any) -> list[str]:
    return [json.dumps(result, ensure_ascii=False, indent=2)]


def _answer(line: ParsedLine, data: Any, error: Any, *, ok: bool) -> dict[str, Any]:
    return {"ok": ok, "command": line.name, "data": data, "error": error}


def _fail(error: LonghouseError, line: ParsedLine, output: Console, *, as_json: bool) -> int:
    from longhouse.surfaces.cli.speaking import in_our_words

    message, recovery = in_our_words(error, line)
    whole = [action for action in error.actions if not _lacks(action)]
    found = [_command_line_or_none(action, line.cli) for action in whole]
    commands = [text for text in found if text and _HIDDEN not in text]
    if as_json:
        body: dict[str, Any] = {
            "code": error.code,
            "message": message,
            "recovery": recovery,
            "retryable": error.retryable,
            "exit_code": error.exit_code,
            "next": commands,
        }
        if error.hints:
            body["hints"] = [dict(hint) for hint in error.hints]
        output.json(_answer(line, None, body, ok=False), pretty=False)
    else:
        hints = [("fix", recovery)] if recovery else []
        output.trouble(message, [*hints, *(("next", text) for text in commands[:1])])
    return error.exit_code


def _defect(error: Exception, cli: Cli) -> LonghouseError:
    """A bug here or in the server we asked; the traceback is printed only on request."""
    if wants_tracebacks():
        import traceback

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}"[:400]
    if url := cli.server_url:
        return InternalError(
            f"the server at {url} sent an answer that this version cannot read: {what}",
            recovery="check whether it runs the same version: longhouse doctor",
        )
    return InternalError(f"a bug in Longhouse: {what}")


def _lacks(action: Any) -> bool:
    """Whether only the caller can complete this action, so that its line would not run."""
    return isinstance(action, dict) and bool(action.get("missing"))


def _command_line_or_none(action: Mapping[str, Any], cli: Cli | None) -> str | None:
    """The action as a command line; None if it is not one, since a server may send anything."""
    from longhouse.surfaces.cli.speaking import command_line

    try:
        return command_line(action, cli)
    except (LonghouseError, LookupError, TypeError, ValueError, AttributeError):
        return None
