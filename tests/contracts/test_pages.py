"""Every read that takes a limit: a page says that more follows if, and only if, more follows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longhouse.kernel.registry import Command
from tests.contracts.conftest import COMMANDS
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args
from tests.kit import Lh

PAGED = [
    command
    for command in COMMANDS
    if not command.writes
    and "limit" in {one.name for one in msgspec.structs.fields(command.request)}
]


@pytest.fixture(scope="module", params=PAGED, ids=lambda command: command.cmd)
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


def rows_and_more(result: dict[str, Any]) -> tuple[int, bool] | None:
    """How many rows a page has, and whether more follow; None if it does not say so."""
    about = result.get("pagination", result)
    if "has_more" not in about:
        return None
    rows = [len(one) for one in result.values() if isinstance(one, list)]
    count = about.get("count")
    return count if count in rows else max(rows, default=0), about["has_more"]


def test_a_page_says_that_more_follows_only_if_more_follows(ready: Lh, command: Command) -> None:
    args = {**example_args(ready, command), "budget_profile": "audit"}
    args.pop("cursor", None)

    def page(limit: int) -> tuple[int, bool] | None:
        answer = call(ready, command, {**args, "limit": limit})
        assert answer.success, answer.envelope["error"]
        return rows_and_more(answer.envelope["result"])

    whole = page(50)
    if whole is None or whole[1] or not whole[0]:
        return
    count, _ = whole
    assert page(count) == (count, False)
    if count > 1:
        assert page(count - 1) == (count - 1, True)
