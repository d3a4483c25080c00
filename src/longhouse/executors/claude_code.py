"""The Claude Code executor: headless `claude -p`, structured output, resumed sessions.

Only the user's own settings are read: those of a folder (`.claude/`, `.mcp.json`) start programs,
and `-p` asks nobody. Its commands run without a sandbox, unless the user has turned on the one of
Claude Code. Success is judged by `is_error`, never by `subtype`: API failures arrive with subtype
"success". A result counts the tokens of its own slice, but the dollars of the whole session.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from longhouse.config import client_homes
from longhouse.executors.base import (
    PROFILES,
    SCHEMA,
    ClaimedJob,
    Invocation,
    RunOutput,
    Sandbox,
    Slice,
    SliceResult,
    TokenUsage,
    answer_in,
    as_answer,
)
from longhouse.executors.instructions import instructions

__all__ = ["ClaudeCode"]

_EFFORT = {"fast": "low", "deep": "high", "audit": "max"}
_READ = ("mcp__longhouse", "Read", "Glob", "Grep")
_WRITE = (*_READ, "Edit", "Write", "NotebookEdit", "Bash")
_FILE = ("Read", "Edit")
_INSTRUCTIONS = (("CLAUDE.md", "AGENTS.md"), (".claude/CLAUDE.md",), ("CLAUDE.local.md",))
RETRIES = "4"
"""The CLI's default retries permanent errors such as 401 for minutes."""


class ClaudeCode:
    """The `claude_code` executor."""

    name = "claude_code"
    profiles: tuple[str, ...] = PROFILES
    totals: tuple[str, ...] = ("cost_usd",)

    def __init__(self, program: str) -> None:
        self.program = program

    @property
    def unsandboxed(self) -> bool:
        """Whether its commands run without a sandbox; a job reads no other file of settings."""
        try:
            settings = (client_homes().claude / "settings.json").read_text(encoding="utf-8")
            return json.loads(settings)["sandbox"]["enabled"] is not True
        except (OSError, ValueError, LookupError, TypeError):
            return True

    def plan(self, job: ClaimedJob, slice: Slice) -> Invocation:
        servers = slice.scratch / "mcp.json"
        servers.touch(mode=0o600)
        named = {"longhouse": _server(slice)} if slice.entry.given else {}
        servers.write_text(json.dumps({"mcpServers": named}))
        argv = [
            self.program,
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--json-schema",
            json.dumps(SCHEMA),
            "--mcp-config",
            str(servers),
            "--strict-mcp-config",
            "--setting-sources",
            "user",
            *_hiding(slice),
            "--effort",
            _EFFORT[job.profile],
            *_permissions(slice.sandbox),
        ]
        if job.model:
            argv.append(f"--model={job.model}")
        if slice.session:
            argv.append(f"--resume={slice.session}")
        elif told := instructions(slice.cwd, *_INSTRUCTIONS, hidden=slice.hidden):
            # Not in the prompt, where each @name would be replaced by the text of that file.
            file = slice.scratch / "instructions.md"
            file.touch(mode=0o600)
            file.write_text(told, encoding="utf-8")
            argv += ["--append-system-prompt-file", str(file)]
        return Invocation(argv, slice.prompt, {"CLAUDE_CODE_MAX_RETRIES": RETRIES})

    def parse(self, output: RunOutput) -> SliceResult:
        result: dict[str, Any] | None = None
        session = None
        said: dict[str, TokenUsage] = {}
        for line in output.stdout.lines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                session = event.get("session_id") or session
                if event.get("type") == "result":
                    result = event
                elif event.get("type") == "assistant":
                    message = event.get("message") or {}
                    said[str(message.get("id"))] = _usage(message)
        if result is None:  # it was killed: its messages have token counts, but no dollars
            why = output.stderr.last(300) or output.stdout.last(300) or "it printed nothing"
            sums = [sum(counts) for counts in zip(*said.values(), strict=True)]
            return SliceResult(
                error=f"{_ended(output)}: {why}",
                session=session,
                usage=TokenUsage(int(sums[0]), int(sums[1])) if sums else TokenUsage(),
            )
        usage = _usage(result)
        if result.get("is_error") or output.code != 0:
            return SliceResult(
                error=f"{_ended(output)}: {_why(result)}", session=session, usage=usage
            )
        structured = result.get("structured_output")
        answer = (
            answer_in(str(result.get("result") or ""))
            if structured is None
            else as_answer(structured)
        )
        if isinstance(answer, str):
            return SliceResult(error=answer, session=session, usage=usage)
        return SliceResult(answer, session=session, usage=usage, notes=_denied(result))


def _server(slice: Slice) -> dict[str, Any]:
    entry = slice.entry
    if entry.url:
        bearer = {"Authorization": f"Bearer {entry.token}"} if entry.token else {}
        return {"type": "http", "url": f"{entry.url}/mcp", "headers": {**bearer, **entry.headers}}
    first, *rest = entry.argv(slice.scratch)
    return {"type": "stdio", "command": first, "args": rest}


def _hiding(slice: Slice) -> list[str]:
    """Denies the file tools the hidden folders; commands are not limited by it."""
    if slice.sandbox == "full":
        return []
    cwd = slice.cwd.resolve()
    paths = [one for folder in slice.hidden for one in _without(folder.resolve(), cwd)]
    escaped = [re.sub(r"([\\*?\[\]])", r"\\\1", str(path)) for path in paths]
    denied = [f"{tool}(/{path}{end})" for path in escaped for tool in _FILE for end in ("", "/**")]
    return ["--settings", json.dumps({"permissions": {"deny": denied}})] if denied else []


def _without(folder: Path, cwd: Path) -> list[Path]:
    """The folder, or what is in it except for the way to `cwd`: a denial covers all below it."""
    if not cwd.is_relative_to(folder):
        return [folder]
    if cwd == folder:
        return []
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [deeper for one in inside for deeper in _without(one, cwd)]


def _permissions(sandbox: Sandbox) -> list[str]:
    """No one can answer a permission prompt: what is not allowed is denied; the run continues."""
    if sandbox == "read-only":
        return ["--permission-mode", "dontAsk", "--allowedTools", ",".join(_READ)]
    if sandbox == "full" and os.geteuid() != 0:  # the CLI refuses this as root
        return ["--permission-mode", "bypassPermissions", "--allowedTools", "mcp__longhouse"]
    return ["--permission-mode", "acceptEdits", "--allowedTools", ",".join(_WRITE)]


def _usage(result: dict[str, Any]) -> TokenUsage:
    counts = result.get("usage") or {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return TokenUsage(
        sum(int(counts.get(name) or 0) for name in names),
        int(counts.get("output_tokens") or 0),
        float(result.get("total_cost_usd") or 0.0),
    )


def _why(result: dict[str, Any]) -> str:
    errors = result.get("errors") or [result.get("result") or result.get("terminal_reason")]
    return "; ".join(str(error) for error in errors if error)[:400] or "no reason given"


def _denied(result: dict[str, Any]) -> tuple[str, ...]:
    """A note about tools the agent was denied; not a failure."""
    denials = result.get("permission_denials") or []
    names = sorted({str(denial.get("tool_name")) for denial in denials})
    return (f"not allowed to use: {', '.join(names)}",) if names else ()


def _ended(output: RunOutput) -> str:
    if output.signal:
        return f"claude was killed by signal {output.signal}"
    return f"claude exited with code {output.code}"
