"""Access control: which callers and origins are accepted."""

from __future__ import annotations

import socket

import pytest

from tests.surfaces.serving import Served

ROLES = ("viewer", "agent", "manager", "operator")
ALLOWED = {"status": ROLES, "vcs.notes.commit": ROLES[1:], "system.token.list": ROLES[3:]}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("cmd", ALLOWED)
def test_a_role_may_do_what_its_commands_allow_and_nothing_more(
    served: Served, role: str, cmd: str
) -> None:
    token, _ = served.new_token(role)
    args = {"content": "x"} if cmd == "vcs.notes.commit" else {}
    with served.client(token) as http:
        answer = http.post(f"/call/{cmd}?workspace=roles", json=args)
    if role in ALLOWED[cmd]:
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Basic abc", "Bearer lh_" + "0" * 64, "Bearer \u00e9"]
)
def test_without_a_known_token_every_path_but_the_page_and_health_is_closed(
    served: Served, header: str | None
) -> None:
    headers = [(b"authorization", header.encode())] if header is not None else []
    with served.client(None) as http:
        closed = ("/events", "/metrics", "/openapi.json", "/mcp", "/api/me", "/nope", "/jobsX")
        for path in ("/call/status", *closed):
            answer = http.request("POST" if "call" in path else "GET", path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in ("/", "/jobs/JOB-001", "/healthz", "/static/index.js", "/favicon.ico"):
            assert http.get(path, headers=headers).status_code != 401


def test_a_revoked_token_stops_working_with_the_next_call(served: Served) -> None:
    token, token_id = served.new_token("agent")
    with served.client(token) as http:
        assert http.post("/call/status").status_code == 200
        served("system.token.revoke", id=token_id)
        assert http.post("/call/status").status_code == 401
    assert served.post("system.token.revoke", id=token_id).status_code == 404


def test_a_repeated_creation_gives_a_working_credential_and_the_lost_one_is_void(
    served: Served,
) -> None:
    first = served("system.token.create", role="viewer", idempotency_key="once")
    again = served("system.token.create", role="viewer", idempotency_key="once")
    assert first["token"].startswith("lh_")
    assert again["id"] == first["id"]
    for made, status in ((first, 401), (again, 200)):
        with served.client(made["token"]) as http:
            assert http.post("/call/status").status_code == status
    assert first["token"] not in served.post("system.token.list").text
    assert first["token"].encode() not in b"".join(
        path.read_bytes() for path in served.dir.glob("longhouse.db*")
    )


def test_the_token_file_and_the_note_are_for_their_owner_alone(served: Served) -> None:
    for name in ("token", "server.json", "server.lock"):
        assert (served.dir / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "headers, status, code",
    [
        ({"host": "evil.example"}, 421, "HOST_NOT_ALLOWED"),
        ({"host": "127.0.0.1.evil.example"}, 421, "HOST_NOT_ALLOWED"),
        ({"host": "10.0.0.1"}, 421, "HOST_NOT_ALLOWED"),
        ({"host": ""}, 421, "HOST_NOT_ALLOWED"),
        ({"origin": "http://evil.example"}, 403, "ORIGIN_NOT_ALLOWED"),
        ({"origin": "null"}, 403, "ORIGIN_NOT_ALLOWED"),
        ({"origin": "http://127.0.0.1:1"}, 403, "ORIGIN_NOT_ALLOWED"),
    ],
)
@pytest.mark.parametrize("path", ["/call/status", "/mcp", "/healthz", "/"])
def test_a_foreign_host_or_origin_is_refused_on_every_path(
    served: Served, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    answer = served.http.request("GET", path, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_its_own_names_and_origin_are_welcome(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    for host in (f"localhost:{port}", f"[::1]:{port}", f"127.0.0.1:{port}"):
        headers = {"host": host, "origin": f"http://{host}"}
        assert served.http.post("/call/status", headers=headers).status_code == 200


def test_a_request_without_a_host_is_refused(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 421 " in connection.recv(4096)
