"""The Codex executor: headless `codex exec`, its session resumed from slice to slice.

Everything is passed as flags; the user's configuration is neither changed nor replaced. The folder
is never trusted: a trusted one's `.codex` starts programs, and a sandbox setting among the flags
would make Codex write that trust into the user's file. Codex does not check its answer against the
schema, so we do. Its token counts are totals of the thread.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.config import environment_with, project_root
from longhouse.executors.base import (
    PROFILES,
    SCHEMA,
    ClaimedJob,
    Invocation,
    RunOutput,
    Slice,
    SliceResult,
    TokenUsage,
    answer_in,
)
from longhouse.executors.instructions import instructions
from longhouse.executors.sessions import is_session_id
from longhouse.executors.trouble import NotHere

__all__ = ["Codex"]

_EFFORT = {"fast": "low", "deep": "high", "audit": "xhigh"}
_SANDBOX = {"full": "danger-full-access"}
_PROFILES = {"read-only": ":read-only", "workspace-write": ":workspace"}
_INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md")
_PATTERN = frozenset("*?[]")
RECORD_BYTES = 1 << 20
"""How much of the end of a thread's rollout file is read."""
TOKEN_VARIABLE = "LONGHOUSE_MCP_TOKEN"  # noqa: S105  (the name of a variable)


class Codex:
    """The `codex` executor."""

    name = "codex"
    profiles: tuple[str, ...] = PROFILES
    totals: tuple[str, ...] = ("input_tokens", "output_tokens")

    def __init__(self, program: str) -> None:
        self.program = program

    def plan(self, job: ClaimedJob, slice: Slice) -> Invocation:
        schema = slice.scratch / "schema.json"
        schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
        settings: dict[str, Any] = {
            "approval_policy": "never",
            "sandbox_mode": _SANDBOX.get(slice.sandbox, slice.sandbox),
            "model_reasoning_effort": _EFFORT[job.profile],
            "features.skill_mcp_dependency_install": False,
            "projects": {folder: {"trust_level": "untrusted"} for folder in _trustable(slice.cwd)},
            **_hiding(slice),
        }
        argv = [self.program, "exec", *(["resume"] if slice.session else [])]
        argv += ["--json", "--skip-git-repo-check", "--output-schema", str(schema)]
        if slice.entry.given:
            settings["mcp_servers.longhouse"] = _server(slice)
        for key, value in settings.items():
            argv += ["-c", f"{key}={_toml(value)}"]
        entry = slice.entry
        env = {TOKEN_VARIABLE: entry.token} if entry.url and entry.token else {}
        if slice.session:
            return Invocation([*argv, "--", slice.session, "-"], slice.prompt, env)
        told = instructions(slice.cwd, _INSTRUCTIONS, hidden=slice.hidden)
        prompt = f"{told}\n\n{slice.prompt}" if told else slice.prompt
        return Invocation([*argv, "--", "-"], prompt, env)

    def parse(self, output: RunOutput) -> SliceResult:
        session = said = failed = None
        usage = TokenUsage()
        for event in _events(output):
            match event.get("type"):
                case "thread.started":
                    session = event.get("thread_id")
                case "item.completed" if event.get("item", {}).get("type") == "agent_message":
                    said = event["item"].get("text", "")
                case "turn.completed":
                    usage = _usage(event.get("usage") or {})
                case "turn.failed":
                    failed = (event.get("error") or {}).get("message") or "the turn failed"
                case "error":
                    failed = event.get("message") or "an error"
        if session and not any(usage):  # it was killed; its rollout file knows more
            usage = _recorded(session)
        if output.code != 0 or failed:
            why = failed or output.stderr.last(300) or "it printed nothing"
            return SliceResult(error=f"{_ended(output)}: {why}", session=session, usage=usage)
        answer = answer_in(said or "")
        if isinstance(answer, str):
            return SliceResult(error=answer, session=session, usage=usage)
        return SliceResult(answer, session=session, usage=usage)


def _server(slice: Slice) -> dict[str, Any]:
    """Our MCP server for the child; `required`, since its tools could miss the first turn."""
    common = {
        "required": True,
        "default_tools_approval_mode": "approve",
        "startup_timeout_sec": 30,
        "tool_timeout_sec": 120,
    }
    entry = slice.entry
    if entry.url:
        token = {"bearer_token_env_var": TOKEN_VARIABLE} if entry.token else {}
        return {"url": f"{entry.url}/mcp", **token, "http_headers": entry.headers, **common}
    first, *rest = entry.argv(slice.scratch)
    return {"command": first, "args": rest, **common}


def _trustable(cwd: Path) -> list[str]:
    """Every folder by which Codex may decide whether to trust `cwd`, however it is spelled.

    It asks for each folder from the root of the project down, then for the main worktree; the
    user's file may say what marks a root, so it can be any folder above.
    """
    known = [cwd.absolute(), cwd.resolve()]
    with suppress(OSError, ValueError):
        known.append(project_root(cwd.resolve()).resolve())
    return list(dict.fromkeys(str(one) for path in known for one in (path, *path.parents)))


def _hiding(slice: Slice) -> dict[str, Any]:
    """A permission profile that denies commands the hidden folders, for reading too.

    It is merged over `[permissions.longhouse]` of the user's file, if there is one, and replaces
    `sandbox_mode`. Codex 0.138 and 0.166 obey it; 0.120 refuses it and does not start.
    """
    if slice.sandbox not in _PROFILES or not slice.hidden:
        return {}
    folders = [str(folder.resolve()) for folder in slice.hidden]
    for folder in folders:
        if not folder.isprintable() or _PATTERN.intersection(folder):
            raise NotHere(
                f"Codex cannot hide {folder!r} from its agent: it reads that name as a pattern",
                recovery="use a store in a folder without *, ?, [ or ] in its name",
            )
    denied = dict.fromkeys(folders, "deny")
    profile = {"extends": _PROFILES[slice.sandbox], "filesystem": denied}
    return {"permissions.longhouse": profile, "default_permissions": "longhouse"}


def _toml(value: Any) -> str:
    """Inline TOML. Texts and lists are written as in JSON, which does not escape DEL."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_key(key)}={_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, str) and not _is_utf8(value):
        raise NotHere(f"Codex takes no name that is not UTF-8: {value!r}")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _events(output: RunOutput) -> Iterator[dict[str, Any]]:
    for line in output.stdout.lines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _recorded(session: str) -> TokenUsage:
    """What a thread has used, from Codex's rollout file; zero if there is none.

    Standard output reports it only at the end of a turn.
    """
    if not is_session_id(session):
        return TokenUsage()
    environment = environment_with({})
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME", "/")) / ".codex")
    used = TokenUsage()
    for path in sorted(Path(home, "sessions").glob(f"*/*/*/rollout-*-{session}.jsonl"))[-1:]:
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - RECORD_BYTES, 0))
            for line in file:
                if b'"token_count"' in line:
                    used = _counted(line) or used
    return used


def _counted(line: bytes) -> TokenUsage | None:
    with suppress(ValueError, TypeError, AttributeError):
        told = json.loads(line)["payload"]["info"]["total_token_usage"]
        return _usage(told)
    return None


def _usage(counts: dict[str, Any]) -> TokenUsage:
    return TokenUsage(int(counts.get("input_tokens", 0)), int(counts.get("output_tokens", 0)))


def _ended(output: RunOutput) -> str:
    if output.signal:
        return f"codex was killed by signal {output.signal}"
    return f"codex exited with code {output.code}"
