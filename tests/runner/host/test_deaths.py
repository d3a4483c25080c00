"""A killed host, a full disk, bad requests: no task is lost, and none runs twice."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from errno import EMFILE
from pathlib import Path
from unittest.mock import Mock

import pytest

from longhouse.runner.host.client import HostClient
from longhouse.runner.host.holder import boot_id
from longhouse.runner.host.journal import Journal, read_journal
from tests.runner.host.kit import Hosted, lives
from tests.runner.processes import until

TICKING = "n=0; while :; do echo $((n++)); sleep 0.02; done"


def test_tasks_go_on_when_the_host_is_killed_and_the_next_host_takes_them_back(
    host: Hosted,
) -> None:
    task = host.bash(TICKING)
    host.await_output(task, b"3\n")
    before = host.pid
    host.kill()
    seen = len(host.log(task))
    until(lambda: len(host.log(task)) > seen, "it goes on without a host")

    assert host.client.ask("list")["tasks"] == [task]
    assert host.pid != before
    host.cancel(task)
    ended = host.ended(task)
    assert (ended["code"], ended["signal"], ended["cause"]) == (None, None, "cancelled")
    assert not lives(host.started(task)["pid"])
    lines = host.log(task).split()
    assert lines == [str(n).encode() for n in range(len(lines))]  # no byte is lost
    assert ended["streams"]["stdout"]["bytes"] == len(host.log(task))


def test_a_task_that_ends_while_there_is_no_host_has_no_code_and_a_cause(host: Hosted) -> None:
    gate = host.root / "gate"
    task = host.bash("until [ -e gate ]; do sleep 0.02; done; echo done; exit 7")
    pid = host.started(task)["pid"]
    host.kill()
    gate.touch()
    until(lambda: not lives(pid), "it has ended")
    host.client.ask("list")
    ended = host.ended(task)
    assert (ended["code"], ended["signal"], ended["cause"]) == (None, None, "host_lost")
    assert host.log(task) == b"done\n"


def test_a_task_that_was_taken_back_and_ends_later_has_no_code_either(host: Hosted) -> None:
    gate = host.root / "gate"
    task = host.bash("(setsid sleep 300 & echo $!); until [ -e gate ]; do sleep 0.02; done; exit 7")
    orphan = int(host.await_output(task, b"\n"))
    host.kill()
    host.client.ask("list")
    gate.touch()
    ended = host.ended(task)
    assert (ended["code"], ended["cause"]) == (None, "host_lost")
    assert [one["pid"] for one in ended["leftovers"]] == [orphan]
    assert not lives(orphan)


def test_another_process_with_the_pid_of_a_lost_one_is_left_alone(host: Hosted) -> None:
    """After a reboot, or after enough new processes, a pid belongs to another process."""
    task = host.bash("sleep 300")
    host.kill()
    record = host.started(task)
    os.kill(record["pid"], signal.SIGKILL)
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as other:
        path = host.folder / task / "journal.jsonl"
        path.write_text(json.dumps({**record, "pid": other.pid}) + "\n")
        host.client.ask("list")
        assert host.ended(task)["cause"] == "host_lost"
        assert other.poll() is None
        other.kill()


def test_a_task_of_another_boot_has_ended(host: Hosted) -> None:
    task = host.bash("sleep 300")
    host.kill()
    record = host.started(task)
    os.kill(record["pid"], signal.SIGKILL)
    path = host.folder / task / "journal.jsonl"
    path.write_text(json.dumps({**record, "boot": "another"}) + "\n")
    host.client.ask("list")
    assert host.ended(task)["cause"] == "host_lost"


def test_a_boot_that_cannot_be_read_once_is_not_taken_for_another_boot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a host short of files would give up tasks that are alive, as long as it runs."""
    boot_id.cache_clear()
    with monkeypatch.context() as short:
        short.setattr(Path, "read_text", Mock(side_effect=OSError(EMFILE, os.strerror(EMFILE))))
        with pytest.raises(OSError, match="Too many open files"):
            boot_id()
    assert boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_torn_record_is_cut_off_and_the_next_one_stands_on_a_line_of_its_own(
    host: Hosted,
) -> None:
    task = host.bash(TICKING)
    host.kill()
    with (host.folder / task / "journal.jsonl").open("a") as file:
        file.write('{"kind":"ports","po')
    assert [one["kind"] for one in host.records(task)] == ["starting", "started"]
    host.cancel(task)
    host.ended(task)
    assert [one["kind"] for one in host.records(task)] == ["starting", "started", "op", "ended"]


def test_a_host_killed_before_the_start_was_written_down_has_started_nothing(
    tmp_path: Path,
) -> None:
    """The program waits until its pid is recorded, so a repeated start runs it once."""
    script = f"""
import os, signal
from pathlib import Path
from longhouse.runner.host import hashing, journal, task
def killed(*_args, **_more):
    os.kill(os.getpid(), signal.SIGKILL)
journal.Journal.add = killed
task.HostedTask.start(Path({str(tmp_path)!r}), "host-1", dict(
    task="PROC-001", mode="pipes", cap_bytes=0, root={str(tmp_path)!r},
    env=dict(PATH={os.environ["PATH"]!r}), argv=["touch", "was-here"]), hashing.Hasher())
"""
    died = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert not (tmp_path / "was-here").exists()
    assert read_journal(tmp_path / "PROC-001" / "journal.jsonl")[0] == []


