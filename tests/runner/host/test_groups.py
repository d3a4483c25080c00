"""Tasks in real control groups, if this machine can delegate one to a host.

Skipped elsewhere; all other tests cover a host without control groups.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from longhouse.supervisor.groups import ControlGroups
from tests.runner.host.kit import BOMB, Hosted, lives
from tests.runner.processes import environment, until

PLACES = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


def entered(folder: Path) -> Path | None:
    """A delegated group that this process was moved into, if the machine allows it."""
    own = folder / f"longhouse-tests-{os.getpid()}"
    if not (folder / "cgroup.procs").exists():
        return None
    try:
        own.mkdir()
        (own / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return None
    return own


def removed(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()


@pytest.fixture
def delegated() -> Iterator[Path]:
    for place in PLACES:
        own = entered(place)
        if own is None:
            continue
        try:
            if ControlGroups.find() is not None:
                yield own
                return
        finally:
            (place / "cgroup.procs").write_text(str(os.getpid()))
            until(partial(removed, own), "the group is empty")
    pytest.skip("no control group can be delegated here")


@pytest.fixture
def grouped(delegated: Path, host: Hosted) -> Hosted:
    """A host that was started in its own group."""
    assert host.client.ask("list")["groups"] == str(delegated)
    return host


def groups_in(folder: Path) -> list[str]:
    return sorted(path.name.rpartition(".")[2] for path in folder.glob("longhouse.*"))


def test_a_fork_bomb_never_has_more_than_the_kernel_allows_and_is_ended(
    grouped: Hosted, delegated: Path
) -> None:
    task = grouped.spawn("python3", "-c", BOMB, max_processes=2)
    group = Path(grouped.started(task)["group"])
    assert group.parent == delegated
    assert (group / "pids.max").read_text().strip() in ("1024", "0")
    ended = grouped.ended(task)
    assert (ended["cause"], ended["signal"], ended["left"]) == ("max_processes", "KILL", [])
    until(lambda: not group.exists(), "its group is taken away")


def test_a_tree_that_the_kernel_has_refused_one_more_is_ended(grouped: Hosted) -> None:
    threads = (
        "import threading, time\nthreads = [threading.Thread(target=time.sleep, args=[300])"
        " for _ in range(1_100)]\nfor one in threads: one.start()"
    )
    ended = grouped.ended(grouped.spawn("python3", "-c", threads, max_processes=2))
    assert ended["cause"] == "max_processes"


def test_a_process_that_sheds_session_parent_and_environment_is_still_of_its_task(
    grouped: Hosted,
) -> None:
    other = grouped.spawn("sleep", "300")  # so that an orphan could belong to either task
    task = grouped.bash("env -i setsid bash -c 'sleep 300 & echo $!'; exit 3")
    ended = grouped.ended(task)
    pid = int(grouped.log(task))
    assert pid in [
        one["pid"] for one in ended["leftovers"]
    ]  # exec may not have renamed it to sleep yet
    assert not lives(pid)
    assert grouped.records(other)[-1]["kind"] == "started"


def test_a_host_that_takes_a_task_back_takes_its_group_back(
    grouped: Hosted, delegated: Path
) -> None:
    task = grouped.bash("env -i setsid bash -c 'sleep 300 & echo $!'; sleep 300")
    pid = int(grouped.await_output(task, b"\n"))
    grouped.kill()
    (delegated.parent / "cgroup.procs").write_text(str(os.getpid()))  # the next host has no group
    assert grouped.client.ask("list")["groups"] is None
    assert groups_in(delegated) == [task]
    grouped.cancel(task)
    assert grouped.ended(task)["cause"] == "cancelled"
    assert not lives(pid)
    until(lambda: groups_in(delegated) == [], "its group is taken away")


def test_doctor_tells_what_the_running_host_has_and_not_what_it_has_itself(
    grouped: Hosted, delegated: Path, tmp_path: Path
) -> None:
    (delegated.parent / "cgroup.procs").write_text(str(os.getpid()))
    store = grouped.folder.parent.parent
    words = ["--dir", str(store), "--workspace", grouped.folder.name, "doctor"]
    said = subprocess.run(
        [sys.executable, "-m", "longhouse", *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"each background task gets a control group below {delegated}" in said.stdout
