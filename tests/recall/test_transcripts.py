"""Transcripts in the one search: for those who may read them, without secrets, within bounds."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.thinking.transcripts import recalling
from longhouse.thinking.transcripts.folders import TranscriptRoot, files_of
from tests.kit import Lh
from tests.memory.kit import note
from tests.thinking.test_transcripts import aged, session

QUESTION = "why does the login test fail"
SAID = "The login test is failing because the cookie expires too early."


def spoken(lh: Lh, text: str = QUESTION, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = lh("docs.search", text=text, **more).get("transcripts") or {}
    return found


def test_what_was_said_in_a_session_is_found_beside_the_record(lh: Lh) -> None:
    seq = note(lh, "The login test was rewritten.")
    path = session(lh, ("user", "Good morning"), ("assistant", SAID), ("assistant", SAID))
    envelope = lh.envelope("docs.search", text=QUESTION)
    result = envelope["result"]
    assert [hit["ref"] for hit in result["hits"]] == [f"notes@{seq}"]
    (hit,) = result["transcripts"]["hits"]
    assert (hit["path"], hit["line"], hit["role"], hit["text"]) == ("s.jsonl", 3, "assistant", SAID)
    assert hit["words"] == ["login", "test", "fail"]
    size = path.stat().st_size
    assert result["transcripts"]["scanned"] == {"files": 1, "bytes": size, "truncated": False}
    opened = [one for one in lh.run_actions(envelope) if "entries" in one.envelope["result"]]
    assert SAID in str(opened[0].envelope["result"])
    lines = lh.lines("docs.search", text=QUESTION)
    assert any(line.startswith("- transcript s.jsonl:3 assistant") for line in lines)
    assert f"transcripts read: 1 files, {size} bytes" in lines


def test_they_can_be_asked_for_alone_or_not_at_all(lh: Lh) -> None:
    note(lh, SAID)
    session(lh, ("assistant", SAID))
    alone = lh("docs.search", text=QUESTION, kind="transcript")
    assert alone["hits"] == []
    assert len(alone["transcripts"]["hits"]) == 1
    for narrower in (
        {"transcripts": False},
        {"kind": "note"},
        {"branch": "main"},
        {"doc": "notes"},
        {"as_of": 1},
        {"since": "1d"},
        {"author": "x"},
        {"path": "src/a.py"},
        {"order": "newest"},
    ):
        assert spoken(lh, **narrower) == {}, narrower


def test_a_resume_reads_no_transcripts(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    task = lh("tasks.macro.start", task_title="Mend the login test")["task_id"]
    session(lh, ("assistant", SAID))
    monkeypatch.setattr(recalling, "files_of", None)
    assert lh("tasks.resume.super", task=task)["ref"] == task


def test_other_words_other_projects_and_secrets_are_not_found(lh: Lh) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    session(lh, ("assistant", f"The login test uses {secret}."), name="a.jsonl")
    session(lh, ("assistant", SAID), cwd="/elsewhere", name="b.jsonl", id="s-2")
    assert spoken(lh, "zebra stripes")["hits"] == []
    found = spoken(lh)
    assert [hit["path"] for hit in found["hits"]] == ["a.jsonl"]
    assert secret not in str(found)
    for text in (secret, secret[4:24], f"login {secret[4:16]}"):
        assert all(secret[4:16] not in hit["text"] for hit in spoken(lh, text).get("hits", []))
    assert spoken(lh, secret).get("hits", []) == []


def test_only_those_who_may_read_transcripts_get_them(lh: Lh) -> None:
    session(lh, ("assistant", SAID))
    assert spoken(lh)["hits"]
    args = {"text": QUESTION}
    for caller in (
        Caller(Role.VIEWER),
        Caller(Role.AGENT, owner="TOK-9"),
    ):
        answer = lh.house.call("docs.search", args, caller)
        assert answer.success
        assert "transcripts" not in answer.envelope["result"], caller.role


def test_the_scan_is_bounded_in_bytes_files_and_time(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        aged(
            session(lh, ("user", f"{SAID} {number}"), name=f"{number}.jsonl", id=f"{number}"),
            number,
        )
    assert len(spoken(lh)["hits"]) == 5
    monkeypatch.setitem(recalling._MOST_FILES, recalling.BESIDE, 2)
    found = spoken(lh)
    assert [hit["path"] for hit in found["hits"]] == ["0.jsonl", "1.jsonl"]
    assert found["scanned"]["truncated"] is True
    monkeypatch.setitem(recalling._MOST_FILES, recalling.BESIDE, 100)
    monkeypatch.setitem(recalling.SECONDS, recalling.BESIDE, -1.0)
    assert spoken(lh) == {}, "nothing was read in no time"
    monkeypatch.setitem(recalling.SECONDS, recalling.BESIDE, 5.0)
    monkeypatch.setattr(recalling, "BESIDE", 700)
    monkeypatch.setitem(recalling.SECONDS, 700, 5.0)
    monkeypatch.setitem(recalling._MOST_FILES, 700, 100)
    found = spoken(lh)
    assert found["scanned"]["bytes"] <= 700
    assert found["scanned"]["truncated"] is True


def test_transcripts_are_never_read_on_the_event_loop(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(lh, ("user", SAID))
    read_by: list[int] = []

    def noted(root: TranscriptRoot) -> Any:
        read_by.append(threading.get_ident())
        return files_of(root)

    monkeypatch.setattr(recalling, "files_of", noted)
    call = lh.house.dispatcher.call_async("docs.search", {"text": QUESTION}, Caller(Role.OPERATOR))
    assert asyncio.run(call).success
    assert read_by
    assert threading.get_ident() not in read_by
