"""Which workspaces callers of a server may use: one rule for every surface and command.

An allowlist, if configured, replaces the lock.
"""

from __future__ import annotations

from typing import Protocol

from longhouse.kernel.errors import WorkspaceLocked, WorkspaceNotAllowed
from longhouse.kernel.refs import check_workspace

__all__ = ["WorkspaceRules", "fallback_workspace", "permit_workspace"]

_SHOWN = 5


class WorkspaceRules(Protocol):
    @property
    def default_workspace(self) -> str | None: ...
    @property
    def workspace_lock(self) -> bool: ...
    @property
    def workspace_allowlist(self) -> tuple[str, ...]: ...


def permit_workspace(
    rules: WorkspaceRules, name: str, token_allows: tuple[str, ...] | None
) -> None:
    """Refuse an invalid name, or one that may not be used here; the error says which may.

    `token_allows` lists the workspaces of the caller's token; None means all.
    """
    check_workspace(name)
    if rules.workspace_allowlist:
        if name not in rules.workspace_allowlist:
            shown = ", ".join(rules.workspace_allowlist[:_SHOWN])
            raise WorkspaceNotAllowed(
                f"workspace: {name!r} is not allowed here; fix: "
                f"workspace={fallback_workspace(rules)}",
                recovery=f"use one of: {shown}",
            )
    elif rules.workspace_lock and name != rules.default_workspace:
        raise WorkspaceLocked(
            f"workspace: this server is locked to {rules.default_workspace!r}, not {name!r}",
            recovery=f"leave workspace out, or pass workspace={rules.default_workspace}",
        )
    if token_allows is not None and name not in token_allows:
        raise WorkspaceNotAllowed(
            f"workspace: this token has no access to {name!r}; fix: workspace={token_allows[0]}",
            recovery=f"use one of: {', '.join(token_allows[:_SHOWN])}",
        )


def fallback_workspace(rules: WorkspaceRules) -> str | None:
    """A workspace that may be used: the default, or else the first on the allowlist."""
    allowed = rules.workspace_allowlist
    if allowed and rules.default_workspace not in allowed:
        return allowed[0]
    return rules.default_workspace
