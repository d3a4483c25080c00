"""One task in the host, from its start to the record of its end."""

from __future__ import annotations

import hashlib
import os
import signal
import socket

import pytest

from longhouse.runner.host.logs import gap_of
from tests.runner.host.kit import PLAIN, Hosted, lives
from tests.runner.processes import until


def test_a_program_writes_its_own_log_and_its_end_is_written_down(host: Hosted) -> None:
    task = host.bash("echo out; echo err >&2; exit 3")
    ended = host.ended(task)
    assert (ended["code"], ended["signal"], ended["cause"]) == (3, None, None)
    assert host.log(task) == b"out\n"
    assert host.log(task, "stderr") == b"err\n"
    out = ended["streams"]["stdout"]
    assert out["sha256"] == out["stored_sha256"] == hashlib.sha256(b"out\n").hexdigest()
    assert (out["bytes"], out["stored"], out["gap"], out["trouble"]) == (4, 4, None, None)
    assert ended["leftovers"] == ended["left"] == []


def test_a_program_that_a_signal_ended_has_that_signal_and_no_code(host: Hosted) -> None:
    ended = host.ended(host.bash("kill -USR1 $$"))
    assert (ended["code"], ended["signal"], ended["cause"]) == (None, "USR1", None)


def test_a_program_starts_in_its_folder_with_its_environment_and_nothing_else(
    host: Hosted,
) -> None:
    (host.root / "sub").mkdir()
    script = "pwd; env | sort; readlink /proc/self/fd/0; ls /proc/$$/fd; ps -o sid= -p $$"
    task = host.bash(script, cwd="sub", env={"COLOUR": "red"})
    host.ended(task)
    lines = host.log(task).decode().split()
    assert lines[0] == str(host.root / "sub")
    assert {"COLOUR=red", "/dev/null"} < set(lines)
    assert not any(line.startswith(("HOME=", "PYTHONPATH=")) for line in lines)
    assert int(lines[-1]) == host.started(task)["pid"]  # its own session
    files = lines[lines.index("/dev/null") + 1 : -1]
    assert [name for name in files if name != "255"] == ["0", "1", "2"]  # 255: bash's own


@pytest.mark.parametrize(
    "cwd, why",
    [
        ("..", "is outside the workspace"),
        ("/tmp", "is outside the workspace"),
        ("sub/../../etc", "is outside the workspace"),
        ("link", "goes through a symbolic link"),
        ("link/more", "goes through a symbolic link"),
        ("nowhere", "no such file or directory"),
        ("file", "not a directory"),
    ],
)
def test_no_program_starts_outside_the_workspace(host: Hosted, cwd: str, why: str) -> None:
    outside = host.root.parent / "outside"
    outside.mkdir()
    (host.root / "link").symlink_to(outside)
    (host.root / "file").touch()
    said = host.ask("touch", "was-here", cwd=cwd)
    assert said["error"].startswith(f"cwd '{cwd}'")
    assert why in said["error"]
    assert not list(host.root.parent.rglob("was-here"))
    assert host.client.ask("list")["tasks"] == []


@pytest.mark.parametrize("name", ["../PROC-001", "PROC-001/x", "", "host.lock", 7])
def test_only_the_id_of_a_task_becomes_a_folder(host: Hosted, name: object) -> None:
    assert host.ask("true", task=name)["error"] == f"{name!r} is not a task id"


def test_a_program_that_is_not_there_is_refused_and_its_end_written_down(host: Hosted) -> None:
    said = host.ask("no-such-program")
    assert said == {"error": "no-such-program: No such file or directory"}
    ended = host.ended("PROC-001")
    assert ended["cause"] == "unstarted"
    assert ended["error"] == "no-such-program: No such file or directory"


def test_a_task_is_started_once_however_often_it_is_asked_for(host: Hosted) -> None:
    task = host.bash("echo x >> count; sleep 100")
    until((host.root / "count").exists, "it runs")
    again = host.ask("bash", "-c", "echo x >> count", task=task)
    assert again["pid"] == host.started(task)["pid"]
    host.cancel(task)
    host.ended(task)
    assert host.ask("bash", "-c", "echo x >> count", task=task)["again"] is True
    assert (host.root / "count").read_text() == "x\n"


