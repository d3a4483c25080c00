"""The output of ended tasks is removed by age and size; the record of it stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Self

import pytest

from longhouse.processes import retention
from longhouse.processes.facts import ProcessFacts
from longhouse.store.artifacts.sweep import expire
from tests.kit import Lh
from tests.processes.kit import Runner, ended
from tests.processes.test_keeping import begun, sent
from tests.processes.test_output import folder, text

DAY_MS = 24 * 3_600_000


def limits(lh: Lh, **facts: Any) -> None:
    lh.house.facts.put(lh.house.facts.of(ProcessFacts)._replace(**facts))


def tidy(lh: Lh) -> None:
    retention.remove_old_output(lh.house.db, lh.house._call())


def sweep(lh: Lh) -> None:
    """A round of retention, and then of the artifacts."""
    tidy(lh)
    lh.house.db.write("acme", lambda tx: expire(tx, lh.house.registry.holders), lh.house._call())


def printed(lh: Lh, data: bytes, *, over: bool = True) -> str:
    """A task that printed this and ended now, as its host left it on disk."""
    runner = Runner(lh)
    runner.hold()
    task_id = runner.start()
    (folder(lh, task_id) / "stdout.log").write_bytes(data)
    (folder(lh, task_id) / "journal.jsonl").write_text("{}")
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": len(data)})
    if over:
        sha256 = hashlib.sha256(data).hexdigest()
        seal = {"bytes_total": len(data), "bytes_stored": len(data), "sha256": sha256}
        seal["stored_sha256"] = sha256
        now = lh.clock.now_ms()
        runner.append(task_id, ended(logs={"stdout": seal}, ended_at_ms=now))
    return task_id


def there(lh: Lh) -> list[str]:
    tasks = Path(folder(lh, "PROC-001")).parent
    return sorted(one.name for one in tasks.iterdir() if any(one.iterdir()))


def log_of(lh: Lh, task_id: str) -> dict[str, Any]:
    logs = lh("tool.task_status", task_id=task_id)["task"]["artifacts"]["logs"]
    log: dict[str, Any] = logs["stdout"]
    return log


def test_output_of_a_host_elsewhere_goes_by_the_same_limits(lh: Lh) -> None:
    limits(lh, keep_days=2)
    runner, task_id = begun(lh)
    sent(runner, task_id, 0, b"far away\n")
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": 9})
    lh.clock.advance(3 * DAY_MS)
    sweep(lh)  # it is running: nothing is removed
    digest = sent(runner, task_id, 9, eof=True)["artifact"]
    sweep(lh)
    seal = {"bytes_total": 9, "bytes_stored": 9, "artifact": digest, "sha256": digest}
    now = lh.clock.now_ms()
    runner.append(task_id, ended(logs={"stdout": seal}, ended_at_ms=now))
    lh.clock.advance(2 * DAY_MS)
    sweep(lh)
    assert text(lh("tool.output_fetch", task_id=task_id)) == "far away\n"
    lh.clock.advance(1)
    sweep(lh)
    refused = lh.refused("tool.output_fetch", task_id=task_id)
    assert (refused["code"], digest in refused["message"]) == ("OUTPUT_REMOVED", True)
    assert lh("docs.artifact.list")["artifacts"] == []


def test_output_that_no_runner_ever_sealed_goes_as_well(lh: Lh) -> None:
    limits(lh, keep_days=2)
    runner, task_id = begun(lh, args={"artifact_max_bytes": 8_192})
    sent(runner, task_id, 0, b"x" * 20_000)
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": 20_000})
    runner.append(task_id, ended(cause="host_lost", ended_at_ms=lh.clock.now_ms()))
    assert text(lh("tool.output_fetch", task_id=task_id, tail_lines=1)).endswith("x")
    lh.clock.advance(2 * DAY_MS + 1)
    sweep(lh)
    assert lh.refused("tool.output_fetch", task_id=task_id)["code"] == "OUTPUT_REMOVED"
    assert lh("docs.artifact.list")["artifacts"] == []


def test_output_that_no_runner_ever_sealed_counts_towards_what_may_be_kept(lh: Lh) -> None:
    limits(lh, quota_mb=1)
    runner, task_id = begun(lh)
    for at in (0, 600_000):
        sent(runner, task_id, at, b"x" * 600_000)
    runner.append(task_id, {"type": "tool_stdout", "offset_bytes": 0, "bytes": 1_200_000})
    runner.append(task_id, ended(cause="host_lost", ended_at_ms=lh.clock.now_ms()))
    sweep(lh)
    assert lh.refused("tool.output_fetch", task_id=task_id)["code"] == "OUTPUT_REMOVED"


def test_output_goes_when_it_is_older_than_may_be_kept_and_not_a_moment_before(lh: Lh) -> None:
    limits(lh, keep_days=2)
    old = printed(lh, b"old\n")
    lh.clock.advance(DAY_MS)
    young = printed(lh, b"young\n")
    running = printed(lh, b"still\n", over=False)
    lh.clock.advance(DAY_MS)
    tidy(lh)
    assert there(lh) == [old, young, running]
    lh.clock.advance(1)
    tidy(lh)
    assert there(lh) == [young, running]
    assert text(lh("tool.output_fetch", task_id=young)) == "young\n"


def test_reading_what_was_removed_says_when_why_and_what_its_digest_was(lh: Lh) -> None:
    limits(lh, keep_days=1)
    task_id = printed(lh, b"precious\n")
    lh.clock.advance(DAY_MS + 1)
    tidy(lh)
    digest = hashlib.sha256(b"precious\n").hexdigest()
    for cmd in ("tool.output_fetch", "tool.output_raw", "tool.output_store"):
        error = lh.refused(cmd, task_id=task_id)
        assert error["code"] == "OUTPUT_REMOVED"
        assert "processes_keep_days=1" in error["message"]
        assert digest in error["message"]
    log = log_of(lh, task_id)
    assert (log["sha256"], log["removed_at_ms"]) == (digest, lh.clock.now_ms())
    assert "precious" not in str(lh("open", id=task_id))
    assert lh("tool.task_stream_events", task_id=task_id)["frames"][-1]["status"] == "exited"


def test_above_the_quota_the_oldest_output_goes_first_and_what_runs_never(lh: Lh) -> None:
    limits(lh, quota_mb=3)
    running = printed(lh, os.urandom(1 << 20), over=False)
    tasks = []
    for _ in range(3):
        lh.clock.advance(1_000)
        tasks.append(printed(lh, os.urandom(1 << 20)))
    tidy(lh)
    assert there(lh) == [running, *tasks[2:]]
    assert "processes_quota_mb=3" in lh.refused("tool.output_fetch", task_id=tasks[0])["message"]
    tidy(lh)
    assert there(lh) == [running, *tasks[2:]]


class Seen(list[Any]):
    """The entries of a folder as they were."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass


