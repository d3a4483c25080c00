"""Exporting an ended task as a recording, and importing a recording as an ended task."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from longhouse.kernel.tool_tasks import INLINE_BYTES
from longhouse.processes import importing
from longhouse.processes.records import existing
from longhouse.store.tx import Tx
from longhouse.terminals import recording as rec
from tests.kit import Lh
from tests.processes.kit import RECORDED, Runner, ended, imported, out, recorded, spawned, stored
from tests.processes.test_output import TOKEN, folder

KEPT = ("seq", "type", "chunk", "offset_bytes", "bytes", "rows", "cols", "signal", "status")


def shown(offset: int, data: bytes, *, text: bool = True) -> dict[str, Any]:
    frame = {"type": "tool_task_output_delta", "offset_bytes": offset, "bytes": len(data)}
    return {**frame, "chunk": data.decode()} if text else frame


def session(lh: Lh, *parts: bytes, **more: Any) -> str:
    """A task in a terminal that printed these, a tenth of a second after one another."""
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty", **more)
    whole = b"".join(parts)
    (folder(lh, task_id) / "pty.log").write_bytes(whole)
    at = 0
    for part in parts:
        lh.clock.advance(100)
        runner.append(task_id, shown(at, part, text=len(part) < 8_000))
        at += len(part)
    op = lh("tool.task_resize", task_id=task_id, rows=30, cols=100)["op_id"]
    lh.clock.advance(5)
    sized = {"type": "tool_task_resized", "op_id": op, "rows": 30, "cols": 100}
    seal = {"bytes_total": at, "bytes_stored": at}
    runner.append(task_id, sized, ended(exit_code=3, logs={"pty": seal}))
    return task_id


def frames(lh: Lh, task_id: str) -> list[dict[str, Any]]:
    found, after = [], -1
    while True:
        page = lh(
            "tool.task_stream_events", task_id=task_id, after_seq=after, budget_profile="audit"
        )
        found += page["frames"]
        after = page["next_cursor"]
        if not page["has_more"]:
            return found


def told(lh: Lh, task_id: str) -> list[tuple]:
    """What the frames report, and when, without details specific to this task."""
    whole = [one for one in frames(lh, task_id) if one["type"] != "tool_policy_decided"]
    begun = whole[1]["timestamp_ms"]
    return [
        (one["timestamp_ms"] - begun, *(one.get(name) for name in KEPT[1:])) for one in whole[1:]
    ]


@pytest.mark.proves("TTA-036", "TTA-046")
def test_a_recording_of_a_task_becomes_a_task_with_the_same_story(lh: Lh) -> None:
    task_id = session(lh, b"$ ", b"ls\r\n", "gr\u00fcn\r\n".encode(), title="a look")
    recording = recorded(lh, task_id)
    again = imported(lh, recording)
    assert told(lh, again) == told(lh, task_id)
    assert recorded(lh, again) == recording
    task = lh("tool.task_status", task_id=again)["task"]
    assert (task["status"], task["exit_code"], task["tool"]) == ("exited", 3, "recording")
    assert (task["title"], task["execution_mode"], task["pid"]) == ("a look", "pty", None)
    assert lh("tool.output_fetch", task_id=again)["parts"][0]["text"] == "$ ls\r\ngr\u00fcn\r\n"
    assert lh("open", id=again)["tail"]["pty"].endswith("gr\u00fcn\r\n")


def test_the_recording_says_what_was_run_and_when_what_happened(lh: Lh) -> None:
    recording = recorded(lh, session(lh, b"a", b"b", command="htop", args={"rows": 40}))
    head, *events = [json.loads(line) for line in recording.splitlines()]
    assert (head["command"], head["tool"], head["rows"]) == ("htop", "bash", 40)
    assert [(one["type"], one["at"]) for one in events] == [
        ("output", 100),
        ("output", 200),
        ("resize", 205),
        ("end", 205),
    ]


def test_long_output_that_is_no_text_comes_back_byte_for_byte_in_pages(lh: Lh) -> None:
    data = bytes(range(256)) * 3_000
    task_id = session(lh, b"begun\r\n", data, "\u6f22".encode() * 9_000, b"over")
    page = lh("tool.recording_export", task_id=task_id)
    assert page["has_more"]
    recording = recorded(lh, task_id)
    assert len(base64.b64decode(page["data_b64"])) < 110_000
    again = imported(lh, recording)
    assert recorded(lh, again) == recording
    raw = b""
    while len(raw) < len(data):
        got = lh("tool.output_raw", task_id=again, offset_bytes=len(raw), max_bytes=49_152)
        raw += base64.b64decode(got["data_b64"])
    assert raw[7 : 7 + len(data)] == data[: len(raw) - 7]
    inline = sum(one["bytes"] for one in frames(lh, again) if one.get("chunk"))
    assert inline <= INLINE_BYTES


@pytest.mark.parametrize("cursor", ["999.0.0", f"{10**15 - 1}.0.0", "999.5.7"])
def test_behind_the_end_of_a_recording_is_nothing_and_no_next_page(lh: Lh, cursor: str) -> None:
    page = lh("tool.recording_export", task_id=session(lh, b"over"), cursor=cursor)
    assert (page["data_b64"], page["has_more"], page["next_cursor"]) == ("", False, None)


def test_a_secret_is_starred_out_of_a_recording(lh: Lh) -> None:
    recording = recorded(lh, session(lh, f"token {TOKEN} \r\n".encode()))
    assert TOKEN.encode() not in recording
    assert b"token *" in recording


def test_what_the_cap_took_out_is_a_gap_in_the_recording_too(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    (folder(lh, task_id) / "pty.log").write_bytes(b"head" + b"\0" * 6 + b" end")
    (folder(lh, task_id) / "pty.gap").write_text("4 10")
    seal = {"bytes_total": 14, "bytes_stored": 8, "truncated": True, "gap": {"from": 4, "to": 10}}
    runner.append(task_id, shown(0, b"head++", text=False), shown(6, b"++++ end", text=False))
    runner.append(task_id, ended(logs={"pty": seal}))
    recording = recorded(lh, task_id)
    events = [json.loads(line) for line in recording.splitlines()][1:-1]
    assert [(one["type"], one["offset"]) for one in events] == [
        ("output", 0),
        ("gap", 4),
        ("gap", 6),
        ("output", 10),
    ]
    again = imported(lh, recording)
    assert recorded(lh, again) == recording
    got = lh("tool.output_fetch", task_id=again, offset_bytes=10)
    assert (got["parts"][0]["text"], got["capped"]) == (" end", True)


def test_a_task_without_a_terminal_has_a_recording_of_both_streams(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    for stream, text in (("stdout", "one\ntwo\n"), ("stderr", "bad\n")):
        (folder(lh, task_id) / f"{stream}.log").write_text(text)
    runner.append(task_id, out(0, "one\n"), out(0, "bad\n", "stderr"), out(4, "two\n"))
    seals = {"stdout": {"bytes_total": 8, "bytes_stored": 8}}
    seals["stderr"] = {"bytes_total": 4, "bytes_stored": 4}
    runner.append(task_id, ended(logs=seals))
    recording = recorded(lh, task_id)
    again = imported(lh, recording)
    assert told(lh, again) == told(lh, task_id)
    assert recorded(lh, again) == recording
    assert lh("tool.output_fetch", task_id=again, stream="stderr")["parts"][0]["text"] == "bad\n"


def test_a_cancelled_task_is_recorded_as_one(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    lh("tool.task_cancel", task_id=task_id, reason="enough")
    op = f"{task_id}.1"
    over = {"type": "tool_task_cancelled", "reason": "enough", "op_id": op}
    runner.append(task_id, over, ended("cancelled", None, signal="TERM"))
    recording = recorded(lh, task_id)
    again = imported(lh, recording)
    task = lh("tool.task_status", task_id=again)["task"]
    assert (task["status"], task["cancel_reason"]) == ("cancelled", "enough")
    assert recorded(lh, again) == recording


def test_a_task_that_runs_or_never_ran_has_no_recording_and_says_what_to_do(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    refused = lh.envelope("tool.recording_export", task_id=task_id)
    assert "its recording is available once it has ended" in refused["error"]["message"]
    runner.append(task_id, ended())
    lh.run_actions(refused)  # it waits for the end
    waiting = spawned(lh)
    lh("tool.task_cancel", task_id=waiting)
    assert "never ran" in lh.refused("tool.recording_export", task_id=waiting)["message"]


@pytest.mark.parametrize(
    "recording, said",
    [
        ("hello", "line 1"),
        (RECORDED[:-9], "line 3"),
        (RECORDED.replace('"exited"', '"cancelled"'), "describes something impossible"),
        (
            "".join(
                [
                    RECORDED.partition("\n")[0] + "\n",
                    '{"type":"cancel","at":1}\n' * 2,
                    RECORDED.partition("\n")[2],
                ]
            ),
            "has already been asked to end",
        ),
    ],
)
def test_what_is_no_recording_is_refused_and_leaves_nothing(
    lh: Lh, recording: str, said: str
) -> None:
    refused = lh.refused("tool.recording_import", artifact=stored(lh, recording.encode()))
    assert said in refused["message"]
    assert "longhouse recording export" in refused["recovery"]
    assert lh("tool.task_list")["tasks"] == []


def test_a_recording_that_is_too_long_to_take_in_is_refused_and_can_still_be_seen(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST_LINES", 2)
    refused = lh.refused("tool.recording_import", artifact=stored(lh, RECORDED.encode()))
    assert "more than 2 lines" in refused["message"]
    assert "longhouse replay FILE" in refused["recovery"]


def test_an_imported_task_takes_no_input_and_no_runner_gets_it(lh: Lh) -> None:
    again = imported(lh, RECORDED.encode())
    assert Runner(lh).claim() == []
    refused = lh.refused("tool.task_resize", task_id=again, rows=1, cols=1)
    assert "is exited, not running" in refused["message"]
    assert lh("tool.task_cancel", task_id=again)["task"]["status"] == "exited"
    assert rec.FORMAT in RECORDED


def test_what_people_said_of_a_task_holds_no_secret_in_its_recording(lh: Lh) -> None:
    """A recording's lines are sent encoded, where the scan for secrets does not see them."""
    runner = Runner(lh)
    task_id = runner.start(title=f"deploy with {TOKEN}")
    lh("tool.task_cancel", task_id=task_id, reason=f"it printed {TOKEN}")
    over = ended("cancelled", None, error=f"killed while it held {TOKEN}")
    runner.append(task_id, {"type": "tool_task_cancelled", "reason": f"had {TOKEN}"}, over)
    said = recorded(lh, task_id)
    assert b"deploy with" in said
    assert b"it printed" in said
    assert TOKEN.encode() not in said


