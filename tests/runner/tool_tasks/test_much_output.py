"""Output beyond the limits: bounded previews, references, full reads by range, digests."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from longhouse.kernel.tool_tasks import DELTA_BYTES
from tests.runner.tool_tasks.kit import TaskDesk

WHOLE = b"".join(b"line %07d\n" % n for n in range(20_000))
PRINTS = "for ((n = 0; n < 20000; n++)); do printf 'line %07d\\n' $n; done"
INLINE = 20_000


@pytest.fixture
def ended(desk: TaskDesk) -> dict[str, Any]:
    """A task that printed ten times as much as its frames can hold."""
    desk.runner("r1")
    task = desk.bash(PRINTS, args={"max_bytes": INLINE})
    found = desk.ended(task)
    assert found["exit_code"] == 0
    return found


def deltas(desk: TaskDesk, task: str) -> list[dict[str, Any]]:
    return [frame for frame in desk.frames(task) if frame["type"] == "tool_stdout"]


@pytest.mark.proves("TTA-013", "TTA-025")
def test_frames_carry_the_beginning_up_to_the_limit_and_no_more(
    desk: TaskDesk, ended: dict[str, Any]
) -> None:
    told = deltas(desk, ended["task_id"])
    shown = [frame for frame in told if frame["chunk"] is not None]
    preview = "".join(frame["chunk"] for frame in shown).encode()
    assert preview == WHOLE[: len(preview)]
    assert INLINE - DELTA_BYTES < len(preview) <= INLINE
    assert max(len(frame["chunk"].encode()) for frame in shown) <= DELTA_BYTES == 8_192
    assert told[: len(shown)] == shown, "text comes first, references behind it"


@pytest.mark.proves("TTA-027", "TTA-045")
def test_the_rest_is_referred_to_by_artifact_range_size_and_digest(
    desk: TaskDesk, ended: dict[str, Any]
) -> None:
    task = ended["task_id"]
    told = deltas(desk, task)
    references = [frame for frame in told if frame["chunk"] is None]
    assert references
    at = sum(frame["bytes"] for frame in told if frame["chunk"] is not None)
    for frame in references:
        log = frame["artifacts"]["log"]
        assert (log["id"], log["offset_bytes"]) == (f"{task}/stdout", at)
        assert log["bytes"] == frame["bytes"]
        at += log["bytes"]
    assert at == len(WHOLE)
    last = desk.frames(task)[-1]["artifacts"]["logs"]["stdout"]
    assert (last["id"], last["bytes_total"]) == (f"{task}/stdout", len(WHOLE))
    assert last["sha256"] == hashlib.sha256(WHOLE).hexdigest()


@pytest.mark.proves("TTA-013", "TTA-026")
def test_the_whole_is_kept_and_each_reference_leads_to_its_bytes(
    desk: TaskDesk, ended: dict[str, Any]
) -> None:
    task = ended["task_id"]
    for frame in deltas(desk, task):
        log = (frame["artifacts"] or {}).get("log")
        if log is None:
            continue
        name, _, stream = log["id"].partition("/")
        start, stop = log["offset_bytes"], log["offset_bytes"] + min(log["bytes"], 4_096)
        page = desk("tool.output_fetch", task_id=name, stream=stream, offset_bytes=start)
        text = "".join(part["text"] for part in page["parts"]).encode()
        assert text[: stop - start] == WHOLE[start:stop][: len(text)]
    stored = desk("tool.output_store", task_id=task, stream="stdout")
    assert (stored["digest"], stored["bytes"]) == (hashlib.sha256(WHOLE).hexdigest(), len(WHOLE))
    again = desk("tool.output_store", task_id=task, stream="stdout")
    assert (again["ref"], again["created"]) == (stored["ref"], False)


@pytest.mark.proves("TTA-045")
def test_output_within_the_limit_is_told_as_text_and_referred_to_nowhere(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("echo little", args={"max_bytes": INLINE})
    desk.ended(task)
    assert [(frame["chunk"], frame["artifacts"]) for frame in deltas(desk, task)] == [
        ("little\n", None)
    ]
