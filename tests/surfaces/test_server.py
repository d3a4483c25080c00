"""The server process: one per store, found by its record, safe to kill, leaves nothing behind."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.surfaces.serving import PATIENCE_S, Served, launch, serve, served

__all__ = ["serve", "served"]

Serve = Callable[..., Served]


def refusal(flags: dict) -> tuple[int, str]:
    process = launch("serve", flags)
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


def test_a_server_notes_where_it_listens_and_takes_the_note_away(serve: Serve) -> None:
    server = serve()
    note = json.loads((server.dir / "server.json").read_text())
    assert note["pid"] == server.process.pid
    assert note["url"] == server.url
    keys = {
        "pid",
        "process_start",
        "url",
        "version",
        "started_at_ms",
        "instance",
        "store",
        "key",
        "moved_from",
    }
    assert set(note) == keys
    health = server.http.get("/healthz").json()
    assert (health["instance"], health["version"]) == (note["instance"], note["version"])
    assert server.stop() == 0
    assert not (server.dir / "server.json").exists()


def test_a_second_server_is_refused_and_told_about_the_first(served: Served) -> None:
    code, errors = refusal(served.flags)
    assert code == 4
    assert "SERVER_RUNNING" in errors
    assert served.url in errors
    assert str(served.process.pid) in errors
    assert served("status")["workspace"] == "acme"


def test_a_note_left_by_a_killed_server_keeps_no_new_one_away(serve: Serve) -> None:
    first = serve()
    first.kill()
    assert (first.dir / "server.json").exists()
    assert serve()("status")["workspace"] == "acme"


def test_a_port_that_is_taken_is_refused_when_it_was_asked_for(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, errors = refusal({"dir": str(tmp_path / ".longhouse"), "port": port})
    assert (code, "PORT_TAKEN" in errors) == (4, True)


def test_a_server_comes_back_where_the_last_one_was(serve: Serve) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    first = serve()
    (first.dir / "server.port").write_text(f"{port}\n")
    first.stop()
    second = serve()
    assert second.url == f"http://127.0.0.1:{port}"
    second.kill()
    third = serve()
    assert third.url == second.url
    third.stop()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert serve().url != second.url


@pytest.mark.parametrize("noted", ["", "x", "-1", "70000"])
def test_a_port_that_is_none_is_not_tried(serve: Serve, tmp_path: Path, noted: str) -> None:
    first = serve()
    first.stop()
    (first.dir / "server.port").write_text(noted)
    assert serve()("status")["workspace"] == "acme"


def test_a_server_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    flags = {"dir": str(tmp_path / ".longhouse"), "host": "0.0.0.0", "workspace": "acme"}
    code, errors = refusal(flags)
    assert (code, "UNSAFE_BIND" in errors, "token create" in errors) == (2, True, True)
    code, errors = refusal({**flags, "token": "short"})
    assert (code, "UNSAFE_BIND" in errors) == (2, True)


def test_with_a_token_a_server_may_be_reached_by_others_under_known_names(serve: Serve) -> None:
    server = serve(host="0.0.0.0", token="t" * 40, allowed_hosts="house.example")
    with server.client("t" * 40) as http:
        for host, status in (
            ("house.example", 200),
            ("10.1.2.3:80", 200),
            ("evil.example", 421),
        ):
            assert http.post("/call/status", headers={"host": host}).status_code == status


def test_an_idle_server_leaves_by_itself(serve: Serve) -> None:
    server = serve(idle_exit_s=3)
    with server.events("after=0") as events:
        next(events)
        with pytest.raises(Exception, match="timed out"):
            server.process.wait(4)
    server.http.close()
    assert server.process.wait(60) == 0
    assert not (server.dir / "server.json").exists()


def test_a_stopping_server_tells_followers_to_come_back(serve: Serve) -> None:
    server = serve()
    with server.events("after=0") as events:
        assert next(events).name == "hello"
        server.process.terminate()
        assert [event.name for event in events] == ["resume"]
    assert server.stop() == 0


def test_a_call_in_flight_gets_its_answer_before_the_server_ends(serve: Serve) -> None:
    server = serve()
    answers = []

    def wait() -> None:
        with server.client(server.token) as http:
            args = {"seq": 1, "timeout_ms": 8000}
            answers.append(http.post("/call/system.probe.wait", json=args).json())

    waiting = threading.Thread(target=wait)
    with server.client(server.token) as http:
        connection = http.post("/call/status")
        waiting.start()
        while server.metric("longhouse_requests_open") < 2:
            pass
        server.http.post("/call/vcs.notes.commit", json={"content": "x"})
        server.process.terminate()
        waiting.join(60)
    assert connection.json()["success"]
    assert answers[0]["result"]["reached"]


def test_a_call_that_waits_for_news_does_not_hold_the_server_up(serve: Serve) -> None:
    server = serve()
    answers = []

    def wait() -> None:
        with server.client(server.token) as http:
            args = {"runner_id": "r1", "timeout_ms": 25_000}
            answers.append(http.post("/call/jobs.wait", json=args, timeout=30).json())

    waiting = threading.Thread(target=wait)
    waiting.start()
    while server.metric("longhouse_requests_open") < 2:
        pass
    assert server.stop(timeout_s=20) == 0  # sooner than the call's own timeout
    waiting.join(60)
    assert answers[0]["result"]["timed_out"]


def test_every_acknowledged_write_survives_a_kill_and_none_is_there_twice(serve: Serve) -> None:
    server = serve()
    acknowledged: list[int] = []
    sent: list[int] = []

    def write(worker: int) -> None:
        with server.client(server.token) as http:
            for number in range(worker * 10_000, worker * 10_000 + 5000):
                sent.append(number)
                body = {"content": f"n{number}", "idempotency_key": f"k{number}"}
                try:
                    answer = http.post("/call/vcs.notes.commit", json=body)
                except httpx2.HTTPError:
                    return
                assert answer.json()["success"]
                acknowledged.append(number)

    workers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    while len(acknowledged) < 60:
        assert any(worker.is_alive() for worker in workers)
    server.process.kill()
    for worker in workers:
        worker.join(20)

    again = serve()
    unsure = sorted(set(sent) - set(acknowledged))
    for number in [*unsure, *acknowledged[-5:]]:
        again("vcs.notes.commit", content=f"n{number}", idempotency_key=f"k{number}")
    found: list[str] = []
    cursor = None
    while True:
        page = again("docs.show", doc_kind="notes", limit=100, cursor=cursor)
        found += [entry["content"] for entry in page["entries"]]
        cursor = page["pagination"].get("next_cursor")
        if cursor is None:
            break
    assert len(found) == len(set(found))
    assert set(found) == {f"n{number}" for number in sent}
    assert again("status")["seq"] == len(found)


def test_two_processes_write_one_store_and_followers_hear_of_both(
    serve: Serve, tmp_path: Path
) -> None:
    from longhouse.config import load
    from longhouse.house import House

    server = serve()
    with server.events("after=0") as events:
        next(events)
        with House(load(server.flags, environ={}, cwd=tmp_path)) as house:
            assert house.call("vcs.notes.commit", {"content": "from outside"}).success
        assert next(events).id == 1
        server("vcs.notes.commit", content="from inside")
        assert next(events).id == 2


def test_serving_is_what_brings_in_the_heavy_libraries_and_nothing_before() -> None:
    import subprocess
    import sys

    code = (
        "import sys, longhouse.house, longhouse.config, longhouse.surfaces.presence;"
        "print([m for m in ('mcp', 'starlette', 'uvicorn', 'structlog') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert ran.stdout.strip() == "[]"
