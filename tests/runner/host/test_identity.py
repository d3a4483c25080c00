"""Whose folder it is: copies get an id of their own, and leave the original's processes alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.runner.host.client import HostClient, HostUnavailable
from longhouse.runner.host.holder import kill_holder
from longhouse.runner.host.identity import forget_host_id, host_id_of
from longhouse.runner.tool_tasks.pulse import HostPulse
from longhouse.runner.tool_tasks.turns import SpeakingTurn
from tests.runner.host.kit import PLAIN, Hosted, lives
from tests.runner.processes import until


def copied(folder: Path, to: Path) -> Path:
    subprocess.run(["cp", "-a", str(folder), str(to)], check=True)
    return to


def test_a_folder_keeps_its_id_when_it_is_moved_and_a_copy_gets_another(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    mine = host_id_of(folder)
    copy = copied(folder, tmp_path / "copy")
    moved = folder.rename(tmp_path / "moved")
    assert host_id_of(moved) == mine
    assert host_id_of(copy) != mine
    assert host_id_of(copy) == host_id_of(copy)


def test_a_copy_opened_after_the_next_boot_gets_another_id_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    mine = host_id_of(folder)
    copy = copied(folder, tmp_path / "copy")
    monkeypatch.setattr("longhouse.runner.host.identity.boot_id", lambda: "another boot")
    assert host_id_of(folder) == mine
    assert host_id_of(copy) != mine


def test_a_forgotten_id_is_never_used_again(tmp_path: Path) -> None:
    mine = host_id_of(tmp_path)
    forget_host_id(tmp_path)
    assert host_id_of(tmp_path) != mine


@pytest.mark.parametrize("mode", ["pipes", "pty"])
def test_the_host_of_a_copy_leaves_the_originals_processes_alone(
    host: Hosted, tmp_path: Path, mode: str
) -> None:
    more = {"mode": mode, "rows": 24, "cols": 80}
    task = host.spawn("sleep", "300", **more)
    pid = host.started(task)["pid"]
    (tmp_path / "elsewhere").mkdir()
    other = Hosted(tmp_path / "elsewhere")
    other.folder.parent.mkdir(parents=True)
    copied(host.folder, other.folder)
    try:
        assert other.client.ask("list")["tasks"] == []
        assert "not running here" in other.cancel(task)["error"]
        again = other.client.ask(  # the same number, for a task of the copy
            "spawn",
            **PLAIN,
            task=task,
            root=str(other.root),
            argv=["true"],
            env={"PATH": os.environ["PATH"]},
        )
        assert again["pid"] != pid
        assert other.ended(task)["code"] == 0
    finally:
        other.close()
    assert lives(pid)


def test_a_number_that_a_restored_server_gives_away_again_is_not_the_program_that_runs(
    host: Hosted,
) -> None:
    task = host.spawn("sleep", "300", made=1)
    old = host.started(task)["pid"]
    assert host.ask("true", task=task, made=1)["pid"] == old
    assert host.ask("true", task=task)["pid"] == old  # from a runner of an older version
    refused = host.ask("echo", "new", task=task, made=2)
    assert (refused["later"], f"an earlier {task}" in refused["error"]) == (True, True)
    until(lambda: not lives(old), "no server could ever end it")
    until(lambda: "error" not in host.ask("echo", "new", task=task, made=2), "then it starts")
    assert (host.ended(task)["code"], host.log(task)) == (0, b"new\n")


def test_a_number_that_a_restored_server_gives_away_again_is_not_the_program_that_ended(
    host: Hosted,
) -> None:
    task = host.bash("echo old; exit 3", made=1)
    assert host.ended(task)["code"] == 3
    assert "again" in host.ask("echo", "new", task=task, made=1)
    assert "again" in host.ask("echo", "new", task=task)  # from a runner of an older version
    assert "again" not in host.ask("echo", "new", task=task, made=2)
    assert (host.ended(task)["code"], host.log(task)) == (0, b"new\n")
    assert "again" in host.ask("echo", "new", task=task, made=2)


def test_what_an_older_version_started_is_still_the_same_task(host: Hosted) -> None:
    runs, over = host.spawn("sleep", "300"), host.spawn("true")
    host.ended(over)
    assert host.ask("true", task=runs, made=2)["pid"] == host.started(runs)["pid"]
    assert "again" in host.ask("true", task=over, made=2)


def test_an_earlier_speaker_can_start_and_control_nothing(host: Hosted) -> None:
    task = host.spawn("sleep", "300")
    assert host.client.ask("fence", revision=3)["tasks"] == [task]
    assert "another runner speaks" in host.ask("true", revision=2)["error"]
    late = {"task": task, "op": "cancel", "op_id": "1", "revision": 2}
    assert "another runner speaks" in host.client.ask("control", **late)["error"]
    assert "another runner speaks" in host.client.ask("fence", revision=2)["error"]
    assert "op" in host.client.ask("control", **{**late, "revision": 3})


def test_a_stopped_host_is_killed_only_after_its_lease_and_its_tasks_are_taken_back(
    host: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.pulse.PROBE_S", 0.05)
    now = [0.0]
    pulse = HostPulse(host.folder, lambda: now[0])
    task = host.spawn("sleep", "300")
    pid = host.pid
    assert (pulse.feel(), pulse.is_felt) == (None, True)
    os.kill(pid, signal.SIGSTOP)
    for now[0] in (10.0, 20.0, 29.9):
        assert (pulse.feel(), pulse.is_felt) == (None, False)
    now[0] = 30.0
    assert pulse.feel() == pid
    until(lambda: not lives(pid), "it is gone")
    host.client.close()
    assert host.client.ask("list")["tasks"] == [task]


def test_a_runner_that_stood_still_itself_kills_nobody(
    host: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long time has passed, but only one probe was missed."""
    monkeypatch.setattr("longhouse.runner.tool_tasks.pulse.PROBE_S", 0.05)
    now = [0.0]
    pulse = HostPulse(host.folder, lambda: now[0])
    pid = host.pid
    os.kill(pid, signal.SIGSTOP)
    now[0] = 3_600.0
    assert pulse.feel() is None
    os.kill(pid, signal.SIGCONT)
    until(lambda: pulse.feel() is None and pulse.is_felt, "it answers")
    assert lives(pid)