def test_a_file_or_folder_that_goes_during_the_look_does_not_end_it(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a host replaces a saved screen, or another server removes output."""
    limits(lh, quota_mb=2)
    tasks = []
    for _ in range(3):
        lh.clock.advance(1_000)
        tasks.append(printed(lh, os.urandom(1 << 20)))
    scan = os.scandir

    def racing(path: Any) -> Any:
        if path == str(folder(lh, tasks[1])):
            raise FileNotFoundError
        if path != str(folder(lh, tasks[0])):
            return scan(path)
        seen = Seen(scan(path))
        (Path(path) / "journal.jsonl").unlink()
        return seen

    monkeypatch.setattr(os, "scandir", racing)
    tidy(lh)
    monkeypatch.undo()
    assert there(lh) == tasks[1:]


def test_without_limits_nothing_goes(lh: Lh) -> None:
    limits(lh, keep_days=0, quota_mb=0)
    task_id = printed(lh, b"kept\n")
    lh.clock.advance(10_000 * DAY_MS)
    tidy(lh)
    assert there(lh) == [task_id]


@pytest.mark.parametrize("way", ["evidence", "job"])
def test_output_that_evidence_cites_is_kept(lh: Lh, way: str) -> None:
    limits(lh, keep_days=1, quota_mb=1)
    cited, other = printed(lh, b"x" * (1 << 20)), printed(lh, b"y" * (1 << 20))
    if way == "evidence":
        lh("tasks.macro.start", task_title="Prove it", plan_title="P", steps=["One"])
        lh("tasks.evidence.capture", task="TASK-001", checks=[f"TOOL: {cited}"])
    else:
        lh("jobs.create", title="Ship", prompt="ship it")
        lh("jobs.claim", job="JOB-001", runner_id="r")
        fence = {"job": "JOB-001", "runner_id": "r", "claim_revision": 1}
        lh("jobs.complete", status="DONE", summary="done", refs=[cited], **fence)
    lh.clock.advance(DAY_MS + 1)
    tidy(lh)
    assert there(lh) == [cited]
    assert lh.refused("tool.output_fetch", task_id=other)["code"] == "OUTPUT_REMOVED"


def test_what_somebody_stored_as_an_artifact_is_read_from_there(lh: Lh) -> None:
    limits(lh, keep_days=1)
    task_id = printed(lh, b"stored\n")
    lh("tool.output_store", task_id=task_id, stream="stdout")
    lh.clock.advance(DAY_MS + 1)
    tidy(lh)
    assert there(lh) == []
    assert text(lh("tool.output_fetch", task_id=task_id)) == "stored\n"


def test_a_removal_that_was_recorded_and_not_finished_is_finished_next_time(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits(lh, keep_days=1)
    task_id = printed(lh, b"old\n")
    lh.clock.advance(DAY_MS + 1)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_args, **_more: None)
        tidy(lh)
    assert there(lh) == [task_id]
    at = log_of(lh, task_id)["removed_at_ms"]
    lh.clock.advance(DAY_MS)
    tidy(lh)
    assert there(lh) == []
    assert log_of(lh, task_id)["removed_at_ms"] == at
