"""`POST /call/{cmd}` and the common format of every answer."""

from __future__ import annotations

import json

import pytest

from tests.surfaces.serving import Served

ENVELOPE = {
    "success",
    "intent",
    "result",
    "refs",
    "actions",
    "warnings",
    "suggestions",
    "context",
    "error",
    "timestamp",
}


def test_a_command_is_called_by_its_name_with_a_json_object(served: Served) -> None:
    answer = served.post("vcs.notes.commit", workspace="calls", content="hello")
    assert answer.status_code == 200
    assert set(answer.json()) == ENVELOPE
    assert answer.json()["result"]["ref"] == "notes@1"


def test_lines_are_plain_text_and_stand_alone(served: Served) -> None:
    answer = served.post("status", fmt="lines")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.startswith(("ready ", "new "))


def test_an_empty_body_is_a_call_without_arguments(served: Served) -> None:
    assert served.http.post("/call/status").json()["success"]


def test_the_workspace_comes_from_the_address_or_a_header_unless_the_body_names_one(
    served: Served,
) -> None:
    by_query = served.http.post("/call/status?workspace=one", json={})
    by_header = served.http.post("/call/status", headers={"Longhouse-Workspace": "two"})
    by_body = served.http.post("/call/status?workspace=one", json={"workspace": "three"})
    named = [a.json()["result"]["workspace"] for a in (by_query, by_header, by_body)]
    assert named == ["one", "two", "three"]


def test_a_session_header_remembers_the_workspace_between_calls(served: Served) -> None:
    mine = {"Longhouse-Session": "s-1"}
    served.http.post("/call/workspace.use", json={"workspace": "kept"}, headers=mine)
    again = served.http.post("/call/status", headers=mine).json()["result"]["workspace"]
    other = served.http.post("/call/status").json()["result"]["workspace"]
    assert (again, other) == ("kept", "acme")


@pytest.mark.parametrize(
    "method, path, body, status, code",
    [
        ("POST", "/call/status", b"{", 400, "INVALID_INPUT"),
        ("POST", "/call/status", b"\xff\xfe", 400, "INVALID_INPUT"),
        ("POST", "/call/status", b"[" * 100_000, 400, "INVALID_INPUT"),
        ("POST", "/call/status", b"[]", 400, "INVALID_INPUT"),
        ("POST", "/call/status", b'"text"', 400, "INVALID_INPUT"),
        ("POST", "/call/status", b'{"nope": 1}', 400, "INVALID_INPUT"),
        ("POST", "/call/status", b'{"workspace": "../x"}', 400, "INVALID_NAME"),
        ("POST", "/call/no.such", b"{}", 404, "UNKNOWN_CMD"),
        ("POST", "/call/open", b'{"id": "JOB-999"}', 404, "UNKNOWN_ID"),
        ("POST", "/call/status", b'"' + b"x" * 5_000_000 + b'"', 413, "BODY_TOO_LARGE"),
        ("GET", "/call/status", b"", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/events", b"", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/nope", b"", 404, "NOT_FOUND"),
        ("GET", "/static/../server.py", b"", 404, "NOT_FOUND"),
        ("GET", "/static/%2e%2e%2fserver.py", b"", 404, "NOT_FOUND"),
        ("GET", "/events?after=x", b"", 400, "INVALID_INPUT"),
        ("GET", "/events?after=99999", b"", 400, "INVALID_INPUT"),
        ("GET", "/events?colour=red", b"", 400, "INVALID_INPUT"),
        ("POST", "/call/system.probe.fail", b"{}", 500, "INTERNAL_ERROR"),
    ],
)
def test_every_refusal_has_the_same_shape_and_the_status_of_its_code(
    served: Served, method: str, path: str, body: bytes, status: int, code: str
) -> None:
    answer = served.http.request(method, path, content=body)
    envelope = answer.json()
    assert (answer.status_code, envelope["error"]["code"]) == (status, code)
    assert set(envelope) == ENVELOPE
    assert not envelope["success"]
    assert envelope["error"]["recovery"]
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text


def test_a_body_that_never_tells_its_length_is_cut_off_at_the_limit(served: Served) -> None:
    def endless():
        yield b'{"content": "'
        for _ in range(80):
            yield b"x" * 65_536

    answer = served.http.post("/call/vcs.notes.commit", content=endless())
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "BODY_TOO_LARGE")


def test_every_command_is_in_the_openapi_document_with_references_that_resolve(
    served: Served,
) -> None:
    document = served.http.get("/openapi.json").json()
    listed = served("system.cmd.list", limit=500, budget_profile="audit")["cmds"]
    paths = {path for path in document["paths"] if path.startswith("/call/")}
    assert {f"/call/{row['cmd']}" for row in listed} <= paths
    schemas = document["components"]["schemas"]
    text = json.dumps(document)
    for ref in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        assert ref.startswith("#/components/")
        assert ref.rpartition("/")[2] in schemas | document["components"]["parameters"], ref
    create = document["paths"]["/call/jobs.create"]["post"]["requestBody"]["content"]
    schema = schemas[create["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    assert {"title", "prompt", "workspace", "idempotency_key"} <= set(schema["properties"])


def test_calls_are_counted_by_command_and_code_with_their_latencies(served: Served) -> None:
    line = 'longhouse_calls_total{cmd="open",code="UNKNOWN_ID"}'
    before = served.metric(line)
    served.post("open", id="JOB-404")
    assert served.metric(line) == before + 1
    assert served.metric('longhouse_call_seconds_bucket{cmd="open",le="+Inf"}') >= before + 1
    assert served.metric("longhouse_store_bytes") > 0


@pytest.mark.parametrize("body", [{"max_chars": 1}, {"max_bytes": 1}, {}])
def test_an_answer_fits_its_schema_also_when_it_was_cut(served: Served, body: dict) -> None:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    document = served.http.get("/openapi.json").json()
    answers = document["paths"]["/call/docs.show"]["post"]["responses"]
    assert set(answers["default"]["content"]) == {"application/json", "text/plain"}
    schema = answers["200"]["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**document, **schema})
    envelope = served.post("docs.show", doc_kind="notes", **body).json()
    validator.validate(envelope)
    assert envelope["result"]["truncated"] is bool(body)
    envelope["result"].pop("entries", None)
    envelope["result"].pop("budget", None)
    assert not validator.is_valid(envelope), "less than that is no answer"