def test_cancelling_ends_the_whole_tree_also_what_ignores_term(host: Hosted) -> None:
    task = host.bash(
        "trap '' TERM; setsid sleep 300 & echo $!; sleep 300 & echo $!; echo ready; wait; wait",
        grace_ms=300,
    )
    *pids, _ = map(bytes.decode, host.await_output(task, b"ready").split())
    op = host.cancel(task)["op"]
    assert op["offsets"] == {"stdout": len(host.log(task)), "stderr": 0}
    ended = host.ended(task)
    assert (ended["code"], ended["signal"], ended["cause"]) == (None, "KILL", "cancelled")
    assert ended["killed"] >= 1
    assert ended["left"] == []
    assert not any(lives(int(pid)) for pid in pids)


def test_an_operation_is_applied_once_and_its_outcome_kept(host: Hosted) -> None:
    task = host.bash("trap 'echo caught' USR1; echo ready; while :; do sleep 0.05; done")
    host.await_output(task, b"ready")
    asked = {"task": task, "op": "signal", "signal": "USR1", "op_id": "op-7"}
    first = host.client.ask("control", **asked)
    host.await_output(task, b"caught")
    assert host.client.ask("control", **asked) == first
    assert first["op"]["signal"] == "USR1"
    stdin = host.client.ask("control", task=task, op="stdin", op_id="op-8", chunk="aGkK")
    assert stdin["op"]["failed"] == "a task without a terminal does not accept stdin"
    host.cancel(task)
    host.ended(task)
    assert [one["op_id"] for one in host.records(task) if one["kind"] == "op"] == [
        "op-7",
        "op-8",
        "op-1",
    ]
    assert host.log(task).count(b"caught") == 1


def test_a_program_leads_a_session_of_its_own(host: Hosted) -> None:
    task = host.bash("read -ra stat < /proc/$$/stat; echo ${stat[4]} ${stat[5]}")
    host.ended(task)
    pid = host.started(task)["pid"]
    assert host.log(task).split() == [b"%d" % pid] * 2


def test_a_signal_without_a_name_is_told_by_its_number(host: Hosted) -> None:
    assert host.ended(host.bash("kill -35 $$"))["signal"] == "35"


def test_what_a_program_leaves_behind_is_ended_and_reported(host: Hosted) -> None:
    """A grandchild that holds the output open, in its own session, with an empty environment."""
    task = host.bash("setsid env -i sleep 300 & echo $!")
    ended = host.ended(task)
    assert ended["code"] == 0
    pid = int(host.log(task))
    assert {"pid": pid, "command": "sleep 300"} in ended["leftovers"]
    assert not lives(pid)


def test_an_orphan_is_known_by_the_mark_in_its_environment(host: Hosted) -> None:
    task = host.bash("(setsid sleep 300 & echo $!)")
    ended = host.ended(task)
    pid = int(host.log(task))
    assert [one["pid"] for one in ended["leftovers"]] == [pid]
    assert not lives(pid)


def test_what_is_written_after_the_exit_is_part_of_the_log(host: Hosted) -> None:
    script = "(trap 'echo last words; exit' TERM; echo ready; while :; do sleep 0.02; done) & "
    task = host.bash(script + "until grep -q ready /proc/$$/fd/1; do :; done; echo main")
    ended = host.ended(task)
    assert host.log(task) == b"ready\nmain\nlast words\n"
    assert ended["streams"]["stdout"]["sha256"] == hashlib.sha256(host.log(task)).hexdigest()


@pytest.mark.parametrize(
    "limit, script, cause",
    [
        ({"timeout_ms": 300}, "while :; do echo x; sleep 0.05; done", "timeout"),
        ({"idle_timeout_ms": 300}, "echo x; sleep 300", "idle_timeout"),
        ({"max_processes": 8}, "for i in {1..40}; do sleep 300 & done; wait", "max_processes"),
    ],
)
def test_a_task_that_exceeds_a_limit_is_ended_with_the_limit_as_its_cause(
    host: Hosted, limit: dict[str, int], script: str, cause: str
) -> None:
    ended = host.ended(host.bash(script, **limit))
    assert ended["cause"] == cause
    assert ended["signal"] == ("KILL" if cause == "max_processes" else "TERM")
    assert ended["left"] == []


