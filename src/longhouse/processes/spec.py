"""The spec of a task, and its checks: tool, arguments, directory, environment, limits.

The types of a request are checked before it gets here. A wrong tool or argument is a `BadSpec`: the
task is recorded anyway, as spawned and failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.redact import redact, redact_text
from longhouse.kernel.tool_policy import env_source
from longhouse.kernel.tool_tasks import INLINE_BYTES, LOG_BYTES, is_programs_tool
from longhouse.kernel.values import Json, Value
from longhouse.processes.types.tasks import SpawnTask

__all__ = [
    "MAX_ARGS",
    "BadSpec",
    "TaskSpec",
    "UnknownToolToRun",
    "refuse_secret",
    "spec_of",
    "without_secrets",
]

MAX_ARGS: Final = 32_768
_COMMON: Final = frozenset({"cwd", "env", "artifact_max_bytes", "max_bytes", "rows", "cols"})
_TAKES: Final = {"bash": _COMMON | {"command"}, "exec": _COMMON | {"argv"}}
_NUMBERS: Final = {
    "artifact_max_bytes": (4_096, 1 << 40),
    "max_bytes": (0, 64 << 20),
    "rows": (1, 65_535),
    "cols": (1, 65_535),
}
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


class BadSpec(InvalidInput):
    """The tool does not accept these arguments."""

    code = "INVALID_ARGS"


class UnknownToolToRun(InvalidInput):
    """There is no tool with that name."""

    code = "UNKNOWN_TASK_TOOL"


class TaskSpec(Value, frozen=True, kw_only=True):
    """What the task should do, as given to the host, without any secrets."""

    args: Json
    title: str | None = None
    step: str | None = None
    origin_session_id: str | None = None
    timeout_ms: int | None = None
    idle_timeout_ms: int | None = None
    grace_ms: int = 5_000
    max_processes: int | None = None
    rules: list[Json] = []
    by: Json = {}
    """For a command: its spawner's standing besides owner and role."""

    @property
    def cwd(self) -> str:
        return str(self.args.get("cwd") or ".")

    def number(self, name: str) -> int:
        given = self.args.get(name)
        return int(given) if isinstance(given, int) else _DEFAULTS[name]


_DEFAULTS: Final = {
    "artifact_max_bytes": LOG_BYTES,
    "max_bytes": INLINE_BYTES,
    "rows": 24,
    "cols": 80,
}


def spec_of(req: SpawnTask) -> TaskSpec:
    """The spec as requested, unchecked; secrets in its free texts are masked."""
    return TaskSpec(
        args=req.args,
        title=without_secrets(req.title),
        step=without_secrets(req.step),
        origin_session_id=without_secrets(req.origin_session_id),
        timeout_ms=req.timeout_ms,
        idle_timeout_ms=req.idle_timeout_ms,
        grace_ms=req.grace_ms,
        max_processes=req.max_processes,
    )


def check_args(tool: str, args: Mapping[str, Any]) -> None:
    """Refuse arguments that `bash` or `exec` does not accept, by name."""
    if not is_programs_tool(tool):
        return
    for name in args:
        if name not in _TAKES[tool]:
            raise BadSpec(
                f"args.{name[:80]}: {tool} has no such argument",
                recovery=f"known: {', '.join(sorted(_TAKES[tool]))}",
            )
    if tool == "bash":
        command = args.get("command")
        if not isinstance(command, str) or not command.strip():
            raise BadSpec(
                "args.command: expected text",
                recovery="with tool=bash, pass the command line as args.command",
            )
    else:
        argv = args.get("argv")
        if not isinstance(argv, list) or not argv or not all(isinstance(w, str) for w in argv):
            raise BadSpec(
                "args.argv: expected a list of words",
                recovery="with tool=exec, pass the program and its arguments as args.argv",
            )
        if not argv[0]:
            raise BadSpec("args.argv[0]: expected a program")
    for name, (least, most) in _NUMBERS.items():
        value = args.get(name, least)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadSpec(f"args.{name}: expected a number from {least} to {most}")
    _check_cwd(args.get("cwd"))
    _check_env(args.get("env"))


def check_secrets(args: Mapping[str, Any]) -> None:
    """Refuse a literal that looks like a secret: records must not hold secrets."""
    plain = dict(args)
    if redact(plain) != plain:
        raise BadSpec(
            "args: one value looks like a secret, and a task is recorded before it runs",
            recovery='name its source instead: args.env={"GITHUB_TOKEN": '
            '{"from": "env:GITHUB_TOKEN"}}, after `longhouse policy allow env GITHUB_TOKEN`',
        )


def refuse_secret(field: str, text: str | None) -> None:
    """Refuse a name or pattern that looks like a secret: it is matched, so it cannot be masked."""
    if text is not None and redact_text(text) != text:
        raise InvalidInput(
            f"{field}: it looks like a secret, and it is recorded",
            recovery=f"choose a {field} without it",
        )


def without_secrets(text: str | None) -> str | None:
    """A text that is only shown, as it is recorded."""
    return None if text is None else redact_text(text)


def _check_cwd(value: Any) -> None:
    """Refuse paths outside the workspace's root by their text; the runner checks the real path."""
    if value is None:
        return
    path = PurePosixPath(value) if isinstance(value, str) and value else None
    if path is None or path.is_absolute() or ".." in path.parts or "\\" in str(value):
        raise BadSpec(
            f"args.cwd: {str(value)[:80]!r} is not a folder inside the workspace; fix: args.cwd=.",
            recovery="pass a path relative to the workspace's root, without `..`",
        )


def _check_env(value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise BadSpec('args.env: expected an object; fix: args.env={"CI": "1"}')
    for name, item in value.items():
        if not _VARIABLE.match(name):
            raise BadSpec(f"args.env: {name[:80]!r} is not a valid variable name")
        if not isinstance(item, str) and env_source(item) is None:
            raise BadSpec(
                f'args.env.{name}: expected text, or {{"from": "env:NAME"}}',
                recovery=f'pass args.env={{"{name}": {{"from": "env:{name}"}}}}',
            )
