"""What an answer offers by itself, and what its context names."""

from __future__ import annotations

import pytest

from longhouse.dispatch.offers import PROGRAMS, follow_up
from longhouse.house import registry
from tests.kit import Lh


@pytest.mark.parametrize("cmd", sorted(PROGRAMS & registry().commands.keys()))
def test_a_command_of_programs_offers_nothing_by_itself(cmd: str) -> None:
    assert follow_up(registry(), registry().commands[cmd]) == []


@pytest.mark.parametrize(
    "cmd, after",
    [
        ("jobs.create", "jobs.radar"),
        ("think.card", "think.watch"),
        ("vcs.notes.commit", "tasks.execute.next"),
    ],
)
def test_any_other_write_offers_a_look_at_what_follows(cmd: str, after: str) -> None:
    (offer,) = follow_up(registry(), registry().commands[cmd])
    assert registry().of(offer.request).cmd == after
    assert ("next" in offer.why) is (after == "tasks.execute.next")


def test_only_a_command_of_a_workspace_names_it(lh: Lh) -> None:
    assert lh.envelope("jobs.list")["context"]["workspace"] == "acme"
    assert "workspace" not in lh.envelope("system.cmd.list")["context"]
