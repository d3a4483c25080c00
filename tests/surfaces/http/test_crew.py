"""The crew over HTTP: two read-only paths, and the stream that keeps them live."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.surfaces.serving import Served


def call(served: Served, cmd: str, workspace: str, **args: Any) -> dict[str, Any]:
    answer = served.http.post(f"/call/{cmd}", json={"workspace": workspace, **args}).json()
    assert answer["success"], answer["error"]
    result: dict[str, Any] = answer["result"]
    return result


def crew_of(served: Served, workspace: str) -> list[dict[str, Any]]:
    return [
        {
            "agent": name,
            "agent_token": call(served, "agents.register", workspace, name=name)["agent_token"],
        }
        for name in ("amber-otter", "cobalt-harbor")
    ]


@pytest.mark.proves("OPS-013", "OPS-059")
def test_sessions_and_conversations_have_an_address(served: Served) -> None:
    amber, _ = crew_of(served, "sessions")
    task = call(served, "tasks.macro.start", "sessions", task_title="Parser")["task_id"]
    call(served, "agents.reserve", "sessions", **amber, scope="src/*", bead_id="bd-1/a")
    call(
        served,
        "agents.adopt",
        "sessions",
        agent="amber-otter",
        scope="src",
        uncommitted=["src/a.py"],
    )
    feed = served.http.get("/api/sessions?workspace=sessions&limit=5")
    assert feed.status_code == 200
    assert feed.json()["intent"] == "agents.sessions"
    assert [one["id"] for one in feed.json()["result"]["sessions"]] == [task]
    assert feed.json()["result"] == call(served, "agents.sessions", "sessions", limit=5)
    header = {"longhouse-workspace": "sessions"}
    talk = served.http.get("/api/sessions/bd-1%2Fa/conversation?limit=2", headers=header)
    thread = talk.json()["result"]["thread"]
    assert [row["kind"] for row in thread] == ["reserved", "RESUME"]
    assert thread[-1]["event"]["event_type"] == "RESUME"


def test_an_agent_reports_changed_files_and_a_viewer_cannot(served: Served) -> None:
    amber, _ = crew_of(served, "changes")
    changed = {"changed": {"paths": ["docs/guide.md"]}}
    viewer = call(served, "system.token.create", "changes", name="eyes", role="viewer")["token"]
    body = {"workspace": "changes", **amber, **changed}
    eyes = {"authorization": f"Bearer {viewer}"}
    refused = served.http.post("/call/agents.changed", json=body, headers=eyes)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert call(served, "agents.status", "changes")["outside"] == []
    told = call(served, "agents.changed", "changes", **amber, **changed)
    (seen,) = call(served, "agents.status", "changes")["outside"]
    assert (seen["ref"], seen["agent_id"]) == (told["ref"], "amber-otter")


@pytest.mark.parametrize(
    "address,status,code",
    [
        ("/api/sessions?limit=0", 400, "INVALID_INPUT"),
        ("/api/sessions?limit=many", 400, "INVALID_INPUT"),
        ("/api/sessions?no_such=1", 400, "INVALID_INPUT"),
        ("/api/sessions/%20/conversation", 400, "MISSING_BEAD_ID"),
        ("/api/sessions/bd-1/conversation?cursor=x", 400, "INVALID_INPUT"),
        ("/api/sessions/bd-1", 404, "NOT_FOUND"),
    ],
)
def test_a_wrong_address_is_refused(served: Served, address: str, status: int, code: str) -> None:
    answer = served.http.get(address)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_only_who_may_look_can(served: Served) -> None:
    assert served.http.post("/api/sessions").status_code == 405
    stranger = httpx2.get(f"{served.url}/api/sessions")
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "UNAUTHENTICATED")


def test_statuses_follow_the_codes(served: Served) -> None:
    amber, cobalt = crew_of(served, "codes")
    call(served, "agents.reserve", "codes", **amber, scope="src", bead_id="bd-1")
    for cmd, args, status in (
        ("agents.reserve", {**cobalt, "scope": "src", "bead_id": "bd-1"}, 409),
        ("agents.release", {**cobalt, "scope": "src"}, 403),
        ("agents.heartbeat", {**amber, "agent_token": "lha_no"}, 403),
        ("agents.show", {"agent": "ghost-otter"}, 404),
        ("agents.register", {"name": "Bad_Name"}, 400),
    ):
        answer = served.http.post(f"/call/{cmd}", json={"workspace": "codes", **args})
        assert answer.status_code == status, answer.text


def test_what_the_crew_does_is_heard_and_a_heartbeat_is_not(served: Served) -> None:
    amber, cobalt = crew_of(served, "live")
    call(served, "agents.reserve", "live", **amber, scope="src", bead_id="bd-1")
    call(served, "agents.heartbeat", "live", **amber)
    served.http.post(
        "/call/agents.reserve",
        json={"workspace": "live", **cobalt, "scope": "src/a", "bead_id": "bd-2"},
    )
    call(
        served,
        "agents.send",
        "live",
        **cobalt,
        to="amber-otter",
        bead_id="bd-2",
        subject="May I",
        body="please",
    )
    found = []
    with served.http.stream("GET", "/events?workspace=live&after=0&stream=crew") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: ") and "seq" in line:
                found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == 5:
                break
    assert [(row["seq"], row["kind"]) for row in found] == [
        (1, "registered"),
        (2, "registered"),
        (3, "reserved"),
        (4, "INCURSION"),
        (5, "INFO"),
    ]
    assert found[3]["data"]["payload"]["owner_agent"] == "amber-otter"
    assert found[4]["data"]["payload"] == {
        "subject": "May I",
        "snippet": "please",
        "requires_ack": False,
    }


def test_openapi_knows_the_addresses(served: Served) -> None:
    paths = served.http.get("/openapi.json").json()["paths"]
    assert {"/api/sessions", "/api/sessions/{bead_id}/conversation"} <= paths.keys()


def test_what_is_missing_or_wrong_is_named(served: Served) -> None:
    amber, _ = crew_of(served, "wrong")
    for cmd, args, named, *code in (
        ("agents.read", amber, "message"),
        ("agents.ack", amber, "message"),
        ("agents.reserve", {**amber, "scope": "src"}, "bead_id", "MISSING_BEAD_ID"),
        ("agents.reserve", {**amber, "bead_id": "bd-1"}, "scope"),
        (
            "agents.reserve",
            {**amber, "scope": "src", "bead_id": "bd-1", "takeover_stale": "none"},
            "takeover_stale",
        ),
        ("agents.send", {**amber, "to": "cobalt-harbor", "bead_id": "bd-1"}, "subject"),
        (
            "agents.handoff",
            {**amber, "to": "cobalt-harbor", "bead_id": "bd-1", "subject": "s"},
            "summary",
        ),
    ):
        answer = served.http.post(f"/call/{cmd}", json={"workspace": "wrong", **args})
        error = answer.json()["error"]
        assert (answer.status_code, [error["code"]]) == (400, code or ["INVALID_INPUT"]), cmd
        assert named in error["message"]
    for body in (b"not json", b"[1]", b'{"agent": ', b"\xff\xfe"):
        answer = served.http.post(
            "/call/agents.ack", content=body, headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["success"]) == (400, False), body
    assert call(served, "agents.status", "wrong")["reservations"] == []


def test_a_body_of_a_megabyte_is_refused_and_nothing_is_kept(served: Served) -> None:
    amber, _ = crew_of(served, "large")
    note = {"to": "cobalt-harbor", "bead_id": "bd-1", "subject": "s", "body": "x" * (1 << 20)}
    answer = served.http.post("/call/agents.send", json={"workspace": "large", **amber, **note})
    assert answer.status_code in (400, 413)
    assert answer.json()["error"]["recovery"]
    assert call(served, "agents.inbox", "large", agent="cobalt-harbor")["count"] == 0


def test_the_stream_numbers_filters_and_loses_nothing(served: Served) -> None:
    for workspace in ("bus-a", "bus-b"):
        amber, cobalt = crew_of(served, workspace)
        for number in range(150):
            call(
                served, "agents.reserve", workspace, **amber, scope=f"src/{number}", bead_id="bd-1"
            )
        call(served, "agents.heartbeat", workspace, **cobalt)
    with served.http.stream("GET", "/events?workspace=bus-a&after=0") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert "no-store" in stream.headers["cache-control"]
        lines = stream.iter_lines()
        assert [next(lines) for _ in range(3)] == ["retry: 1000", "id: 0", "event: hello"]
    with served.events("workspace=bus-a&after=0&subject=bd-1") as events:
        next(events)
        assert [next(events).id for _ in range(150)] == list(range(3, 153))
        call(served, "agents.release", "bus-b", **amber, scope="src/0")
        call(served, "vcs.notes.commit", "bus-a", content="of another subject")
        call(
            served,
            "agents.send",
            "bus-a",
            **_of(served, "bus-a"),
            to="cobalt-harbor",
            bead_id="bd-1",
            subject="s",
            body="b",
        )
        later = next(events)
    assert (later.name, later.data["kind"]) == ("crew", "INFO")


def test_a_change_in_beads_reaches_who_listens_once(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    folder = tmp_path / ".longhouse"
    folder.mkdir()
    (folder / "config.toml").write_text('items = "beads"\n')
    issue = {"id": "bb-1", "title": "Parser", "status": "open"}

    def tell(**changes: str) -> None:
        (folder / "partial").write_text(json.dumps([{**issue, **changes}]))
        (folder / "partial").replace(folder / "beads.json")

    tell()
    served = serve()
    served("agents.items.sync")
    with served.events("stream=beads&after=0") as events:
        next(events)
        for status, kind in (("closed", "closed"), ("open", "reopened")):
            tell(status=status)
            served("agents.items.sync")
            event = next(events)
            assert (event.name, event.data["kind"], event.data["subject"]) == (
                "beads",
                kind,
                "bb-1",
            )
    assert served("agents.conversation", bead_id="bb-1")["count"] == 2


def _of(served: Served, workspace: str) -> dict[str, Any]:
    made = call(served, "agents.register", workspace)
    return {"agent": made["agent"]["agent_id"], "agent_token": made["agent_token"]}
