"""The credential a call is made with: what handlers may know about the caller.

Rules such as "only the agent that created it" compare `owner`, which identifies a token without
being secret. The person at the machine (no token, or the server's own token) is PERSON.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.registry import Role

__all__ = ["PERSON", "Standing"]

PERSON = "operator"
"""The owner of everything the person at the machine does, whichever program they use."""


class Standing(NamedTuple):
    """The credential of one call.

    `who` has its own focus and checkout: an agent identity, or else a connection. If it is None the
    caller shares those of the workspace. `named` is true if `who` is an identity. `connection` is
    the caller's connection, `agent` the identity that it proved to be, here or earlier on that
    connection; a name that was only said is neither. `workspaces`
    limits what the call may see; None means all. `runner` is true if the person made the token for
    a runner, `client` for a program that the person set up on this machine (`longhouse init`,
    `longhouse mcp`).
    """

    owner: str = PERSON
    role: Role = Role.OPERATOR
    who: str | None = None
    named: bool = False
    connection: str | None = None
    agent: str | None = None
    workspaces: tuple[str, ...] | None = None
    runner: bool = False
    client: bool = False
    payer: str | None = None

    @property
    def pays(self) -> str:
        """The token whose share of the store's threads and commits the call uses."""
        return self.payer or self.token

    @property
    def token(self) -> str:
        """The token's id. An `owner` may be narrower: one connection of that token."""
        return self.owner.partition("/")[0]

    @property
    def identity(self) -> str | None:
        """The token with the identity that it proved; unlike `owner` it outlives a connection.

        Another process with the same token does not have it until it proves the same identity.
        """
        return f"{self.token}/@{self.agent}" if self.agent else None

    def owns(self, owner: str | None, identity: str | None = None) -> bool:
        """Whether the caller is the owner on record, or on another connection the same identity."""
        return owner == self.owner or (identity is not None and identity == self.identity)

    @property
    def hosts(self) -> bool:
        """Whether the caller may host background processes, and so get what is typed into them."""
        return self.runner or self.leads

    @property
    def leads(self) -> bool:
        """Whether the caller may make decisions for others."""
        return self.role >= Role.MANAGER

    @property
    def is_the_persons(self) -> bool:
        """Whether the caller is the person, one of their own clients, or leads."""
        return self.leads or self.client or self.token == PERSON
