"""Recordings over HTTP: a task's recording as a file, and a file imported as a task."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.surfaces.http import recordings
from longhouse.terminals import recording as rec
from longhouse.terminals.asciicast import to_asciicast
from tests.processes.kit import RECORDED, long_recording
from tests.surfaces.serving import Served

CAST = (
    '{"version":3,"term":{"cols":90,"rows":20},"timestamp":1800000000}\n'
    '[0.1,"o","one\\r\\n"]\n[0.2,"i","hunter2"]\n[0.25,"r","100x30"]\n[0.0,"x","4"]\n'
)


class Files:
    """The two paths, for one workspace and any token."""

    def __init__(self, served: Served, workspace: str, token: str | None = None) -> None:
        self.served, self.workspace = served, workspace
        self._headers = {"longhouse-workspace": workspace}
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    def send(self, data: str | bytes, query: str = "", **headers: str) -> Any:
        sent = {**self._headers, **headers}
        return self.served.http.post(f"/recordings{query}", content=data, headers=sent)

    def get(self, task_id: str, query: str = "") -> Any:
        return self.served.http.get(f"/tasks/{task_id}/recording{query}", headers=self._headers)


@pytest.fixture
def files(served: Served, request: pytest.FixtureRequest) -> Files:
    return Files(served, f"r-{abs(hash(request.node.name))}")


def test_a_file_that_is_sent_becomes_a_task_whose_recording_is_that_file(files: Files) -> None:
    answer = files.send(RECORDED, "?title=a+look")
    assert (answer.status_code, answer.json()) == (201, {"task_id": "PROC-001"})
    assert answer.headers["location"] == "/tasks/PROC-001"
    task = files.served("tool.task_status", workspace=files.workspace, task_id="PROC-001")["task"]
    assert (task["tool"], task["status"], task["title"]) == ("recording", "exited", "a look")
    again = files.get("PROC-001")
    assert again.text == RECORDED.replace('"echo hi",', '"echo hi","title":"a look",')
    assert again.headers["content-type"] == "application/x-ndjson"
    assert again.headers["content-disposition"] == 'attachment; filename="PROC-001.jsonl"'
    assert again.headers["cache-control"] == "no-store"


def test_a_recording_of_many_pages_comes_whole_in_either_format(files: Files) -> None:
    sent = long_recording(600)
    assert len(sent) > 4 * 40_000
    task_id = files.send(sent).json()["task_id"]
    assert files.get(task_id).content == sent
    cast = files.get(task_id, "?format=asciicast")
    assert cast.content == b"".join(to_asciicast(rec.read(sent.splitlines())))
    assert cast.headers["content-type"] == "application/x-asciicast"
    assert cast.headers["content-disposition"] == f'attachment; filename="{task_id}.cast"'


@pytest.mark.parametrize("cursor", ["2.0.0", "999.0.0", "nonsense"])
def test_a_recording_comes_whole_wherever_it_is_asked_to_begin(files: Files, cursor: str) -> None:
    task_id = files.send(RECORDED).json()["task_id"]
    assert files.get(task_id, f"?cursor={cursor}").text == RECORDED


def test_a_file_that_is_sent_again_under_its_key_is_taken_in_once(files: Files) -> None:
    for _ in range(2):
        answer = files.send(RECORDED, **{"idempotency-key": "once"})
        assert (answer.status_code, answer.json()) == (201, {"task_id": "PROC-001"})
    assert files.send(RECORDED).json() == {"task_id": "PROC-002"}


def test_an_asciicast_is_taken_in_without_what_was_typed(files: Files) -> None:
    task_id = files.send(CAST).json()["task_id"]
    told = [json.loads(line) for line in files.get(task_id).text.splitlines()]
    assert [one["type"] for one in told] == ["longhouse-recording", "output", "resize", "end"]
    assert (told[0]["cols"], told[-1]["exit_code"]) == (90, 4)
    listed = files.served("docs.artifact.list", workspace=files.workspace)["artifacts"]
    assert [one["digest"] for one in listed] == [hashlib.sha256(b"one\r\n").hexdigest()]


@pytest.mark.parametrize(
    "data, said",
    [
        ("", "content_b64"),
        ("#!/bin/sh\nrm -rf .\n", "line 1"),
        (RECORDED.replace("hi\\r", "ho\\r"), "does not match these totals"),
        (RECORDED[: RECORDED.index('{"type":"end"')], "it stops after line 2"),
        ("x" * (recordings.MOST_BYTES + 1), "at most 1000000"),
    ],
    ids=["nothing", "a script", "a changed byte", "half of it", "too much"],
)
def test_what_is_no_recording_is_refused_and_leaves_nothing(
    files: Files, data: str, said: str
) -> None:
    answer = files.send(data)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_INPUT")
    assert said in error["message"]
    assert error["recovery"]
    assert files.get("PROC-001").status_code == 404
    assert files.served("docs.artifact.list", workspace=files.workspace)["artifacts"] == []


def test_what_cannot_be_had_as_a_file_says_so_before_any_of_it_is_sent(files: Files) -> None:
    pipes = rec.Header(version=1, mode="pipes")
    end = rec.End(at=0, status="exited", streams=rec.Totals("pipes").ends())
    task_id = files.send(rec.encoded(pipes) + rec.encoded(end)).json()["task_id"]
    assert files.get(task_id).status_code == 200
    refused = {
        "?format=asciicast": "format: only a task in a terminal can become an asciicast",
        "?format=mp4": "format: unknown format 'mp4'",
        "?speed=2": "speed",
    }
    for query, said in refused.items():
        answer = files.get(task_id, query)
        assert (answer.status_code, said in answer.json()["error"]["message"]) == (400, True)
    files.served("tool.policy_allow", workspace=files.workspace, tool="bash")
    body = {"tool": "bash", "args": {"command": "sleep 9"}, "workspace": files.workspace}
    queued = files.served("tool.task_spawn", **body)["task_id"]
    assert files.get(queued).status_code == 409
    assert "once it has ended" in files.get(queued).json()["error"]["message"]


def test_a_viewer_may_have_a_recording_but_not_bring_one(served: Served, files: Files) -> None:
    task_id = files.send(RECORDED).json()["task_id"]
    viewer = Files(served, files.workspace, served.new_token("viewer")[0])
    assert viewer.get(task_id).text == RECORDED
    assert viewer.send(RECORDED).status_code == 403
    nobody = Files(served, files.workspace, "lh_nobody")
    assert nobody.get(task_id).status_code == nobody.send(RECORDED).status_code == 401


class Failing:
    """A dispatcher whose task is gone after its first page."""

    def __init__(self) -> None:
        page = {"task_id": "PROC-001", "data_b64": base64.b64encode(b"begun\n").decode()}
        error = {"message": "its output was removed"}
        self._answers = [
            SimpleNamespace(success=False, envelope={"error": error}),
            SimpleNamespace(success=True, envelope={"result": {**page, "next_cursor": "1.0.0"}}),
        ]

    async def call_async(self, *_: Any) -> Any:
        return self._answers.pop()


def test_a_recording_that_cannot_be_read_to_its_end_breaks_off_instead_of_ending() -> None:
    dispatcher: Any = Failing()
    path = {"task_id": "PROC-001"}
    scope = {"type": "http", "headers": [], "query_string": b"", "path_params": path}
    request = Request({**scope, "longhouse.caller": Caller(Role.VIEWER)})

    async def read() -> None:
        answer = await recordings.Recordings(dispatcher)._export(request)
        assert isinstance(answer, StreamingResponse)
        pages = aiter(answer.body_iterator)
        assert await anext(pages) == b"begun\n"
        with pytest.raises(ConnectionAbortedError, match="its output was removed"):
            await anext(pages)

    asyncio.run(read())