def made(*events: dict[str, Any], title: str = "") -> bytes:
    """A hand-written recording with secrets in plain text."""
    totals = rec.Totals("pty")
    lines: list[rec.Header | rec.Event] = [
        rec.Header(version=1, mode="pty", tool="bash", command="sh", title=title)
    ]
    for event in (msgspec.convert(one, rec.Event) for one in events):
        if isinstance(event, rec.Output | rec.Gap):
            totals.take(event)
        lines.append(event)
    lines.append(rec.End(at=99, status="exited", exit_code=0, streams=totals.ends()))
    return b"".join(map(rec.encoded, lines))


def piece(offset: int, text: str) -> dict[str, Any]:
    return {"type": "output", "at": 1, "stream": "pty", "offset": offset, "text": text}


def kept(lh: Lh, task_id: str) -> list[dict[str, Any]]:
    """The frames as stored in the log, since answers are scanned for secrets once more."""

    def read(tx: Tx) -> list[dict[str, Any]]:
        return existing(tx, task_id).frames(tx, 0, 1_000)

    return lh.house.db.read("acme", read, lh.house._call())


def test_a_secret_that_was_echoed_key_by_key_is_starred_out_of_an_imported_task(lh: Lh) -> None:
    text = f"token {TOKEN} \r\n"
    keys = [piece(at, text[at]) for at in range(len(text))]
    again = imported(lh, made(*keys))
    chunks = [one["chunk"] for one in kept(lh, again) if one.get("chunk")]
    assert "".join(chunks) == f"token {'*' * len(TOKEN)} \r\n"
    assert len(chunks) == len(text)


