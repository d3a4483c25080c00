"""The sources of settings, and which of them wins.

From strongest to weakest: flags, environment, the user's file for this store, the store's own file,
the user's file for every store, defaults. The store's file is inside a repository, so it may set
only harmless settings; only the user may set those that name a program, a path, a secret or a
permission.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config.environment import user_file
from longhouse.kernel.errors import InvalidInput

__all__ = ["Found", "Sources"]

HARMLESS = frozenset(
    {
        "agent_stale_minutes",
        "artifact_quota_mb",
        "autostart_runners",
        "body_timeout_s",
        "calls_per_token",
        "changes_every_s",
        "header_timeout_s",
        "idle_exit_s",
        "items",
        "jobs_max_running",
        "processes_keep_days",
        "processes_max_running",
        "processes_quota_mb",
        "log_level",
        "max_body_kb",
        "max_header_kb",
        "project_guard",
        "runner_autostart",
        "streams_per_token",
        "toolset",
        "waits_per_token",
        "workspace",
        "workspace_allowlist",
        "workspace_lock",
    }
)
"""The settings that the store's own `config.toml` may contain."""
HARMLESS_FOR_RUNNERS = frozenset(
    {
        "answer_wait_s",
        "drain_s",
        "heartbeat_ms",
        "idle_exit_s",
        "kill_grace_s",
        "max_failures",
        "max_output_mb",
        "max_parallel",
        "max_proof_rounds",
        "max_runtime_s",
        "max_slices",
        "retry_pause_ms",
        "skill_max_chars",
        "skill_profile",
        "slice_grace_s",
        "slice_s",
    }
)
"""The settings that its `[runner]` table may contain."""

_ALIASES = {"LONGHOUSE_AGENT_STALE_MINUTES": "BB_AGENT_STALE_MINUTES"}
"""Variables that teams may already have set for another tool with the same protocol."""


class Found(NamedTuple):
    """A value and where it was found; the lower the rank, the stronger the source."""

    value: Any
    where: str
    rank: int


class Sources:
    """All sources of settings for the store in `folder`."""

    def __init__(
        self, flags: Mapping[str, Any], folder: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self._flags = {name: value for name, value in flags.items() if value is not None}
        self._environ = os.environ if environ is None else environ
        self.user_file = user_file(environ)
        self._files = list(self._read_files(folder))

    def find(self, name: str, section: str | None = None) -> Found | None:
        """The value from the strongest source that has one; `section` is a table in the files."""
        if name in self._flags:
            return Found(self._flags[name], f"--{name.replace('_', '-')}", 0)
        variable = f"LONGHOUSE_{name.upper()}"
        for known in (variable, _ALIASES.get(variable, variable)):
            if self._environ.get(known):
                return Found(self._environ[known], known, 1)
        for rank, (table, where) in enumerate(self._files, 2):
            values = table if section is None else table.get(section)
            if isinstance(values, dict) and name in values:
                inside = f" [{section}] {name}" if section else ""
                return Found(values[name], where + inside, rank)
        return None

    def _read_files(self, folder: Path) -> Iterator[tuple[dict[str, Any], str]]:
        own = _from_file(self.user_file) if self.user_file else {}
        stores = own.get("stores")
        for_this = stores.get(str(folder)) if isinstance(stores, dict) else None
        if isinstance(for_this, dict):
            yield for_this, f'{self.user_file} [stores."{folder}"]'
        path = folder / "config.toml"
        stored = _from_file(path)
        self._refuse_harmful(stored, path, folder)
        yield stored, str(path)
        yield own, str(self.user_file)

    def _refuse_harmful(self, stored: Mapping[str, Any], path: Path, folder: Path) -> None:
        runner = stored.get("runner", {})
        if not isinstance(runner, dict):
            raise InvalidInput(f"{path}: runner is not a table", recovery=f"fix {path}")
        wrong = [name for name in stored if name not in HARMLESS and name != "runner"]
        wrong += [f"runner.{name}" for name in runner if name not in HARMLESS_FOR_RUNNERS]
        if wrong:
            names = ", ".join(repr(name)[1:-1] for name in wrong)
            mine = self.user_file or "~/.config/longhouse/config.toml"
            raise InvalidInput(
                f"{path}: may not set {names}: this file is inside the repository",
                recovery=f'if the setting is yours, put it under [stores."{folder}"] in {mine}, '
                f"and remove it from {path}",
            )


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read: {error.strerror}", recovery=f"check the permissions of {path}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: not valid TOML: {error}", recovery=f"fix {path}") from None
