"""Callers of a house other than its owner, each with its own token."""

from __future__ import annotations

from typing import Any

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.kit import Lh

__all__ = ["Outsider"]


class Outsider:
    """A caller with one token, which may be stolen."""

    def __init__(self, lh: Lh, owner: str, role: Role = Role.AGENT, **more: Any) -> None:
        self._lh = lh
        self.caller = Caller(role, owner=owner, **more)

    def envelope(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        return self._lh.house.call(cmd, args, self.caller).envelope

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        envelope = self.envelope(cmd, **args)
        assert envelope["success"], envelope["error"]
        result: dict[str, Any] = envelope["result"]
        return result

    def refused(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        envelope = self.envelope(cmd, **args)
        assert not envelope["success"], envelope["result"]
        error: dict[str, Any] = envelope["error"]
        return error