def test_a_secret_that_a_gap_cut_is_starred_out_of_an_imported_task(lh: Lh) -> None:
    gap = {"type": "gap", "at": 1, "stream": "pty", "offset": 19, "bytes": 10}
    before, after = f"token {TOKEN[:13]}", f"{TOKEN[23:]} end"
    again = imported(lh, made(piece(0, before[:9]), piece(9, before[9:]), gap, piece(29, after)))
    chunks = [one["chunk"] for one in kept(lh, again) if one.get("chunk")]
    assert "".join(chunks) == f"token {'*' * 13}{'*' * len(TOKEN[23:])} end"


def test_a_secret_that_goes_on_where_frames_carry_no_more_text_is_starred_out(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "INLINE_BYTES", 20)
    again = imported(lh, made(piece(0, f"so: {TOKEN[:6]}"), piece(10, TOKEN[6:] + " end")))
    chunks = [one["chunk"] for one in kept(lh, again) if one.get("chunk")]
    assert chunks == [f"so: {'*' * 6}"]


def test_what_people_said_in_a_recording_is_kept_without_its_secrets(lh: Lh) -> None:
    cancel = {"type": "cancel", "at": 1, "reason": f"it printed {TOKEN}"}
    again = imported(lh, made(piece(0, "hi"), cancel, title=f"deploy with {TOKEN}"))
    log = str(kept(lh, again))
    assert "deploy with <redacted>" in log
    assert "it printed <redacted>" in log
    assert TOKEN not in log


