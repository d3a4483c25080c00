"""The sources of settings, and which of them wins.

From strongest to weakest: flags, environment, the user's file for this store, the store's own file,
the work tree's `.longhouse/config.toml`, the user's file for every store, defaults. The store's
file may set only harmless settings, and the work tree's, which others wrote, only limits and a
workspace that the user bound to the project. Only the user may set what names a program, a path, a
secret or a permission.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config.environment import user_file
from longhouse.config.stores import StorePlace
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.private_files import read_private

__all__ = ["Found", "Sources"]

LIMITS = frozenset(
    {
        "autostart_runners",
        "body_timeout_s",
        "calls_per_token",
        "changes_every_s",
        "header_timeout_s",
        "idle_exit_s",
        "jobs_max_running",
        "max_body_kb",
        "max_header_kb",
        "processes_max_running",
        "streams_per_token",
        "waits_per_token",
        "workspaces_per_token",
    }
)
"""The settings that a work tree's `.longhouse/config.toml` may contain, beside a workspace.

How long and how much is kept is not among them: a clone must not make a store forget.
"""

HARMLESS = LIMITS | {
    "agent_stale_minutes",
    "artifact_quota_mb",
    "items",
    "log_level",
    "processes_keep_days",
    "processes_quota_mb",
    "project_guard",
    "runner_autostart",
    "toolset",
    "workspace",
    "workspace_allowlist",
    "workspace_lock",
}
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
"""The settings that the `[runner]` table of either file may contain."""

_ALIASES = {"LONGHOUSE_AGENT_STALE_MINUTES": "BB_AGENT_STALE_MINUTES"}
"""Variables that teams may already have set for another tool with the same protocol."""


class Found(NamedTuple):
    """A value and where it was found; the lower the rank, the stronger the source."""

    value: Any
    where: str
    rank: int


class Sources:
    """All sources of settings for one store."""

    def __init__(
        self,
        flags: Mapping[str, Any],
        place: StorePlace,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._flags = {name: value for name, value in flags.items() if value is not None}
        self._environ = os.environ if environ is None else environ
        self._place = place
        self.user_file = user_file(environ)
        self._files = list(self._read_files())

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

    def _read_files(self) -> Iterator[tuple[dict[str, Any], str]]:
        own = _from_file(self.user_file) if self.user_file else {}
        stores = own.get("stores")
        for name in self._place.names:
            for_this = stores.get(str(name)) if isinstance(stores, dict) else None
            if isinstance(for_this, dict):
                yield for_this, f'{self.user_file} [stores."{name}"]'
        path = self._place.folder / "config.toml"
        stored = _from_file(path)
        self._refuse_others(stored, path, HARMLESS, "what is in a store's folder may set only some")
        yield stored, str(path)
        yield from self._in_the_work_tree()
        yield own, str(self.user_file)

    def _in_the_work_tree(self) -> Iterator[tuple[dict[str, Any], str]]:
        """The limits that the repository asks for; as text of others it is read with care."""
        path = self._place.limits_file
        if path.parent in (self._place.folder, self._place.old) or path.parent.is_symlink():
            return
        try:
            found = _parsed(read_private(path, others=True), path)
        except OSError:  # there is none, or it is no plain file
            return
        self._refuse_others(
            found, path, LIMITS | {"workspace"}, "this file is inside the repository"
        )
        project = self._place.project
        bound = (project.workspace, *project.workspaces) if project else ()
        named = found.get("workspace", self._place.workspace)
        if named not in (self._place.workspace, *bound):
            raise InvalidInput(
                f"{path}: workspace {str(named)!r} is not bound to this project: a repository "
                "cannot choose whose workspace it joins",
                recovery=f"if you mean it, bind it with `longhouse project bind {named!s}`, "
                f"or remove the line from {path}",
            )
        yield found, str(path)

    def _refuse_others(
        self, found: Mapping[str, Any], path: Path, allowed: frozenset[str], why: str
    ) -> None:
        runner = found.get("runner", {})
        if not isinstance(runner, dict):
            raise InvalidInput(f"{path}: runner is not a table", recovery=f"fix {path}")
        wrong = [name for name in found if name not in allowed and name != "runner"]
        wrong += [f"runner.{name}" for name in runner if name not in HARMLESS_FOR_RUNNERS]
        if wrong:
            names = ", ".join(repr(name)[1:-1] for name in wrong)
            mine = self.user_file or "~/.config/longhouse/config.toml"
            raise InvalidInput(
                f"{path}: may not set {names}: {why}",
                recovery=f'if the setting is yours, put it under [stores."{self._place.folder}"] '
                f"in {mine}, and remove it from {path}",
            )


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return _parsed(path.read_bytes(), path)
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read: {error.strerror}", recovery=f"check the permissions of {path}"
        ) from None


def _parsed(text: bytes, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: not valid TOML: {error}", recovery=f"fix {path}") from None
