"""An attacker who may store wants more disk than the quota gives, or the store for themselves."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.store.artifacts import Artifacts, artifacts_of
from longhouse.store.artifacts.blobs import Blob
from tests.kit import Lh
from tests.processes.test_keeping import asked, begun, sent

PART = "x" * 10_000


def on_disk(lh: Lh) -> int:
    """All bytes that are stored, with or without a row."""
    if lh.house.settings.artifacts is None:
        with psycopg.connect(lh.house.settings.db) as db:
            text = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM longhouse.artifact_chunks"
            row = db.execute(text).fetchone()
            return int(row[0]) if row else 0
    folder: Path = artifacts_of(lh.house).path
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def join(parts: int, **changes: Any) -> dict[str, Any]:
    whole = (PART * parts).encode()
    args = {
        "name": "all",
        "parts": ["ART-001"] * parts,
        "digest": hashlib.sha256(whole).hexdigest(),
        "media_type": "text/plain",
    }
    return {**args, **changes}


def test_a_join_that_is_over_the_quota_writes_no_byte(lh: Lh) -> None:
    lh("docs.artifact.add", name="part", content=PART)
    artifacts_of(lh.house).quota_bytes = 25_000
    before = on_disk(lh)
    for parts in range(2, 60):
        assert lh.refused("docs.artifact.join", **join(parts))["code"] == "QUOTA_EXCEEDED"
    assert on_disk(lh) == before


def test_a_join_of_another_digest_leaves_no_byte(lh: Lh) -> None:
    lh("docs.artifact.add", name="part", content=PART)
    before = on_disk(lh)
    for parts in range(2, 12):
        error = lh.refused("docs.artifact.join", **join(parts, digest="0" * 64))
        assert error["code"] == "CONFLICT"
    assert on_disk(lh) == before


def test_what_is_over_the_quota_is_not_added_and_writes_no_byte(lh: Lh) -> None:
    lh("docs.artifact.add", name="part", content=PART)
    artifacts_of(lh.house).quota_bytes = 15_000
    before = on_disk(lh)
    for n in range(20):
        error = lh.refused("docs.artifact.add", name="more", content=f"{n}{PART}")
        assert error["code"] == "QUOTA_EXCEEDED"
    assert on_disk(lh) == before
    assert not lh("docs.artifact.add", name="part", content=PART)["created"]


def test_bytes_of_another_workspace_cannot_be_had_by_naming_their_digest(lh: Lh) -> None:
    theirs = lh("docs.artifact.add", name="theirs", content="a secret!!", workspace="theirs")
    lh("docs.artifact.add", name="part", content="0123456789")
    digest = theirs["artifact"]["digest"]
    error = lh.refused("docs.artifact.join", **join(1, digest=digest))
    assert error["code"] == "CONFLICT"
    assert lh("docs.artifact.list")["count"] == 1


def test_others_write_while_a_large_join_is_copied(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    lh("docs.artifact.add", name="part", content=PART)
    copying, go = threading.Event(), threading.Event()
    stage = Artifacts.stage

    def slow(self: Artifacts, data: Iterable[bytes], **how: Any) -> Blob:
        copying.set()
        assert go.wait(20)
        return stage(self, data, **how)

    monkeypatch.setattr(Artifacts, "stage", slow)
    joined: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: joined.append(lh("docs.artifact.join", **join(3))))
    thread.start()
    assert copying.wait(20)
    wrote = threading.Event()

    def write() -> None:
        lh("vcs.notes.commit", content="meanwhile")
        wrote.set()

    other = threading.Thread(target=write)
    other.start()
    in_time = wrote.wait(5)
    go.set()
    for each in (thread, other):
        each.join(20)
    assert in_time
    assert joined[0]["artifact"]["size"] == 3 * len(PART)


def test_the_output_of_a_task_elsewhere_is_not_kept_beyond_the_quota(lh: Lh) -> None:
    runner, task_id = begun(lh)
    artifacts_of(lh.house).quota_bytes = 25_000
    sent(runner, task_id, 0, PART.encode())
    sent(runner, task_id, 10_000, PART.encode())
    before = on_disk(lh)
    for _ in range(3):
        error = lh.refused("tool.output_append", **asked(runner, task_id, 20_000, PART.encode()))
        assert error["code"] == "QUOTA_EXCEEDED"
    assert on_disk(lh) == before
    assert sent(runner, task_id, 20_000, b"x" * 5_000)["next_offset"] == 25_000
    assert sent(runner, task_id, 25_000, eof=True)["bytes_stored"] == 25_000


def test_many_tasks_elsewhere_have_one_quota_together(lh: Lh) -> None:
    runner, first = begun(lh)
    second = runner.start()
    sent(runner, second, 0)
    artifacts_of(lh.house).quota_bytes = 15_000
    sent(runner, first, 0, PART.encode())
    error = lh.refused("tool.output_append", **asked(runner, second, 0, PART.encode()))
    assert error["code"] == "QUOTA_EXCEEDED"
    sent(runner, second, 0, b"x" * 5_000)


def test_what_the_cap_of_a_log_takes_out_does_not_count(lh: Lh) -> None:
    runner, task_id = begun(lh, args={"artifact_max_bytes": 4_096})
    artifacts_of(lh.house).quota_bytes = 5_000
    for at in range(0, 300_000, 10_000):
        sent(runner, task_id, at, PART.encode())
    assert sent(runner, task_id, 300_000, eof=True)["bytes_stored"] == 4_096