def test_nobody_is_killed_for_a_lock_that_somebody_else_wrote(tmp_path: Path) -> None:
    """The file names a living process, but that one does not hold the lock."""
    bystander = subprocess.Popen(["sleep", "300"])
    fields = Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lock = tmp_path / "host.lock"
    lock.write_text(f'{{"pid": {bystander.pid}, "start": {fields[19]}, "boot": "{boot}"}}')
    lock.chmod(0o600)
    try:
        assert kill_holder(tmp_path) is None
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_log_of_a_host_outlives_it_and_is_bounded(
    host: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = host.pid
    host.kill()
    second = host.pid
    log = host.folder / "host.log"
    said = log.read_text()
    assert f"host {first}: serves" in said
    assert f"host {second}: serves" in said
    host.kill()
    with log.open("a") as file:
        file.write("x" * (1 << 20))
    third = host.pid
    assert f"host {first}: serves" in (host.folder / "host.log.1").read_text()
    assert log.read_text().count(": serves") == 1
    assert f"host {third}: serves" in log.read_text()


def test_the_lock_follows_the_speaker(tmp_path: Path) -> None:
    frozen, second, third = (SpeakingTurn(tmp_path) for _ in range(3))
    assert frozen.take()
    assert not second.take()
    second.seize()  # the server no longer hears the first
    assert not third.take()
    frozen.end()  # it thaws, and is refused
    assert not frozen.take()
    second.end()
    assert third.take()
    third.end()
    shutil.rmtree(tmp_path)


HOLDS = """
import fcntl, os, sys, time
from pathlib import Path
from longhouse.runner.host.holder import name_holder
lock = os.open("host.lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
name_holder(lock)
print("held", flush=True)
time.sleep(300)
"""


def test_a_host_that_stands_still_before_it_opens_its_door_is_replaced_too(tmp_path: Path) -> None:
    now = [0.0]
    pulse = HostPulse(tmp_path, lambda: now[0])
    assert pulse.is_felt, "nobody has asked yet"
    assert (pulse.feel(), pulse.is_felt) == (None, True)  # there is none
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], cwd=tmp_path, stdout=subprocess.PIPE
    ) as starting:
        assert starting.stdout
        assert starting.stdout.readline() == b"held\n"
        for now[0] in (10.0, 20.0, 29.9):
            assert (pulse.feel(), pulse.is_felt) == (None, False)
        now[0] = 30.0
        assert pulse.feel() == starting.pid
        assert starting.wait(30) == -signal.SIGKILL


def test_a_host_that_never_says_that_it_is_ready_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.host.client.START_S", 0.1)
    kept: list[int] = []

    def stands_still(*_words: Any, pass_fds: tuple[int, ...], **_more: Any) -> int:
        kept.append(os.dup(pass_fds[0]))
        return 0

    monkeypatch.setattr("longhouse.runner.host.client.start_apart", stands_still)
    try:
        with pytest.raises(HostUnavailable, match="did not start"):
            HostClient(tmp_path).ask("list")
    finally:
        for fd in kept:
            os.close(fd)


def test_a_program_that_never_leaves_a_host_behind_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.host.client.START_S", 0.1)
    sleeps = tmp_path / "sleeps"
    sleeps.write_text("#!/bin/sh\nexec sleep 300\n")
    sleeps.chmod(0o700)
    monkeypatch.setattr("longhouse.runner.host.client.sys", SimpleNamespace(executable=str(sleeps)))
    with pytest.raises(HostUnavailable, match="did not start within"):
        HostClient(tmp_path).ask("list")


def test_leaving_waits_for_no_answer_of_a_stopped_host(host: Hosted) -> None:
    host.client.ask("list")
    pid = host.pid
    line = host.client._line
    assert line
    sent, ask = threading.Event(), line.ask

    def asked(what: dict[str, Any]) -> dict[str, Any]:
        sent.set()
        return ask(what)

    line.ask = asked  # type: ignore[method-assign]
    os.kill(pid, signal.SIGSTOP)
    try:
        asks = threading.Thread(target=host.client.ask, args=("list",), daemon=True)
        asks.start()
        assert sent.wait(30)
        host.client.close()  # else for as long as the host may take to answer
        assert asks.is_alive()
    finally:
        os.kill(pid, signal.SIGCONT)
    asks.join(60)
    assert not asks.is_alive()


def test_a_stopped_process_keeps_nobody_from_reading_the_id(tmp_path: Path) -> None:
    mine = host_id_of(tmp_path)
    at = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(at, fcntl.LOCK_EX)
        assert host_id_of(tmp_path) == mine
    finally:
        os.close(at)


def test_nobody_waits_without_end_for_a_process_that_is_naming_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.host.identity.LOCK_S", 0.1)
    at = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(at, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match="may be stopped"):
            host_id_of(tmp_path)
    finally:
        os.close(at)
    assert host_id_of(tmp_path).startswith("host-")
