"""What happens when a call creates a workspace: the caller is told, and an agent's are counted.

Every workspace costs the store its own upkeep, and quotas are kept for each workspace. So a token
below manager creates only a limited number. Who made a workspace is recorded in it, as a counter.
"""

from __future__ import annotations

from longhouse.kernel.errors import Conflict
from longhouse.store.tx import Refused, Tx

__all__ = ["TooManyWorkspaces", "counted_too", "welcome"]


class TooManyWorkspaces(Conflict):
    """This token has created as many workspaces as one may."""

    code = "TOO_MANY_WORKSPACES"
    fix = "use one of `workspace.list`, or ask a manager to write to the new one first"


def welcome(tx: Tx) -> None:
    """Warn about a workspace that this call creates; refuse it if its token made too many."""
    default = tx.facts.default_workspace
    if default in (None, tx.workspace):
        return
    _count(tx)
    tx.warn(
        "NEW_WORKSPACE",
        f"this call created the workspace {tx.workspace!r}",
        f"if that was a mistake, repeat the call with workspace={default}",
    )


def counted_too(refused: Refused) -> Refused:
    """A refusal whose record creates the workspace: that counts as well."""

    def also(tx: Tx) -> None:
        if tx.workspace != tx.facts.default_workspace:
            _count(tx)
        if refused.also:
            refused.also(tx)

    return Refused(refused.error, refused.events, also)


def _count(tx: Tx) -> None:
    most: int = tx.facts.settings.workspaces_per_token
    if not most or tx.by.leads:
        return
    made_by = f"made by {tx.by.owner.partition('/')[0]}"
    if tx.counted(made_by):
        return  # it is ours, and still empty
    if tx.counting(made_by) >= most:
        raise TooManyWorkspaces(
            f"workspace: this token has created {most} workspaces, which is the limit; "
            f"{tx.workspace!r} would be one more"
        )
    tx.count(made_by)
