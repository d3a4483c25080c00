"""`up`, `down` and the commands in between, with a real server process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from tests.surfaces.cli.conftest import Shell

UP = ("up", "--port", "0")


def test_up_starts_attaches_and_down_stops(sh: Shell) -> None:
    first = sh(*UP, "--json").json["data"]
    assert first["started"]
    with urllib.request.urlopen(first["url"] + "/healthz") as answer:
        assert answer.status == 200
    again = sh(*UP, "--json").json["data"]
    assert (again["pid"], again["started"]) == (first["pid"], False)
    assert "is already up" in sh(*UP).out
    assert sh("down").out.startswith(f"stopped (pid {first['pid']})\n")
    assert not locate.is_alive(first["pid"])
    assert sh("down", "--json").json["data"]["stopped"] is False


def test_a_server_that_runs_says_which_flags_it_does_not_hear(sh: Shell) -> None:
    url = sh(*UP, "--json").json["data"]["url"]
    assert sh("up", "--port", url.rpartition(":")[2]).err == ""
    unheard = sh("up", "--port", "1", "--no-runner-autostart")
    assert "--port, --no-runner-autostart applies after `longhouse down`" in unheard.err
    assert unheard.code == 0


def test_commands_go_through_the_server_and_leave_the_same_store(sh: Shell) -> None:
    sh("call", "vcs.notes.commit", "content=before")
    sh(*UP)
    sh("call", "vcs.notes.commit", "content=during", "--agent-id", "ada")
    assert sh("call", "docs.show", "limit=0").code == 2
    assert sh("open", "JOB-099").code == 3
    assert sh("status", "-w", "other", "--json").json["data"]["workspace"] == "other"
    served = sh("events", "--after", "0", "--json").out.splitlines()
    sh("down")
    alone = sh("events", "--after", "0", "--json").out.splitlines()
    assert [json.loads(line) for line in served] == [json.loads(line) for line in alone]
    assert set(json.loads(alone[0])) == {"ok", "command", "data", "error"}
    assert json.loads(alone[1])["data"]["actor"] == "ada"


def test_events_follow_what_happens(sh: Shell) -> None:
    sh(*UP)
    argv = [sys.executable, "-m", "longhouse", "events", "--follow", "--after", "0", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as follower:
        assert follower.stdout
        sh("call", "vcs.notes.commit", "content=live")
        assert json.loads(follower.stdout.readline())["data"]["seq"] == 1
        follower.send_signal(signal.SIGINT)
        assert follower.wait() == 0


def test_a_follower_goes_on_when_the_server_is_killed_and_started_again(sh: Shell) -> None:
    pid = sh(*UP, "--json").json["data"]["pid"]
    argv = [sys.executable, "-m", "longhouse", "events", "--follow", "--after", "0", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as follower:
        assert follower.stdout
        for content in ("before", "alone", "after"):
            sh("call", "vcs.notes.commit", f"content={content}")
            if content == "before":
                assert json.loads(follower.stdout.readline())["data"]["seq"] == 1
                os.kill(pid, signal.SIGKILL)
            if content == "alone":
                sh(*UP)
        assert [json.loads(follower.stdout.readline())["data"]["seq"] for _ in "23"] == [2, 3]
        follower.send_signal(signal.SIGINT)
        assert follower.wait() == 0


def test_a_killed_server_leaves_a_record_that_misleads_nobody(sh: Shell) -> None:
    data = sh(*UP, "--json").json["data"]
    sh("call", "vcs.notes.commit", "content=kept")
    os.kill(data["pid"], signal.SIGKILL)
    while locate.is_alive(data["pid"]):
        pass
    assert (sh.dir / "server.json").exists()
    assert sh("status", "--json").json["data"]["seq"] == 1
    assert "no server is running" in sh("down").out
    assert sh(*UP, "--json").json["data"]["started"]


def test_a_server_that_cannot_start_says_why(sh: Shell) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = sh("up", "--port", str(taken.getsockname()[1]), "--json")
    assert ran.code == 4
    assert ran.json["error"]["code"] == "PORT_TAKEN"
    refused = sh("up", "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "token" in refused.err


def test_a_stopped_process_that_was_ours_once_is_not_ours_now(sh: Shell) -> None:
    sh("status")
    with subprocess.Popen(["sleep", "60"]) as stranger:
        record = {
            "pid": stranger.pid,
            "url": "http://127.0.0.1:1",
            "port": 1,
            "version": "0",
            "started_at_ms": 1,
            "instance": "x",
        }
        (sh.dir / "server.json").write_text(json.dumps(record))
        for argv in (["down"], ["down", "--force"]):
            assert "no server is running" in sh(*argv).out
        assert stranger.poll() is None
        stranger.terminate()


def test_a_server_that_hangs_is_ended_by_force_only(sh: Shell) -> None:
    pid = sh(*UP, "--json").json["data"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    ran = sh("down")
    assert ran.code == 4
    assert "--force" in ran.err
    assert sh("doctor").code == 1
    assert f"killed (pid {pid})" in sh("down", "--force").out


def test_racing_starts_end_with_one_server(sh: Shell) -> None:
    argv = [sys.executable, "-m", "longhouse", *UP, "--json"]
    racers = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(3)]
    answers = [json.loads(racer.communicate()[0])["data"] for racer in racers]
    assert len({answer["pid"] for answer in answers}) == 1
    assert sum(answer["started"] for answer in answers) == 1


def test_foreground_says_where_it_is_and_ends_with_its_signal(sh: Shell) -> None:
    argv = [sys.executable, "-m", "longhouse", *UP, "--foreground"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert "is up for workspace acme" in child.stdout.readline()
        assert sh("status", "--json").json["ok"]
        child.terminate()
        assert child.wait() == 0
    assert launch.alive(sh.dir) is None


def test_what_up_prints_for_clients_starts_us_from_anywhere(sh: Shell, tmp_path: Path) -> None:
    import shlex
    import tomllib

    clients = sh(*UP, "--json").json["data"]["clients"]
    codex = tomllib.loads(clients["codex"])["mcp_servers"]["longhouse"]
    other = json.loads(clients["json"])["mcpServers"]["longhouse"]
    claude = shlex.split(clients["claude_code"])
    argv = [codex["command"], *codex["args"]]
    anyone = [other["command"], *other["args"]]
    assert argv == [*anyone, "--format", "lines", "--client", "codex"]
    assert claude[claude.index("--") + 1 :] == [*anyone, "--client", "claude-code"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write(json.dumps(hello) + "\n")
        client.stdin.flush()
        assert json.loads(client.stdout.readline())["result"]["serverInfo"]
        client.stdin.close()
        assert client.wait() == 0


def test_a_server_of_another_database_is_not_asked_in_its_place(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = str(tmp_path / "other.db")
    sh(*UP)
    for argv in (["note", "for the other one"], ["status"], list(UP)):
        ran = sh(*argv, "--db", other)
        assert ran.code == 4
        assert "longhouse down" in ran.err
        assert other in ran.err
    assert sh("status", "--db", str(sh.dir / "longhouse.db"), "--json").json["data"]["seq"] == 0
    sh("down")
    assert sh("note", "for the other one", "--db", other).code == 0
    assert sh(*UP, "--db", other).code == 0
    monkeypatch.setenv("LONGHOUSE_DB", other)
    assert sh("status", "--json").json["data"]["seq"] == 1
    monkeypatch.delenv("LONGHOUSE_DB")
    assert sh("status", "--json").json["data"]["seq"] == 1, "whatever serves the folder"


def test_the_address_of_a_database_is_kept_off_the_process_list(sh: Shell, tmp_path: Path) -> None:
    db = str(tmp_path / "hidden.db")
    data = sh(*UP, "--db", db, "--json").json["data"]
    assert db.encode() not in Path(f"/proc/{data['pid']}/cmdline").read_bytes()


@pytest.mark.parametrize("flag", ["--token", "environment"])
def test_a_token_of_ones_own_is_accepted_and_kept_off_the_process_list(
    sh: Shell, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery-staple"
    if flag == "environment":
        monkeypatch.setenv("LONGHOUSE_TOKEN", secret)
    given = ["--token", secret] if flag == "--token" else []
    data = sh(*UP, *given, "--json").json["data"]
    assert secret.encode() not in Path(f"/proc/{data['pid']}/cmdline").read_bytes()
    assert sh("status", *given).code == 0
    assert sh("status", "--token", "wrong").code == 5


def test_up_waits_for_a_server_that_is_still_on_its_way_out(sh: Shell) -> None:
    """Another process holds the store without answering; once it lets go, the start continues."""
    import fcntl
    import threading

    sh("status")
    told, last_words = threading.Event(), sh.dir / "server.out"
    with (sh.dir / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def let_go() -> None:
            while not (last_words.exists() and "SERVER_RUNNING" in last_words.read_text()):
                pass
            told.set()
            fcntl.flock(lock, fcntl.LOCK_UN)

        waiter = threading.Thread(target=let_go, daemon=True)
        waiter.start()
        ran = sh(*UP, "--json")
        waiter.join()
    assert told.is_set()
    assert ran.json["data"]["started"]
