"""The runner's options: flags over environment over `[runner]` in config.toml over defaults.

`longhouse.config` decides which file may set an option: only the user's own may name a program, an
address or a permission.

One table holds every option with its bounds and help; the command line is generated from it.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from longhouse.config import Sources, StorePlace
from longhouse.kernel.delegation import RUNNER_ID, SKILL_PROFILES
from longhouse.kernel.errors import InvalidInput

__all__ = ["OPTIONS", "Option", "Options", "Sandbox", "load_options"]

Sandbox = Literal["read-only", "workspace-write", "full"]
"""What an agent's program may do."""


class Option(NamedTuple):
    """One setting: a string, one of several choices, or a number within bounds."""

    name: str
    help: str
    default: Any
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        return bool(self.most)


OPTIONS = (
    Option("runner_id", "this runner's name (default: runner-<host>-<pid>)", None),
    Option("url", "a server on another machine (default: this store's own)", None),
    Option("root", "where agents work (default: the store's repository)", None),
    Option("max_parallel", "how many jobs to run at once", 1, 1, 100),
    Option(
        "heartbeat_ms",
        "how often leases are renewed; each lasts three times as long",
        20_000,
        50,
        100_000,
    ),
    Option("slice_s", "how long an agent should work per slice", 1_800, 1, 86_400),
    Option("slice_grace_s", "how much longer a slice may take", 300, 0, 86_400),
    Option("kill_grace_s", "the time between TERM and KILL", 5, 0, 600),
    Option("max_runtime_s", "how long one job may take in total", 86_400, 1, 2_592_000),
    Option("max_slices", "how many slices one job may take", 200, 1, 100_000),
    Option("max_failures", "how many slices in a row may fail", 3, 1, 100),
    Option("max_proof_rounds", "how often to ask for missing proof", 3, 0, 100),
    Option("retry_pause_ms", "the pause after a failed slice; it doubles", 1_000, 0, 600_000),
    Option("answer_wait_s", "how long to wait for an answer to a question", 3_600, 0, 86_400),
    Option("drain_s", "how long slices may keep running when the runner stops", 20, 0, 86_400),
    Option("idle_exit_s", "exit after this long without work (default: never)", 0, 0, 31_536_000),
    Option(
        "server_start_s",
        "start the store's server if none has answered for this long (0: never)",
        10,
        0,
        86_400,
    ),
    Option("max_output_mb", "the largest transcript, patch or file to store", 64, 1, 128),
    Option("codex_bin", "the Codex CLI", "codex"),
    Option("claude_bin", "the Claude Code CLI (default: claude, if it is on PATH)", None),
    Option(
        "sandbox",
        "what agents may do",
        "workspace-write",
        choices=("read-only", "workspace-write", "full"),
    ),
    Option(
        "run_only",
        "start only these of the background programs that the server allows, such as "
        "'bash make *; exec echo *; env CI' (default: all of them)",
        None,
    ),
    Option(
        "isolation",
        "give each job that may write its own git worktree, if there is a repository",
        "worktree",
        choices=("none", "worktree"),
    ),
    Option(
        "worktree_setup",
        "a command that prepares each new worktree, such as 'npm ci' (default: none)",
        None,
    ),
    Option("worktree_setup_s", "how long that command may take", 600, 1, 86_400),
    Option(
        "failed_worktree_days",
        "how long the worktree of a failed job stays; then its change is kept as a patch",
        30,
        1,
        3_650,
    ),
    Option(
        "skill_profile",
        "the behavior pack for jobs that name none",
        "strict",
        choices=SKILL_PROFILES,
    ),
    Option("skill_max_chars", "how much of the pack to include (0: none)", 1_200, 0, 8_000),
)
"""Each can be set in the environment as LONGHOUSE_ and the name in capitals."""


class Options(NamedTuple):
    """Every option, resolved."""

    runner_id: str
    url: str | None
    root: str | None
    max_parallel: int
    heartbeat_ms: int
    slice_s: int
    slice_grace_s: int
    kill_grace_s: int
    max_runtime_s: int
    max_slices: int
    max_failures: int
    max_proof_rounds: int
    retry_pause_ms: int
    answer_wait_s: int
    drain_s: int
    idle_exit_s: int
    server_start_s: int
    max_output_mb: int
    codex_bin: str
    claude_bin: str | None
    sandbox: Sandbox
    run_only: str | None
    isolation: str
    worktree_setup: str | None
    worktree_setup_s: int
    failed_worktree_days: int
    skill_profile: str
    skill_max_chars: int

    @property
    def max_output_bytes(self) -> int:
        return self.max_output_mb << 20

    @property
    def lease_ms(self) -> int:
        """Three heartbeats, within the limits of the server."""
        return min(max(3 * self.heartbeat_ms, 1_000), 300_000)


def load_options(
    flags: Mapping[str, Any], place: StorePlace, *, environ: Mapping[str, str] | None = None
) -> Options:
    """Resolve all options; a refusal names the flag, variable or file that holds the bad value."""
    values = {}
    sources = Sources(flags, place, environ)
    for option in OPTIONS:
        found = sources.find(option.name, "runner")
        values[option.name] = (
            option.default if found is None else _checked(option, found.value, found.where)
        )
    values["runner_id"] = values["runner_id"] or f"runner-{_host()}-{os.getpid()}"
    return Options(**values)


def _checked(option: Option, value: Any, where: str) -> Any:
    if option.is_number:
        text = str(value)
        if not text.isdigit() or not option.least <= int(text) <= option.most:
            raise InvalidInput(
                f"{where}: {text[:40]!r} is not a number from {option.least} to {option.most}",
                recovery=f"{where} {option.default}",
            )
        return int(text)
    if option.choices and value not in option.choices:
        raise InvalidInput(
            f"{where}: {value!r} is not one of {', '.join(option.choices)}",
            recovery=f"{where} {option.choices[0]}",
        )
    if option.name == "runner_id" and not re.match(RUNNER_ID, str(value)):
        raise InvalidInput(
            f"{where}: {str(value)[:40]!r} is not a valid runner name",
            recovery="use up to 128 letters, digits and ._:/+- after a letter or digit",
        )
    if option.name == "worktree_setup":
        try:
            shlex.split(str(value))
        except ValueError as error:
            raise InvalidInput(
                f"{where}: {str(value)[:80]!r} is not a command: {error}",
                recovery="write a program and its arguments, quoted as in a shell",
            ) from None
    return str(value)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", socket.gethostname())[:60] or "here"
