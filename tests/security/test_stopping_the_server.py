"""An attacker who wants nobody to be served: with slow, huge, deep or endless requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from longhouse.jobs.autostart import RunnerProcesses
from tests.surfaces import serving
from tests.surfaces.serving import Served

MCP = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "status",
}
DEEP = b'{"note": ' + b"[" * 200 + b"]" * 200 + b"}"
WAIT_S = 30

serve = serving.serve


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with limits so low that a test can reach them."""
    server = Served(
        tmp_path_factory.mktemp("small"),
        max_header_kb=4,
        max_body_kb=64,
        header_timeout_s=1,
        body_timeout_s=1,
        calls_per_token=3,
        waits_per_token=2,
        streams_per_token=2,
    )
    yield server
    server.stop()


def knock(served: Served, data: bytes) -> bytes:
    """What the server says to these bytes until it hangs up."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(data)
        heard = b""
        while part := connection.recv(65536):
            heard += part
    return heard


def head_of(served: Served, *lines: str, path: str = "/call/status") -> bytes:
    first = [f"POST {path} HTTP/1.1", f"Authorization: Bearer {served.token}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


def serves(served: Served, token: str | None = None) -> bool:
    with served.client(token or served.token) as client:
        return client.post("/call/status", json={}).status_code == 200


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: local"])
def test_a_head_that_never_ends_is_hung_up_on(small: Served, said: bytes) -> None:
    heard = knock(small, said)
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b"HEADERS_TOO_SLOW" in heard
    assert serves(small)


def test_a_head_that_grows_without_end_is_hung_up_on(small: Served) -> None:
    heard = knock(small, b"GET / HTTP/1.1\r\nX: " + b"x" * 5000)
    assert heard.startswith(b"HTTP/1.1 431 ")
    assert b"HEADERS_TOO_LARGE" in heard


def test_a_whole_head_that_is_too_large_is_refused_in_the_one_shape(small: Served) -> None:
    answer = small.http.post("/call/status", json={}, headers={"x": "x" * 5000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (431, "HEADERS_TOO_LARGE")


@pytest.mark.parametrize("path", ["/call/status", "/mcp"])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(small: Served, path: str) -> None:
    """Its length is said, and nothing of it comes: who waited for it would say that it is slow."""
    lines = ("Host: localhost", "Content-Length: 65537", "Connection: close")
    heard = knock(small, head_of(small, *lines, path=path))
    assert heard.startswith(b"HTTP/1.1 413 ")
    assert b"BODY_TOO_LARGE" in heard


@pytest.mark.parametrize("path", ["/call/status", "/mcp"])
def test_a_body_without_a_length_is_refused_when_it_becomes_too_large(
    small: Served, path: str
) -> None:
    answer = small.http.post(path, content=iter([b"x" * 40_000] * 2), headers=MCP)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "BODY_TOO_LARGE")


@pytest.mark.parametrize("path", ["/call/status", "/mcp"])
def test_a_body_that_does_not_come_is_given_up(small: Served, path: str) -> None:
    lines = ("Host: localhost", "Content-Length: 9", "Connection: close")
    heard = knock(small, head_of(small, *lines, path=path) + b"{")
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b"BODY_TOO_SLOW" in heard


@pytest.mark.parametrize("body", [DEEP, b"[" * 50_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000])
@pytest.mark.parametrize("path", ["/call/vcs.notes.commit", "/mcp"])
def test_json_that_nests_too_deep_is_refused_before_it_is_parsed(
    small: Served, path: str, body: bytes
) -> None:
    answer = small.http.post(path, content=body[:60_000], headers=MCP)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")


def test_brackets_inside_texts_are_no_nesting(small: Served) -> None:
    content = '[{"\\' * 500
    assert small.post("vcs.notes.commit", content=content).status_code == 200
    assert small.post("vcs.notes.commit", content="flat", tags=[]).status_code < 500


@pytest.mark.parametrize("name", ["Host: localhost", "Host: evil.example"])
def test_two_host_headers_are_refused(small: Served, name: str) -> None:
    lines = ("Host: localhost", name, "Content-Length: 2", "Connection: close")
    heard = knock(small, head_of(small, *lines) + b"{}")
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert b"REPEATED_HEADER" in heard


class Crowd:
    """Calls that wait in the server, each on a connection of its own."""

    def __init__(self, served: Served, token: str) -> None:
        self._served, self._token = served, token
        self._threads: list[threading.Thread] = []
        self.answers: list[httpx2.Response] = []

    def wait(self, count: int) -> None:
        for _ in range(count):
            self._threads.append(threading.Thread(target=self._wait))
            self._threads[-1].start()
        before = 1  # the question itself
        while self._served.metric("longhouse_requests_open") < before + count:
            pass

    def _wait(self) -> None:
        with self._served.client(self._token) as client:
            args = {"seq": 10_000, "timeout_ms": 60_000, "workspace": "crowd"}
            self.answers.append(
                client.post("/call/system.probe.wait", json=args, timeout=WAIT_S * 4)
            )


@pytest.mark.parametrize("path", ["/", "/healthz", "/static/x.js", "/call/status", "/mcp"])
def test_the_body_of_a_request_without_a_token_is_not_waited_for(small: Served, path: str) -> None:
    host = small.url.removeprefix("http://")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 60000\r\n"
    more = "Connection: close\r\n\r\n"
    for authorization in ("", "Authorization: Bearer wrong\r\n"):
        if authorization and path not in ("/call/status", "/mcp"):
            continue
        status = int(knock(small, f"{head}{authorization}{more}".encode()).split()[1])
        assert status in (401, 404, 405), "answered at once; BODY_TOO_SLOW is 408"
    assert serves(small)


@pytest.fixture
def crowd(serve: Callable[..., Served]) -> Callable[..., tuple[Served, str]]:
    def start(waiting: int, **limits: int) -> tuple[Served, str]:
        served = serve(**limits)
        token, _ = served.new_token("agent")
        Crowd(served, token).wait(waiting)
        return served, token

    return start


def refused(answer: httpx2.Response) -> bool:
    error = answer.json()["error"]
    assert error["retryable"] is (answer.status_code == 429)
    assert ("retry-after" in answer.headers) is (answer.status_code == 429)
    return bool(error["code"] == "TOO_MANY_REQUESTS")


def test_a_token_with_too_many_calls_in_flight_hears_when_to_come_back(
    crowd: Callable[..., tuple[Served, str]],
) -> None:
    served, token = crowd(2, calls_per_token=2, waits_per_token=2)
    with served.client(token) as client:
        assert refused(client.post("/call/status", json={}))
    assert serves(served), "and another token is served"


def test_a_token_with_too_many_waits_may_still_call(
    crowd: Callable[..., tuple[Served, str]],
) -> None:
    served, token = crowd(2, calls_per_token=4, waits_per_token=2)
    waiting = {"seq": 10_000, "timeout_ms": 60_000, "workspace": "crowd"}
    with served.client(token) as client:
        assert refused(client.post("/call/system.probe.wait", json=waiting))
    assert serves(served, token)


def test_a_token_with_too_many_streams_hears_when_to_come_back(small: Served) -> None:
    token, _ = small.new_token("viewer")
    with small.client(token) as client:
        with client.stream("GET", "/events") as one, client.stream("GET", "/events") as two:
            assert (one.status_code, two.status_code) == (200, 200)
            assert refused(client.get("/events"))
        again = 429
        while again == 429:  # until the server has noticed that the streams have ended
            with client.stream("GET", "/events") as answer:
                again = answer.status_code
        assert again == 200


class Child:
    def __init__(self) -> None:
        self.ended: int | None = None

    def poll(self) -> int | None:
        return self.ended


def test_many_workspaces_start_few_runners(tmp_path: Path) -> None:
    started: list[Child] = []

    def spawn(_argv: list[str]) -> Child:
        started.append(Child())
        return started[-1]

    starter = RunnerProcesses(str(tmp_path), spawn=spawn, most=2)
    for number in range(2):
        starter.start(f"ws{number}")
    with pytest.raises(OSError, match="2 runners are already running"):
        starter.start("ws2")
    started[0].ended = 0
    starter.start("ws3")
    assert len(started) == 3
