"""Only the holder of the named lock survives the end of the tree that it was started in."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from longhouse.supervisor.child import Child

HOLDER = """
import fcntl, os, sys, time
lock, mode, said = sys.argv[1:]
file = open(lock, "a")
if mode != "open":
    fcntl.flock(file, fcntl.LOCK_EX if mode == "hold" else fcntl.LOCK_SH)
open(said + "~", "w").write(str(os.getpid()))
os.rename(said + "~", said)
time.sleep(300)
"""
AGENT = """
import os, subprocess, sys, time
lock, mode, said, own_session = sys.argv[1:]
subprocess.Popen(
    [sys.executable, "-c", os.environ["HOLDER"], lock, mode, said],
    start_new_session=own_session == "yes", stdout=2,
)
while not os.path.exists(said):
    time.sleep(0.01)
"""


def ran(folder: Path, lock: Path, mode: str, own_session: str, spare: Path | None) -> int:
    """Run an agent that leaves a process behind; returns that process's pid."""
    said = folder / "pid"
    child = Child(
        [sys.executable, "-c", AGENT, str(lock), mode, str(said), own_session],
        env={"HOLDER": HOLDER},
        cwd=folder,
        stdin="",
        grace_s=1,
        lease_s=60,
        spare=spare,
    )
    assert child.wait(time.monotonic() + 30).code == 0
    return int(said.read_text())


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_holder_of_the_lock_is_nobodys_child(tmp_path: Path) -> None:
    lock = tmp_path / "server.lock"
    pid = ran(tmp_path, lock, "hold", "yes", spare=lock)
    try:
        assert lives(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("mode, own_session", [("hold", "no"), ("open", "yes"), ("share", "yes")])
def test_nothing_else_is_spared(tmp_path: Path, mode: str, own_session: str) -> None:
    lock = tmp_path / "server.lock"
    assert not lives(ran(tmp_path, lock, mode, own_session, spare=lock))


def test_the_holder_of_another_lock_is_not_spared(tmp_path: Path) -> None:
    (tmp_path / "server.lock").touch()
    held = tmp_path / "other.lock"
    assert not lives(ran(tmp_path, held, "hold", "yes", spare=tmp_path / "server.lock"))
    (tmp_path / "pid").unlink()
    assert not lives(ran(tmp_path, held, "hold", "yes", spare=None))
