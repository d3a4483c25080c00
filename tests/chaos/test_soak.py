"""The soak, for a few acts: what was acknowledged is there, once, whatever was killed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.soak import checker
from tests.chaos.soak.client import DESK, Client
from tests.chaos.soak.journal import Journal
from tests.chaos.soak.world import World

CLIENTS, ACTS, HITS = 3, 8, 6


@pytest.mark.timeout(900)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_nothing_is_lost_doubled_or_left_however_everything_dies(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    db = request.getfixturevalue("postgres_url") if database == "postgres" else None
    world = World(tmp_path, db, 7, CLIENTS, ACTS)
    try:
        while world.hits.total() < HITS:
            world.disturb(0.1, 0.5)
        world.finish()
        world.drain()
        found = checker.ask(world)
    finally:
        world.stop()
    assert found + checker.look(world, db) == []
    told = world.calls()
    assert {call.cmd for call in told} >= {"tool.task_spawn", "jobs.create", "vcs.notes.commit"}
    _is_not_blind(world, db)


def test_a_client_that_was_killed_first_ends_the_act_it_was_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a process may wait for what it would have typed, long after everything was told to end.

    And nothing else is begun.
    """
    done: list[str] = []
    acts = [(lambda client, _rng: done.append(client.act), 1)]
    monkeypatch.setattr("tests.chaos.soak.client.ACTS", acts)
    client = Client(tmp_path, "c0")
    client.journal.append(begins=3)
    (tmp_path / "stop").touch()
    client.run(9)
    assert done == ["c0-3"]


def _is_not_blind(world: World, db: str | None) -> None:
    """What is forged into a journal is missed in the store."""
    answers = {
        "vcs.notes.commit": {"ref": "notes@1"},
        "jobs.report": {"event": {"ref": "JOB-001@99999", "kind": "progress"}},
    }
    journal = Journal(world.base / f"{next(iter(world.clients))}.journal")
    for cmd, result in answers.items():
        journal.append(
            key=f"forged {cmd}",
            cmd=cmd,
            workspace=DESK,
            args={"content": "never said"},
            result=result,
            refused=None,
            expects=None,
        )
    found = checker.look(world, db)
    assert len(found) == len(answers), found
    assert all("forged" in one for one in found)
