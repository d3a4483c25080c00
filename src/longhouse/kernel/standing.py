"""Under which credential a call is made: what handlers may know about who is asking.

Where a rule says "only the one that did this before", it compares `owner`. It names a token without
being a secret. The person at the machine (no token, or the server's own one) is PERSON.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.registry import Role

__all__ = ["PERSON", "Standing"]

PERSON = "operator"
"""The owner of what the person at the machine does, whatever program they use for it."""


class Standing(NamedTuple):
    """The credential of one call.

    `who` has a focus and a checkout of its own: an agent's identity, else a connection; None means
    that the caller shares those of the workspace. `named` when it is an identity. `workspaces`
    limits what the call may see; None means all.
    """

    owner: str = PERSON
    role: Role = Role.OPERATOR
    who: str | None = None
    named: bool = False
    workspaces: tuple[str, ...] | None = None

    @property
    def leads(self) -> bool:
        """Whether the caller may decide for others."""
        return self.role >= Role.MANAGER