def test_a_task_that_printed_more_than_a_recording_holds_says_so_at_once(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = session(lh, b"0123456789")
    monkeypatch.setattr(rec, "MOST_BYTES", 10)
    assert recorded(lh, task_id)
    monkeypatch.setattr(rec, "MOST_BYTES", 9)
    refused = lh.envelope("tool.recording_export", task_id=task_id)
    assert refused["error"]["code"] == "CONFLICT"
    assert "10 bytes; the limit is 9" in refused["error"]["message"]
    assert "tool.output_fetch" in refused["error"]["recovery"]
    lh.run_actions(refused)


CAST = b'{"version":3,"term":{"cols":90,"rows":20}}\n[0.1,"o","one\\r\\n"]\n[0.2,"i","hunter2"]\n'


@pytest.mark.proves("TTA-037")
@pytest.mark.parametrize("way", ["artifact", "content_b64"])
def test_an_asciicast_is_taken_in_as_a_recording_is(lh: Lh, way: str) -> None:
    given = stored(lh, CAST) if way == "artifact" else base64.b64encode(CAST).decode()
    task = lh("tool.recording_import", **{way: given})["task"]
    assert (task["status"], task["args"]["cols"], task["tool"]) == ("exited", 90, "recording")
    assert b"hunter2" not in recorded(lh, task["task_id"])
    assert lh("tool.output_fetch", task_id=task["task_id"])["parts"][0]["text"] == "one\r\n"


def test_a_recording_in_the_call_itself_is_the_same_as_one_that_was_stored(lh: Lh) -> None:
    coded = base64.b64encode(RECORDED.encode()).decode()
    task_id = lh("tool.recording_import", content_b64=coded)["task"]["task_id"]
    assert recorded(lh, task_id) == RECORDED.encode()


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, "expected exactly one of artifact"),
        (
            {"artifact": "artifact:2cf24dba5fb0", "content_b64": "aGk="},
            "expected exactly one of artifact",
        ),
        ({"content_b64": "a*=="}, "content_b64: not base64"),
        ({"content_b64": "aGk="}, "content_b64: this is not a recording"),
    ],
)
def test_an_import_needs_one_recording(lh: Lh, given: dict[str, str], said: str) -> None:
    error = lh.refused("tool.recording_import", **given)
    assert (error["code"], said in error["message"]) == ("INVALID_INPUT", True)
    assert error["recovery"]
    assert lh("tool.task_list")["tasks"] == []


def test_an_asciicast_of_one_line_cannot_become_more_frames_than_others(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST_LINES", 3)
    cast = CAST.partition(b"\n")[0] + b'\n[0,"o","' + b"x" * 4 * 8_192 + b'"]\n'
    error = lh.refused("tool.recording_import", content_b64=base64.b64encode(cast).decode())
    assert "more than 3 lines" in error["message"]
