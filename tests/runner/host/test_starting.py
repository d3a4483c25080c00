"""How programs are started: quickly, once, with what is theirs, and ended without a scan."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from longhouse.runner.host.identity import host_id_of
from tests.runner.host.kit import Hosted
from tests.runner.processes import until

BEGIN = """
import os, resource, signal, sys, time
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
signal.signal(signal.SIGINT, signal.SIG_IGN)
from longhouse.runner.host import hashing, journal, launching, loop, task, trees
from longhouse.supervisor import guard
folder, host_id, root = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
def records(name):
    return journal.read_journal(folder / name / "journal.jsonl")[0]
def start(name, script):
    asked = dict(task=name, mode="pipes", cap_bytes=0, root=root, argv=["sh", "-c", script])
    return {**asked, "env": dict(PATH=os.environ["PATH"])}
"""


def in_a_host(host: Hosted, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that can do what a host does in this folder."""
    host.folder.mkdir(parents=True, exist_ok=True)
    words = [str(host.folder), host_id_of(host.folder), str(host.root)]
    argv = [sys.executable, "-c", BEGIN + code, *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=host.folder)


def killed_as_it_starts(host: Hosted, script: str) -> None:
    """A host that dies after its program runs and before that is recorded."""
    code = f"""
add = journal.Journal.add
def dies(self, kind, **facts):
    if kind == "started":
        os.kill(os.getpid(), signal.SIGKILL)
    return add(self, kind, **facts)
journal.Journal.add = dies
task.HostedTask.start(folder, host_id, start("PROC-001", {script!r}), hashing.Hasher())
"""
    assert in_a_host(host, code).returncode == -9
    assert [one["kind"] for one in host.records("PROC-001")] == ["starting"]


def test_a_program_whose_host_died_as_it_started_is_taken_back_and_runs_once(host: Hosted) -> None:
    killed_as_it_starts(host, "echo ran; exec sleep 300")
    again = host.ask("sh", "-c", "echo ran; exec sleep 300")
    assert again["task"] == "PROC-001"
    host.cancel("PROC-001")
    assert host.ended("PROC-001")["cause"] == "cancelled"
    assert again["pid"] == host.started("PROC-001")["pid"]
    assert host.log("PROC-001") == b"ran\n"


def test_a_program_that_may_have_run_unseen_is_lost_and_never_run_again(host: Hosted) -> None:
    killed_as_it_starts(host, "echo ran")
    until(lambda: host.log("PROC-001") == b"ran\n", "it ran")
    again = host.ask("sh", "-c", "echo ran")
    ended = host.ended("PROC-001")
    assert (again["again"], ended["cause"]) == (True, "host_lost")
    assert "whether it ran is unknown" in ended["error"]
    assert host.log("PROC-001") == b"ran\n"


@pytest.mark.parametrize("tasks", [1, 9])
def test_a_program_has_its_own_limits_and_signals_however_it_is_started(
    host: Hosted, tasks: int
) -> None:
    """With many tasks the host may open more files than a program, which must not notice."""
    done = in_a_host(
        host,
        f"""
loop.own_processes()
launching.mind_files({tasks})
print(launching.is_quick(bound=False))
asked = start("PROC-001", "ulimit -Sn; grep SigIgn /proc/self/status")
one = task.HostedTask.start(folder, host_id, asked, hashing.Hasher())
one.confirm()
os.waitpid(one.root.pid, 0)
""",
    )
    assert done.stdout == f"{tasks == 1}\n", done.stderr
    files, ignored = host.log("PROC-001").split(b"\n", 1)
    assert files == b"64"
    assert not int(ignored.split()[1], 16) & 1 << 1  # SIGINT


def test_programs_that_leave_nothing_behind_end_without_a_scan(host: Hosted) -> None:
    """Also while an orphan of another task is there, once a scan has told whose it is."""
    done = in_a_host(
        host,
        """
served = loop.Host(folder, loop.own_processes())
loop.LOOK_S, loop.MANY = 1000.0, 10**9
def ends(name):
    return any(one["kind"] == "ended" for one in records(name))
def turns(is_over):
    until = time.monotonic() + 30
    while not is_over() and time.monotonic() < until:
        served.turn(0.01)
served._answer(dict(start("PROC-001", "(sleep 300 & echo $!); exec sleep 300"), do="spawn"))
printed = folder / "PROC-001" / "stdout.log"
turns(lambda: printed.stat().st_size)
orphan = int(printed.read_text())
turns(lambda: guard.process(orphan)[1] == os.getpid())
served._look()
served._look_at = guard.now() + 1000
scans, look = [], served._trees.look
served._trees.look = lambda *args: scans.append(1) or look(*args)
for n in range(2, 9):
    served._answer(dict(start(f"PROC-{n:03}", f"exit {n}"), do="spawn"))
turns(lambda: all(ends(f"PROC-{n:03}") for n in range(2, 9)))
print(len(scans), [records(f"PROC-{n:03}")[-1]["code"] for n in range(2, 9)])
served._answer(dict(start("PROC-009", "sleep 300 & exit 0"), do="spawn"))
turns(lambda: ends("PROC-009"))
print(len(scans) > 0, len(records("PROC-009")[-1]["leftovers"]))
served._answer(dict(do="control", task="PROC-001", op="cancel", op_id="o"))
turns(lambda: ends("PROC-001"))
""",
    )
    assert done.stdout == "0 [2, 3, 4, 5, 6, 7, 8]\nTrue 1\n", done.stderr
    orphan = int(host.log("PROC-001"))
    assert not Path(f"/proc/{orphan}").exists() or "Z" in _state(orphan)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_an_argument_that_no_program_can_have_is_refused(host: Hosted) -> None:
    said = host.ask("sh", "-c", "exit 0\0")
    assert "null byte" in said["error"]
    assert os.fsencode("unstarted") in (host.folder / "PROC-001" / "journal.jsonl").read_bytes()