def test_the_end_can_be_written_down_on_a_disk_that_a_task_has_filled(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert (tmp_path / "journal.jsonl").stat().st_blocks * 512 >= 16 * 1024
    assert (tmp_path / "journal.jsonl").stat().st_size == 0
    journal.close()


def test_a_record_that_the_disk_cuts_short_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from pathlib import Path
from longhouse.runner.host.journal import Journal
journal = Journal(Path({str(tmp_path / "journal.jsonl")!r}))
journal.add("started", pid=1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
try:
    journal.add("ports", ports=list(range(1000)))
except OSError as error:
    print(error.strerror)
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
journal.add("ended")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout == "File too large\n", ran.stderr
    records, _ = read_journal(tmp_path / "journal.jsonl")
    assert [one["kind"] for one in records] == ["started", "ended"]


def test_of_many_that_start_a_host_at_once_all_reach_the_same(host: Hosted) -> None:
    ask = (
        "from pathlib import Path; from longhouse.runner.host.client import HostClient; "
        f"print(HostClient(Path({str(host.folder)!r})).ask('list')['pid'])"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", ask], stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert {int(racer.communicate()[0]) for racer in racers} == {host.pid}


def test_the_host_outlives_who_started_it_and_is_nobodys_child(host: Hosted) -> None:
    """Even if the runner is a subreaper; otherwise it would end the host as a stray."""
    start = (
        "from pathlib import Path; import os; from longhouse.runner.host.client import HostClient; "
        "from longhouse.supervisor import adopt_strays; adopt_strays(); "
        f"pid = HostClient(Path({str(host.folder)!r})).ask('list')['pid']; "
        "print(pid, os.getpid(), Path(f'/proc/{pid}/stat').read_text().split()[3])"
    )
    ran = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True)
    pid, starter, parent = ran.stdout.split()
    assert parent != starter, ran.stderr
    assert int(pid) == host.pid
    assert os.getsid(int(pid)) == int(pid)


def test_a_path_longer_than_a_sockets_name_is_no_trouble(tmp_path: Path) -> None:
    made = Hosted(tmp_path)
    made.folder = tmp_path / ("a" * 120) / "tasks"
    made.client = HostClient(made.folder)
    assert made.ended(made.bash("exit 0"))["code"] == 0
    made.close()


def test_malformed_requests_are_refused_and_the_connection_goes_on(host: Hosted) -> None:
    host.client.ask("list")
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.connect(str(host.folder / "host.sock"))
        heard = knocking.makefile("r")
        for line in ("{", "[]", '{"do":"dance"}', '{"do":"spawn","task":"PROC-001"}'):
            knocking.sendall(line.encode() + b"\n")
            assert "error" in json.loads(heard.readline())
        knocking.sendall(b'{"do":"list"}\n')
        assert json.loads(heard.readline())["tasks"] == []
        heard.close()
    assert (host.folder / "host.sock").stat().st_mode & 0o777 == 0o600
    assert host.folder.stat().st_mode & 0o777 == 0o700


def test_a_host_is_told_to_quit_only_when_nothing_runs(host: Hosted) -> None:
    task = host.bash("sleep 300")
    assert host.client.ask("quit") == {"error": "still running here: PROC-001"}
    host.cancel(task)
    host.ended(task)
    pid = host.pid
    assert host.client.ask("quit") == {}
    until(lambda: not lives(pid), "the host has left")


def test_a_pid_of_another_boot_is_nobodys_and_is_never_signalled(host: Hosted) -> None:
    """Pids start over when a machine boots: the process with this pid is now a stranger."""
    task = host.bash("exec sleep 300")
    pid = host.started(task)["pid"]
    host.kill()
    journal = host.folder / task / "journal.jsonl"
    record = host.started(task)
    journal.write_text(json.dumps({**record, "boot": "another-boot"}) + "\n")
    try:
        ended = host.client.ask("list") and host.ended(task)
        assert (ended["code"], ended["cause"]) == (None, "host_lost")
        assert lives(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_what_a_dead_host_gave_back_is_in_no_digest_of_the_next(host: Hosted) -> None:
    """Those bytes cannot be hashed again, and a digest of zeros would be wrong."""
    script = "head -c 9000000 /dev/zero | tr '\\0' x; touch done; exec sleep 300"
    task = host.bash(script, cap_bytes=1 << 20)
    until((host.folder / task / "stdout.gap").exists, "the middle was given back")
    until((host.root / "done").exists, "all was written")
    host.kill()
    host.client.ask("list")
    host.cancel(task)
    out = host.ended(task)["streams"]["stdout"]
    assert (out["bytes"], out["sha256"]) == (9_000_000, None)
    gap, log = out["gap"], host.log(task)
    kept = log[: gap["from"]] + log[gap["to"] :]
    assert kept == b"x" * len(kept)
    assert out["stored_sha256"] == hashlib.sha256(kept).hexdigest()
