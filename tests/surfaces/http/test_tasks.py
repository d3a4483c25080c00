"""Background processes over HTTP: the contract's paths, statuses and stream."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longhouse
from longhouse.kernel.tool_tasks import task_folder
from longhouse.processes.types.output import StreamEvents
from tests.runner.processes import until
from tests.surfaces.serving import Served

HOST = "host-3f9a1c07"
DATA = b"".join(b"line %d\n" % n for n in range(1, 201))


class Tasks:
    """The paths of one workspace, and a runner's part where a test needs one."""

    def __init__(self, served: Served, workspace: str) -> None:
        self.served, self.workspace = served, workspace
        self.header = {"longhouse-workspace": workspace}
        self.me = {"runner_id": "runner-1", "host_id": HOST}
        for tool in ("bash", "exec"):
            self.call("tool.policy_allow", tool=tool, pty=True, justification="a test")
        self.call("workspace.bind")  # to this server's project, whose runner this one plays
        self.revision = self.call("tool.task_held", **self.me)["revision"]

    def call(self, cmd: str, **args: Any) -> dict[str, Any]:
        return self.served(cmd, workspace=self.workspace, **args)

    def post(self, path: str, body: Any = None) -> Any:
        return self.served.http.post(f"/tasks{path}", json=body or {}, headers=self.header)

    def get(self, path: str, **headers: str) -> Any:
        return self.served.http.get(f"/tasks{path}", headers={**self.header, **headers})

    def spawn(self, **more: Any) -> str:
        body = {"tool": "bash", "args": {"command": "make test"}, **more}
        return str(self.post("", body).json()["task_id"])

    def append(self, task_id: str, *frames: dict[str, Any]) -> None:
        base_seq = self.call("tool.task_status", task_id=task_id)["task"]["next_seq"]
        fence = {"runner_id": "runner-1", "revision": self.revision, "base_seq": base_seq}
        self.call("tool.task_append", task_id=task_id, frames=list(frames), **fence)

    def running(self, **more: Any) -> str:
        task_id = self.spawn(**more)
        self.call("tool.task_claim", revision=self.revision, **self.me)
        self.append(task_id, {"type": "tool_task_status", "status": "running", "pid": 7})
        return task_id

    def printed(self, data: bytes, gap: str = "", mode: str = "pipes") -> str:
        task_id = self.running(**({} if mode == "pipes" else {"execution_mode": mode}))
        stream, kind = PRINTS[mode]
        folder = task_folder(self.served.dir, self.workspace, task_id)
        folder.mkdir(parents=True, mode=0o700)
        (folder / f"{stream}.log").write_bytes(data)
        if gap:
            (folder / f"{stream}.gap").write_text(gap)
        self.append(task_id, {"type": kind, "offset_bytes": 0, "bytes": len(data)}, END)
        return task_id

    def stream(self, task_id: str, **headers: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each event's id and frame, until the server closes the stream."""
        path = f"/tasks/{task_id}/events"
        with self.served.http.stream("GET", path, headers={**self.header, **headers}) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            seen = None
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    seen = int(line[4:])
                if line.startswith("data: "):
                    assert seen is not None
                    yield seen, json.loads(line[6:])


PRINTS = {"pipes": ("stdout", "tool_stdout"), "pty": ("pty", "tool_task_output_delta")}
END = {"type": "tool_task_status", "status": "exited", "exit_code": 0, "ended_at_ms": 9}


@pytest.fixture
def tasks(served: Served, request: pytest.FixtureRequest) -> Tasks:
    return Tasks(served, f"t-{abs(hash(request.node.name))}")


@pytest.mark.proves("TTA-001", "TTA-008")
def test_a_task_is_spawned_listed_shown_followed_and_cancelled(tasks: Tasks) -> None:
    answer = tasks.post("", {"tool": "bash", "args": {"command": "make test"}, "title": "Tests"})
    assert (answer.status_code, answer.json()) == (201, {"task_id": "PROC-001"})
    assert answer.headers["location"] == "/tasks/PROC-001"
    (listed,) = tasks.get("").json()["tasks"]
    shown = tasks.get("/PROC-001").json()
    assert listed == shown
    assert (shown["status"], shown["tool"], shown["title"]) == ("queued", "bash", "Tests")
    cancelled = tasks.post("/PROC-001/cancel", {"reason": "enough"})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    kinds = [frame["type"] for _, frame in tasks.stream("PROC-001")]
    assert kinds == [
        "tool_task_spawned",
        "tool_policy_decided",
        "tool_task_cancel_requested",
        "tool_task_cancelled",
        "tool_task_status",
    ]


def test_cancelling_a_running_task_is_accepted_and_after_its_end_tells_how_it_ended(
    tasks: Tasks,
) -> None:
    task_id = tasks.running()
    assert tasks.post(f"/{task_id}/cancel").status_code == 202
    assert tasks.post(f"/{task_id}/cancel", {"max_bytes": 1}).status_code == 202
    tasks.append(
        task_id,
        {"type": "tool_task_cancelled", "reason": "cancel", "op_id": f"{task_id}.1"},
        {"type": "tool_task_status", "status": "cancelled", "signal": "TERM", "ended_at_ms": 9},
    )
    over = tasks.post(f"/{task_id}/cancel")
    assert (over.status_code, over.json()["signal"]) == (200, "TERM")


@pytest.mark.parametrize(
    "body, status, code",
    [
        ({"tool": "bahs"}, 400, "UNKNOWN_TASK_TOOL"),
        ({"tool": "bash", "args": {}}, 400, "INVALID_ARGS"),
        ({"tool": "bash", "args": {"command": "ls", "cwd": "../x"}}, 400, "INVALID_ARGS"),
        ({"tool": "status", "args": {}}, 403, "POLICY_DENIED"),
    ],
)
def test_a_refused_spawn_names_the_task_that_records_it(
    tasks: Tasks, body: dict[str, Any], status: int, code: str
) -> None:
    answer = tasks.post("", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    shown = tasks.get(f"/{error['task_id']}").json()
    assert (shown["status"], shown["error"]) == ("failed", error["message"])


@pytest.mark.parametrize(
    "body", [{"args": {}}, {"tool": 7}, {"tool": "bash", "args": "ls"}, {"tool": "bash", "x": 1}]
)
def test_malformed_types_are_refused_and_leave_no_record(tasks: Tasks, body: Any) -> None:
    answer = tasks.post("", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert tasks.get("").json()["tasks"] == []


@pytest.mark.parametrize("path", ["", "/events", "/output", "/output/raw", "/wait"])
def test_an_unknown_task_is_404_on_every_path(tasks: Tasks, path: str) -> None:
    answer = tasks.get(f"/PROC-999{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "UNKNOWN_ID")


@pytest.mark.proves("TTA-002", "TTA-003", "TTA-028")
def test_output_is_read_by_ranges_of_bytes_and_lines_and_from_its_end(tasks: Tasks) -> None:
    task_id = tasks.printed(DATA)
    part = tasks.get(f"/{task_id}/output?stream=stdout&offset_bytes=7&max_bytes=7").json()
    assert part == {
        "task_id": task_id,
        "stream": "stdout",
        "content": "line 2\n",
        "offset_bytes": 7,
        "bytes": 7,
        "total_bytes": len(DATA),
        "truncated": True,
        "artifact_id": f"{task_id}/stdout",
        "path": f"{task_id}/stdout.log",
        "next_offset": 14,
        "eof": False,
        "capped": False,
        "gap": None,
        "first_line": None,
    }
    tail = tasks.get(f"/{task_id}/output?tail=2").json()
    assert (tail["content"], tail["eof"]) == ("line 199\nline 200\n", True)
    lines = tasks.get(f"/{task_id}/output?lines=5-6").json()
    assert (lines["content"], lines["first_line"]) == ("line 5\nline 6\n", 5)
    assert tasks.get(f"/{task_id}/output?lines=6-5").status_code == 400
    assert tasks.get(f"/{task_id}/output?stream=pty").status_code == 400
    assert tasks.get(f"/{task_id}/output?stream=stderr").json()["content"] == ""


@pytest.mark.proves("TTA-002", "TTA-003")
def test_a_terminal_has_one_stream_of_its_own(tasks: Tasks) -> None:
    task_id = tasks.printed(DATA, mode="pty")
    for asked in ("stream=pty&", ""):
        part = tasks.get(f"/{task_id}/output?{asked}offset_bytes=7&max_bytes=7").json()
        assert (part["stream"], part["content"], part["next_offset"]) == ("pty", "line 2\n", 14)
    for stream in ("stdout", "stderr"):
        refused = tasks.get(f"/{task_id}/output?stream={stream}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_INPUT")


def test_raw_bytes_take_http_ranges(tasks: Tasks) -> None:
    data = bytes(range(256)) * 300
    task_id = tasks.printed(data)
    whole = tasks.get(f"/{task_id}/output/raw")
    assert (whole.status_code, whole.content) == (200, data)
    part = tasks.get(f"/{task_id}/output/raw", range="bytes=100-60099")
    assert (part.status_code, part.content) == (206, data[100:60100])
    assert part.headers["content-range"] == f"bytes 100-60099/{len(data)}"
    assert tasks.get(f"/{task_id}/output/raw", range="bytes=-5").content == data[-5:]
    past = tasks.get(f"/{task_id}/output/raw", range=f"bytes={len(data)}-")
    assert (past.status_code, past.headers["content-range"]) == (416, f"bytes */{len(data)}")


def test_a_raw_range_inside_the_gap_is_416(tasks: Tasks) -> None:
    task_id = tasks.printed(b"head......tail", gap="4 10\n")
    assert tasks.get(f"/{task_id}/output/raw").content == b"headtail"
    inside = tasks.get(f"/{task_id}/output/raw", range="bytes=5-12")
    assert (inside.status_code, "4 to 10" in inside.json()["error"]["message"]) == (416, True)
    assert tasks.get(f"/{task_id}/output/raw", range="bytes=0-12").content == b"head"
    assert tasks.get(f"/{task_id}/output/raw", range="bytes=10-").content == b"tail"


@pytest.mark.proves("TTA-004", "TTA-005", "TTA-006", "TTA-019", "TTA-029")
@pytest.mark.parametrize(
    "path, cmd, body",
    [
        ("stdin", "tool.task_write_stdin", {"chunk_b64": "aGkK"}),
        ("resize", "tool.task_resize", {"rows": 30, "cols": 100}),
        ("signal", "tool.task_signal", {"signal": "INT"}),
    ],
)
def test_controls_are_for_terminals_that_run_and_are_answered_when_logged(
    tasks: Tasks, path: str, cmd: str, body: dict[str, Any]
) -> None:
    pipes = tasks.running()
    refused = tasks.post(f"/{pipes}/{path}", body)
    assert refused.status_code == 400
    assert "tool.task_cancel" in refused.json()["error"]["recovery"]
    early = tasks.spawn(execution_mode="pty")
    assert tasks.get(f"/{early}").json()["execution_mode"] == "pty"
    assert tasks.post(f"/{early}/{path}", body).status_code == 409
    tasks.call("tool.task_claim", revision=tasks.revision, **tasks.me)
    tasks.append(early, {"type": "tool_task_status", "status": "running"})
    logged = tasks.post(f"/{early}/{path}", body)
    assert (logged.status_code, logged.json()["op_id"]) == (202, f"{early}.1")
    called = tasks.call(cmd, task_id=early, **body)
    assert called["op_id"] == f"{early}.2"
    ops = tasks.call("tool.task_held", **tasks.me)["ops"]
    (by_path, by_command) = [op for op in ops if op["task_id"] == early]
    assert [op["op_id"] for op in (by_path, by_command)] == [f"{early}.1", f"{early}.2"]
    assert [by_path[name] for name in ("kind", "payload")] == [
        by_command[name] for name in ("kind", "payload")
    ]


@pytest.mark.proves("TTA-004")
def test_a_terminal_is_spawned_only_where_policy_allows_one(tasks: Tasks) -> None:
    other = {"longhouse-workspace": f"{tasks.workspace}-pipes"}
    tasks.served("tool.policy_allow", workspace=other["longhouse-workspace"], tool="bash")
    body = {"tool": "bash", "args": {"command": "make test"}}
    spawned = tasks.served.http.post("/tasks", json=body, headers=other)
    assert spawned.status_code == 201
    refused = tasks.served.http.post(
        "/tasks", json={**body, "execution_mode": "pty"}, headers=other
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "POLICY_DENIED")


@pytest.mark.proves("TTA-009", "TTA-017", "TTA-047")
def test_late_live_and_reconnecting_subscribers_see_the_same_stream(tasks: Tasks) -> None:
    task_id = tasks.running()
    live: list[tuple[int, dict[str, Any]]] = []
    follower = threading.Thread(target=lambda: live.extend(tasks.stream(task_id)))
    follower.start()
    for turn in range(0, 80, 4):
        deltas = [
            {"type": "tool_stdout", "offset_bytes": n * 8, "bytes": 8, "chunk": f"line {n:02d}\n"}
            for n in range(turn, turn + 4)
        ]
        tasks.append(task_id, *deltas)
    referred = {"type": "tool_stdout", "offset_bytes": 640, "bytes": 9_000}
    tasks.append(task_id, referred, END)
    follower.join(30)
    assert not follower.is_alive()
    late = list(tasks.stream(task_id))
    assert live == late
    assert [seq for seq, _ in late] == list(range(85))  # more than one page
    assert [frame["seq"] for _, frame in late] == list(range(85))
    log = late[83][1]["artifacts"]["log"]
    assert (log["id"], log["offset_bytes"], log["bytes"]) == (f"{task_id}/stdout", 640, 9_000)
    again = list(tasks.stream(task_id, **{"last-event-id": "20"}))
    assert again == late[21:]
    assert list(tasks.stream(task_id, **{"last-event-id": "84"})) == []
    assert tasks.get(f"/{task_id}/events", **{"last-event-id": "x"}).status_code == 400


def subscribed(tasks: Tasks, task_id: str, token: str | None = None) -> socket.socket:
    """A subscriber that has asked for the stream and reads nothing yet."""
    host, _, port = tasks.served.url.removeprefix("http://").partition(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.settimeout(30)
    raw.connect((host, int(port)))
    head = [
        f"GET /tasks/{task_id}/events HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {token or tasks.served.token}",
        f"Longhouse-Workspace: {tasks.workspace}",
    ]
    raw.sendall("\r\n".join([*head, "", ""]).encode())
    return raw


def read_to_the_end(raw: socket.socket) -> list[dict[str, Any]]:
    """Every frame of an answer in chunks."""
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        more = raw.recv(65_536)
        assert more, "the server broke off"
        data += more
    body, rest = b"", data.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    lines = body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def test_a_subscriber_that_does_not_read_holds_nobody_up_and_misses_nothing(tasks: Tasks) -> None:
    task_id = tasks.running()
    chunk, count = "x" * 8_000, 400
    with subscribed(tasks, task_id) as slow:
        for n in range(0, count, 20):
            deltas = [
                {"type": "tool_stdout", "offset_bytes": at * 8_000, "bytes": 8_000, "chunk": chunk}
                for at in range(n, n + 20)
            ]
            tasks.append(task_id, *deltas)
        tasks.append(task_id, END)
        quick = [frame for _, frame in tasks.stream(task_id)]
        assert len(quick) == count + 4
        assert read_to_the_end(slow) == quick


def test_a_subscriber_that_vanishes_gives_its_place_back(tmp_path: Path) -> None:
    served = Served(tmp_path, streams_per_token=1)
    try:
        tasks = Tasks(served, "acme")
        task_id = tasks.running()
        with subscribed(tasks, task_id) as one:
            assert b"200" in one.recv(15)
            with subscribed(tasks, task_id) as other:
                assert b"429" in other.recv(15)
        delta = {"type": "tool_stdout", "offset_bytes": 0, "bytes": 3, "chunk": "one"}
        tasks.append(task_id, delta)

        def admitted() -> bool:
            with subscribed(tasks, task_id) as again:
                return b"200" in again.recv(15)

        until(admitted, "the place of the one that vanished")
        tasks.append(task_id, END)
    finally:
        served.stop()


def test_a_wait_answers_when_the_task_ends(tasks: Tasks) -> None:
    task_id = tasks.running()
    none = tasks.get(f"/{task_id}/wait?until=exit&timeout_ms=0").json()
    assert (none["reached"], none["timed_out"]) == (False, True)
    ended = threading.Timer(0, lambda: tasks.append(task_id, END))
    ended.start()
    over = tasks.get(f"/{task_id}/wait?until=exit&timeout_ms=9000").json()
    ended.join(30)
    assert (over["reached"], over["task"]["exit_code"]) == (True, 0)


@pytest.mark.proves("TTA-006", "TTA-015", "TTA-051")
def test_a_task_is_spawned_with_its_metadata_by_the_path_as_by_the_command(tasks: Tasks) -> None:
    asked: dict[str, Any] = {
        "tool": "bash",
        "args": {"command": "make test", "cwd": "src"},
        "title": "Tests",
        "execution_mode": "pty",
    }
    by_path = tasks.spawn(**asked)
    by_command = tasks.call("tool.task_spawn", **asked)["task_id"]
    for task_id in (by_path, by_command):
        shown = tasks.get(f"/{task_id}").json()
        assert {name: shown[name] for name in asked} == asked
        assert shown["cwd"] == "src"
        first = tasks.call("tool.task_stream_events", task_id=task_id)["frames"][0]
        assert (first["type"], first["task_id"]) == ("tool_task_spawned", task_id)
        assert (first["tool_name"], first["cwd"], first["title"]) == ("bash", "src", "Tests")
        assert (first["args"], first["execution_mode"]) == (asked["args"], "pty")


@pytest.mark.proves("TTA-006", "TTA-012", "TTA-015", "TTA-019")
def test_the_paths_and_the_commands_tell_the_same(tasks: Tasks) -> None:
    task_id = tasks.printed(DATA)
    shown = tasks.get(f"/{task_id}").json()
    assert shown == tasks.call("tool.task_status", task_id=task_id)["task"]
    assert (shown["tool"], shown["args"]) == ("bash", {"command": "make test"})
    assert (shown["execution_mode"], list(shown["artifacts"]["logs"])) == (
        "pipes",
        ["stdout", "stderr"],
    )
    assert tasks.get("?limit=1").json()["tasks"] == tasks.call("tool.task_list")["tasks"]
    page = tasks.call("tool.task_stream_events", task_id=task_id)
    assert [frame for _, frame in tasks.stream(task_id)] == page["frames"]
    with longhouse.connect(dir=tasks.served.dir, workspace=tasks.workspace) as sdk:
        assert sdk(StreamEvents(task_id=task_id)).frames == page["frames"]
    read = tasks.call("tool.output_fetch", task_id=task_id, line=5, max_lines=2)
    lines = tasks.get(f"/{task_id}/output?lines=5-6").json()
    assert lines["content"] == "".join(part["text"] for part in read["parts"])
    ended = tasks.call("tool.task_cancel", task_id=task_id)["task"]
    assert tasks.post(f"/{task_id}/cancel").json() == ended
    stored = tasks.call("tool.output_store", task_id=task_id)
    assert stored["bytes"] == len(DATA)


def test_the_paths_are_in_the_openapi_document(tasks: Tasks) -> None:
    paths = tasks.served.http.get("/openapi.json").json()["paths"]
    assert {path for path in paths if path.startswith("/tasks")} == {
        "/tasks",
        *(
            f"/tasks/{{task_id}}{rest}"
            for rest in (
                "",
                "/events",
                "/output",
                "/output/raw",
                "/wait",
                "/snapshot",
                "/recording",
                "/cancel",
                "/stdin",
                "/resize",
                "/signal",
            )
        ),
    }
    assert set(paths["/tasks/{task_id}/cancel"]["post"]["responses"]) == {"200", "202", "default"}