def test_above_the_cap_the_head_and_the_tail_are_kept_and_the_gap_is_told(host: Hosted) -> None:
    script = "import sys\nfor n in range(400_000): sys.stdout.write(f'{n:015}\\n')"
    task = host.spawn("python3", "-c", script, cap_bytes=1 << 20)
    out = host.ended(task)["streams"]["stdout"]
    whole = b"".join(b"%015d\n" % n for n in range(400_000))
    assert out["bytes"] == len(whole)
    assert out["sha256"] == hashlib.sha256(whole).hexdigest()
    start, stop = gap_of(host.folder / task, "stdout") or (0, 0)
    assert out["gap"] == {"from": start, "to": stop}
    kept = host.log(task)
    assert kept[:start] == whole[:start]
    assert kept[stop:] == whole[stop:]
    assert out["stored"] == len(whole) - (stop - start)
    assert 1 << 20 <= out["stored"] < (1 << 20) + 4096
    assert out["stored_sha256"] == hashlib.sha256(whole[:start] + whole[stop:]).hexdigest()
    used = (host.folder / task / "stdout.log").stat().st_blocks * 512
    assert used < 2 << 20


def test_a_program_that_cuts_its_own_log_short_is_told_of(host: Hosted) -> None:
    task = host.bash("echo a long first line; sleep 0.6; echo second > /proc/self/fd/1")
    out = host.ended(task)["streams"]["stdout"]
    assert out["trouble"] == "the program truncated its own output"
    assert out["sha256"] is None
    assert out["stored_sha256"] == hashlib.sha256(host.log(task)).hexdigest()


def test_the_ports_that_a_task_listens_on_are_written_down(host: Hosted) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = f"import socket; s = socket.create_server(('127.0.0.1', {port})); input()"
    task = host.bash(f'python3 -c "{serve}; " < <(sleep 300)')
    until(lambda: host.records(task)[-1].get("ports") == [port], "its port")
    host.cancel(task)
    assert host.ended(task)["cause"] == "cancelled"


def test_a_host_that_is_told_to_stop_ends_its_tasks_first(host: Hosted) -> None:
    task = host.bash("sleep 300")
    pid = host.pid

    os.kill(pid, signal.SIGTERM)
    ended = host.ended(task)
    assert (ended["signal"], ended["cause"]) == ("TERM", "host_stopped")
    until(lambda: not lives(pid), "the host has left")


def test_of_several_tasks_started_together_one_without_a_program_stops_no_other(
    host: Hosted,
) -> None:
    asked = {**PLAIN, "root": str(host.root), "env": {"PATH": os.environ["PATH"]}}
    tasks = [
        {**asked, "task": "PROC-001", "argv": ["bash", "-c", "exit 3"]},
        {**asked, "task": "PROC-002", "argv": ["no-such-program"]},
        {**asked, "task": "../PROC-003", "argv": ["true"]},
        {**asked, "task": "PROC-004", "argv": ["true"], "cwd": "missing"},
        {**asked, "task": "PROC-005", "argv": ["bash", "-c", "echo five"]},
    ]
    said = host.client.ask("spawn_many", tasks=tasks)["tasks"]
    assert ["error" in one for one in said] == [False, True, True, True, False]
    assert said[1]["error"] == "no-such-program: No such file or directory"
    assert host.ended("PROC-001")["code"] == 3
    assert host.ended("PROC-005")["code"] == 0
    assert host.log("PROC-005") == b"five\n"
    assert host.records("PROC-002")[-1]["cause"] == "unstarted"
    again = host.client.ask("spawn_many", tasks=tasks[:1])["tasks"]
    assert again == [{"task": "PROC-001", "pid": said[0]["pid"], "again": True}]


def test_an_earlier_speaker_starts_nothing_among_several_tasks(host: Hosted) -> None:
    host.client.ask("fence", revision=7)
    asked = {**PLAIN, "root": str(host.root), "env": {}, "task": "PROC-001", "argv": ["true"]}
    said = host.client.ask("spawn_many", revision=6, tasks=[asked])
    assert said["later"], said
    assert not (host.folder / "PROC-001").exists()
