"""A workspace shows nothing of another: every read, before and after the other one is filled."""

from __future__ import annotations

import msgspec
import pytest

from tests.contracts.conftest import COMMANDS
from tests.contracts.test_matrix import call
from tests.contracts.world import build_world
from tests.kit import Lh

READS = [one for one in COMMANDS if one.needs_workspace and not one.writes]


@pytest.mark.proves("MEM-010")
def test_no_read_shows_what_was_written_in_another_workspace(lh: Lh) -> None:
    def seen() -> dict[str, bytes]:
        elsewhere = {"workspace": "elsewhere"}
        asked = {one.cmd: {**msgspec.to_builtins(one.example), **elsewhere} for one in READS}
        return {one.cmd: call(lh, one, asked[one.cmd]).body() for one in READS}

    before = seen()
    build_world(lh)
    after = seen()
    assert [cmd for cmd in before if before[cmd] != after[cmd]] == []
