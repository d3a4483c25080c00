"""What is known about a token is used again, but never after it was revoked or has expired."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.house import House
from longhouse.kernel.errors import Unauthenticated
from longhouse.kernel.registry import Role
from longhouse.store.database import Database
from longhouse.surfaces.http import access
from longhouse.surfaces.http.access import Tokens
from tests.kit import ManualClock


def new_token(house: House, **args: Any) -> tuple[str, str]:
    made = house.call("system.token.create", {"role": "agent", **args}).envelope["result"]
    return f"Bearer {made['token']}", made["id"]


async def is_refused(tokens: Tokens, authorization: str) -> bool:
    try:
        return (await tokens.identify(authorization)).role != Role.AGENT
    except Unauthenticated:
        return True


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reads of the store, which have no workspace if they are about tokens."""
    noted: list[str] = []
    read = Database.read

    def counted(self: Database, workspace: str, *args: Any) -> Any:
        noted.append(workspace)
        return read(self, workspace, *args)

    monkeypatch.setattr(Database, "read", counted)
    return noted


async def test_a_token_is_read_once_while_nobody_else_writes(
    new_house: Callable[..., House], reads: list[str], engine: str
) -> None:
    house = new_house()
    tokens = Tokens(house)
    token, _ = new_token(house)
    reads.clear()
    for _ in range(3):
        house.call("jobs.create", {"title": "Look", "prompt": "Look at it."})
        assert not await is_refused(tokens, token)
    assert len(reads) == (1 if engine == "sqlite" else 3)


@pytest.mark.parametrize("same", [True, False], ids=["own", "another"])
async def test_a_revocation_counts_at_once_whichever_process_made_it(
    new_house: Callable[..., House], same: bool
) -> None:
    house = new_house()
    other = house if same else new_house()
    tokens = Tokens(house)
    token, token_id = new_token(house)
    assert not await is_refused(tokens, token)
    assert other.call("system.token.revoke", {"id": token_id}).success
    assert await is_refused(tokens, token)


async def test_a_revocation_during_the_look_is_not_overlooked(
    new_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = new_house()
    tokens = Tokens(house)
    token, token_id = new_token(house)
    read = Database.read

    def overtaken(self: Database, *args: Any) -> Any:
        found = read(self, *args)
        monkeypatch.undo()
        assert house.call("system.token.revoke", {"id": token_id}).success
        return found

    monkeypatch.setattr(Database, "read", overtaken)
    assert not await is_refused(tokens, token)  # it was valid when it was read
    assert await is_refused(tokens, token)


async def test_a_token_that_has_expired_is_refused_though_it_is_known(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    house = new_house()
    tokens = Tokens(house)
    token, _ = new_token(house, expires_hours=1)
    assert not await is_refused(tokens, token)
    clock.advance(3_600_000)
    assert await is_refused(tokens, token)


async def test_a_token_is_read_again_in_case_a_killed_process_told_nobody(
    new_house: Callable[..., House], reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "TRUSTED_S", -1.0)
    house = new_house()
    tokens = Tokens(house)
    token, _ = new_token(house)
    reads.clear()
    for _ in range(2):
        assert not await is_refused(tokens, token)
    assert len(reads) == 2
