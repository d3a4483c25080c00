"""`longhouse doctor` says when the store's clock and this machine's disagree."""

from __future__ import annotations

import pytest

from longhouse.surfaces.cli.commands.doctor import APART_MS, clocks

HOUR_MS = 3_600_000


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_clocks_that_disagree_are_a_warning_with_a_remedy(engine: str) -> None:
    for ahead_ms, said in (
        (-3 * HOUR_MS, "3 hours behind"),
        (APART_MS, "5 seconds ahead of"),
        (72 * HOUR_MS, "3 days ahead of"),
    ):
        (found,) = clocks(engine, ahead_ms)
        assert (found.state, said in found.text) == ("warn", True)
        assert ("database" in str(found.fix)) == (engine == "postgres")


def test_clocks_that_agree_are_not_mentioned() -> None:
    assert not list(clocks("sqlite", APART_MS - 1))
    assert not list(clocks("postgres", 1 - APART_MS))
