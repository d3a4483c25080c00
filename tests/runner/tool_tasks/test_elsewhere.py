"""A runner whose folder servers cannot read: its tasks' output is sent as it grows."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.processes import RunnerProcess, join, until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.surfaces.serving import Served

Start = Callable[[str], RunnerProcess]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The folder of another machine."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


@pytest.fixture
def start(desk: TaskDesk, there: Path) -> Iterator[Start]:
    runners: list[RunnerProcess] = []

    def one(name: str) -> RunnerProcess:
        token = desk.base / ".longhouse" / "token"
        flags: dict[str, Any] = {"policy": "full-auto", "root": there, "token_file": token}
        if not runners:
            join(desk, there, **flags)
        runners.append(RunnerProcess(there, name, url=desk.served.url, **flags))
        return runners[-1]

    yield one
    desk.folder = there / ".longhouse" / "tasks" / "acme"
    for runner in runners:
        runner.kill()
    if (desk.folder / "host.sock").exists():
        os.kill(desk.host_pid, signal.SIGTERM)
        until(lambda: not (desk.folder / "host.sock").exists(), "the host has left")


def text_of(desk: TaskDesk, task: str, **how: Any) -> str:
    page = desk("tool.output_fetch", task_id=task, **how)
    return "".join(part["text"] for part in page["parts"])


@pytest.mark.parametrize("cap", [1 << 20, 65_536])
def test_the_output_of_a_runner_elsewhere_can_be_read_when_its_task_has_ended(
    desk: TaskDesk, there: Path, start: Start, cap: int
) -> None:
    start("far")
    task = desk.bash("seq 1 40000", args={"artifact_max_bytes": cap, "max_bytes": 1_000})
    seal = desk.ended(task)["artifacts"]["logs"]["stdout"]
    whole = b"".join(b"%d\n" % n for n in range(1, 40_001))
    assert (seal["bytes_total"], seal["error"]) == (len(whole), None)
    assert seal["sha256"] == hashlib.sha256(whole).hexdigest()
    gap = seal["gap"] or {"from": len(whole), "to": len(whole)}
    kept = whole[: gap["from"]] + whole[gap["to"] :]
    assert (seal["bytes_stored"], len(kept)) == (len(kept), min(cap, len(whole)))
    assert seal["artifact"] == seal["stored_sha256"] == hashlib.sha256(kept).hexdigest()
    assert not desk.log(task)
    page = desk("tool.output_fetch", task_id=task, offset_bytes=len(whole) - 12)
    assert "".join(part["text"] for part in page["parts"]) == "39999\n40000\n"
    assert page["capped"] is (cap < len(whole))
    folder = there / ".longhouse" / "tasks" / "acme" / task
    until(lambda: not folder.exists(), "what the server has is kept nowhere else")


def test_the_output_of_a_runner_elsewhere_can_be_read_while_its_task_runs(
    desk: TaskDesk, there: Path, start: Start
) -> None:
    start("far")
    task = desk.bash(
        "seq 1 3000; until [ -e stop ]; do sleep 0.02; done; echo the end",
        args={"max_bytes": 1_000},
    )
    waited = desk("tool.task_wait", task_id=task, until="line", pattern="3000", timeout_ms=20_000)
    assert (waited["reached"], waited["line"]) == (True, "3000")
    whole = b"".join(b"%d\n" % n for n in range(1, 3_001))
    assert text_of(desk, task, offset_bytes=0, max_bytes=8) == "1\n2\n3\n4\n"
    assert text_of(desk, task, tail_lines=2) == "2999\n3000\n"
    assert text_of(desk, task, line=1_500, max_lines=2) == "1500\n1501\n"
    raw = desk.served.http.get(f"/tasks/{task}/output/raw", headers={"range": "bytes=-10"})
    assert (raw.status_code, raw.content) == (206, whole[-10:])
    assert desk("tool.task_status", task_id=task)["task"]["status"] == "running"
    (there / "stop").touch()
    assert desk.ended(task)["artifacts"]["logs"]["stdout"]["error"] is None
    assert text_of(desk, task, tail_lines=1) == "the end\n"


def test_when_a_runner_elsewhere_is_killed_the_next_one_sends_the_rest(
    desk: TaskDesk, there: Path, start: Start
) -> None:
    first = start("far")
    count = "n=0; until [ -e stop ]; do echo line $((n++)); sleep 0.01; done; echo the end"
    task = desk.bash(count, args={"max_bytes": 1_000})
    until(lambda: "line 5\n" in text_of(desk, task, tail_lines=100), "some of it has come")
    first.kill()
    start("near")
    log = there / ".longhouse" / "tasks" / "acme" / task / "stdout.log"
    here = log.read_bytes()
    until(
        lambda: here[-20:].decode() in text_of(desk, task, offset_bytes=max(0, len(here) - 60)),
        "what was printed meanwhile has come",
    )
    (there / "stop").touch()
    seal = desk.ended(task)["artifacts"]["logs"]["stdout"]
    assert (seal["error"], seal["artifact"]) == (None, seal["sha256"])
    assert text_of(desk, task, tail_lines=1) == "the end\n"


def test_what_the_cap_took_before_it_was_sent_is_a_gap_and_nothing_else(
    desk: TaskDesk, there: Path, start: Start
) -> None:
    first = start("far")
    task = desk.bash(
        "seq 1 1000; until [ -e go ]; do sleep 0.02; done; seq -f %099g 1001 150000;"
        " until [ -e stop ]; do sleep 0.02; done",
        args={"artifact_max_bytes": 65_536, "max_bytes": 1_000},
    )
    until(lambda: text_of(desk, task, tail_lines=1) == "1000\n", "the beginning has come")
    first.kill()  # while no runner sends, the host enforces the cap
    (there / "go").touch()
    folder = there / ".longhouse" / "tasks" / "acme" / task
    until(lambda: (folder / "stdout.log").stat().st_size > 14_000_000, "all is printed")
    until((folder / "stdout.gap").exists, "the cap was kept")
    start("near")
    until(lambda: text_of(desk, task, tail_lines=1) == f"{150_000:099}\n", "the end has come")
    (there / "stop").touch()
    seal = desk.ended(task)["artifacts"]["logs"]["stdout"]
    lines = [b"%d\n" % n for n in range(1, 1_001)]
    lines += [b"%099d\n" % n for n in range(1_001, 150_001)]
    whole = b"".join(lines)
    gap = seal["gap"]
    kept = whole[: gap["from"]] + whole[gap["to"] :]
    assert (seal["bytes_total"], seal["bytes_stored"]) == (len(whole), len(kept))
    assert seal["artifact"] == hashlib.sha256(kept).hexdigest()
    assert seal["sha256"] == hashlib.sha256(whole).hexdigest()


def test_output_that_the_store_has_no_room_for_is_told_of_and_stays_until_it_is_old(
    desk: TaskDesk, there: Path, start: Start
) -> None:
    desk.served.stop()
    desk.served = Served(desk.base, policy="full-auto", artifact_quota_mb=1)
    desk("docs.artifact.add", name="large", content_b64=base64.b64encode(bytes(1_000_000)).decode())
    desk("docs.artifact.add", name="rest", content_b64=base64.b64encode(bytes(48_576)).decode())
    far = start("far")
    task = desk.bash("echo one; echo two")
    seal = desk.ended(task)["artifacts"]["logs"]["stdout"]
    assert (seal.get("artifact"), seal["error"][:17]) == (None, "it was not stored")
    assert desk.text(task) == "one\ntwo\n"
    folder = there / ".longhouse" / "tasks" / "acme" / task
    assert (folder / "stdout.log").read_bytes() == b"one\ntwo\n"
    journal = folder / "journal.jsonl"
    *lines, last = journal.read_text().splitlines()
    long_ago = {**json.loads(last), "ts": 1_000}
    journal.write_text("\n".join([*lines, json.dumps(long_ago)]) + "\n")
    far.kill()
    start("near")
    until(lambda: not folder.exists(), "what is too old goes")


def test_of_several_hosts_on_one_database_each_reads_what_runs_on_another(
    tmp_path: Path, fresh_postgres_url: str
) -> None:
    shared = {"db": fresh_postgres_url, "artifacts": str(tmp_path / "shared")}
    desks = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        desks.append(TaskDesk(tmp_path / name, **shared))
    one, two = desks
    try:
        one.runner("r1", db=fresh_postgres_url)
        task = one.bash("echo here; until [ -e stop ]; do sleep 0.02; done; echo the end")
        two("workspace.bind")
        waited = two("tool.task_wait", task_id=task, until="line", pattern="here")
        assert waited["reached"]
        assert text_of(two, task) == text_of(one, task) == "here\n"
        (one.base / "stop").touch()
        assert two.ended(task)["exit_code"] == 0
        assert text_of(two, task) == text_of(one, task) == "here\nthe end\n"
    finally:
        for desk in desks:
            desk.close()
