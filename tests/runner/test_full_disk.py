"""A full disk anywhere: the job ends in the right state, and an event says why."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from longhouse.runner import plane
from longhouse.runner.loop import Runner
from tests.runner.kit import Rig, own_signals
from tests.runner.processes import Desk, desk
from tests.runner.test_worktrees import repo

__all__ = ["desk", "repo"]

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
SAID = "No space left on device"


def full(*_args: Any, **_more: Any) -> Any:
    raise FULL


def test_an_agent_that_fills_the_disk_fails_its_slice_in_its_own_words(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run("open('/dev/full', 'w').write('x' * 100_000)", f"done({ref!r})")
    assert rig.status(job) == "DONE"
    (error,) = rig.messages(job, "error")
    assert SAID in error


def test_an_agent_that_fills_the_disk_in_every_slice_fails_the_job(rig: Rig) -> None:
    job = rig.run("open('/dev/full', 'w').write('x' * 100_000)")
    assert rig.status(job) == "FAILED"
    assert SAID in rig.view(job)["job"]["summary"]


@pytest.mark.parametrize("what", ["TemporaryDirectory", "TemporaryFile"])
def test_a_job_that_has_no_room_here_is_given_back_with_the_reason(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(tempfile, what, full)
    job = rig.run("done('notes@1')")
    assert rig.status(job) == "QUEUED"
    (said,) = rig.messages(job, "released")
    assert said.startswith("r1 cannot run it: ")
    assert SAID in said
    assert rig.told("job.defect") == []
    assert rig.told("job.declined") == []


def test_a_runner_without_room_rests_and_takes_the_job_again_when_there_is_some(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.SHORT_S", (0.01, 0.02))
    ref = rig.note()
    job = rig.job(f"done({ref!r})")
    tries = 0
    real = tempfile.TemporaryDirectory

    def tight(*args: Any, **more: Any) -> Any:
        nonlocal tries
        tries += 1
        return real(*args, **more) if tries > 3 else full()

    def tell(event: str, **facts: Any) -> None:
        rig.tell(event, **facts)
        if event == "job.ended":
            runner.leave("the test is over")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", tight)
    runner = Runner(rig.context._replace(log=tell))  # type: ignore[arg-type]
    with own_signals():
        assert runner.run() == 0
    assert rig.status(job) == "DONE"
    assert [facts["seconds"] for facts in rig.told("runner.rests")] == [0.01, 0.02, 0.02]
    assert len(rig.messages(job, "released")) == 3


def test_a_prompt_that_cannot_be_written_gives_the_job_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tempfile.TemporaryFile
    monkeypatch.setattr(  # the transcript's file is unbuffered, the prompt's is buffered
        tempfile,
        "TemporaryFile",
        lambda *args, **more: real(*args, **more) if "buffering" in more else full(),
    )
    job = rig.run("done('notes@1')")
    assert rig.status(job) == "QUEUED"
    assert SAID in rig.messages(job, "released")[0]


def test_a_transcript_that_finds_no_room_on_the_server_is_told_and_holds_up_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plane, "LONGEST_PAUSE_S", 0.0)
    monkeypatch.setattr("longhouse.store.artifacts.folder.write_all", full)
    ref = rig.note()
    job = rig.run(f"done({ref!r})")
    assert rig.status(job) == "DONE"
    (said,) = [m for m in rig.messages(job, "progress") if "slice 1 ended" in m]
    assert "the disk is full; an artifact was not stored" in said
    assert rig("docs.artifact.list")["count"] == 0


def test_a_worktree_that_finds_no_room_gives_the_job_back_and_leaves_no_half_of_one(
    repo: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        job = repo.run("done('notes@1')")
    assert repo.status(job) == "QUEUED"
    assert SAID in repo.messages(job, "released")[0]
    assert not (repo.context.home / "worktrees" / "acme" / job).exists()


def test_a_runner_under_a_file_size_limit_keeps_what_fits_and_says_what_does_not(
    desk: Desk,
) -> None:
    """A real kernel limit, for the agent's files and for the runner's own."""
    ref = desk.note()
    writes = desk.job("open(STATE / 'big', 'wb').write(b'x' * 3_000_000)", f"done({ref!r})")
    prints = desk.job(f"[print('x' * 1000) for _ in range(3000)]; done({ref!r})")
    runner = desk.runner("r1", limit_kb=1_000)
    for job in (writes, prints):
        desk.await_status(job, "DONE")
    (error,) = [e for e in desk("jobs.tail", job=writes)["events"] if e["kind"] == "error"]
    assert "File too large" in error["message"]
    said = [e["message"] for e in desk("jobs.tail", job=prints)["events"]]
    assert any("bytes of the transcript are left out: File too large" in one for one in said)
    (kept,) = desk("docs.artifact.list", owner=prints)["artifacts"]
    assert 700_000 < kept["size"] < 1_000_000
    assert runner.stop() == 0
