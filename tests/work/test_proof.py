"""Proof: which lines are receipts, what form they need, where long output goes."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.work.proof import Evidence, evidence_from_line
from tests.jobs.kit import ended, running
from tests.kit import Lh
from tests.work.kit import new_task

DIGEST = "ab" * 32


@pytest.mark.parametrize(
    "line, kind, text, code",
    [
        ("CMD: make test (exit 0)", "cmd", "make test", 0),
        ("- CMD: make test [exit 2]", "cmd", "make test", 2),
        ("1. cmd:  make test exit=0", "cmd", "make test", 0),
        ("> * CMD: make test", "cmd", "make test", None),
        ("CMD: exit 0", "cmd", "exit 0", None),
        ("https://ci.example/run/7", "link", "https://ci.example/run/7", None),
        ("LINK: file:///tmp/log", "link", "file:///tmp/log", None),
        (f"sha256:{DIGEST}", "hash", f"sha256:{DIGEST}", None),
        (DIGEST, "hash", DIGEST, None),
        ("notes@12", "ref", "notes@12", None),
        ("JOB-001", "job", "JOB-001", None),
        ("JOB-001@7", "ref", "JOB-001@7", None),
        ("artifact:2cf24dba5fb0", "ref", "artifact:2cf24dba5fb0", None),
        ("it works on my machine", "note", "it works on my machine", None),
        ("make test", "note", "make test", None),
    ],
)
def test_a_pasted_line_is_the_receipt_it_looks_like(
    line: str, kind: str, text: str, code: int | None
) -> None:
    assert evidence_from_line(line) == Evidence(kind=kind, text=text, exit_code=code)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line", ["", "  - ", "CMD:", "CMD: <fill: command you ran>", "LINK: <FILL>"]
)
def test_placeholders_and_empty_lines_are_nothing(line: str) -> None:
    assert evidence_from_line(line) is None


def capture(lh: Lh, task: str, **args: Any) -> dict[str, Any]:
    return lh.envelope("tasks.evidence.capture", task=task, checkpoint="tests", **args)


def test_nothing_but_placeholders_is_refused(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = capture(lh, task, checks=["CMD: <fill: what you ran>", " "])["error"]
    assert error["code"] == "INVALID_INPUT"
    assert "expected something to attach" in error["message"]


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "link", "text": "the wiki"},
        {"kind": "hash", "text": "abc"},
        {"kind": "ref", "text": "notes@99"},
        {"kind": "ref", "text": "no ref at all"},
        {"kind": "job", "text": "JOB-099"},
        {"kind": "cmd", "text": "  "},
        {"kind": "guess", "text": "x"},
        {"kind": "cmd", "text": "make", "exit_code": 256},
    ],
)
def test_an_item_that_is_not_what_it_claims_is_refused(lh: Lh, item: dict[str, Any]) -> None:
    task = new_task(lh, "a")
    error = capture(lh, task, items=[item])["error"]
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].startswith("items[0]")
    assert lh("tasks.radar", task=task)["target"]["revision"] == 1


def receipts(envelope: dict[str, Any]) -> list[dict[str, Any]]:
    assert envelope["success"], envelope["error"]
    found: list[dict[str, Any]] = envelope["result"]["event"]["payload"]["receipts"]
    return found


def test_a_ref_proves_when_it_resolves_and_a_job_when_it_is_done(lh: Lh) -> None:
    task = new_task(lh, "a")
    note = lh("vcs.notes.commit", content="measured")["ref"]
    done, failed, going = ended(lh), ended(lh, "FAILED"), running(lh)["job"]
    found = receipts(capture(lh, task, checks=[note, done, failed, going, task]))
    assert [(r["kind"], r["proves"]) for r in found] == [
        ("ref", True),
        ("job", True),
        ("job", False),
        ("job", False),
        ("ref", True),
    ]


def test_output_that_is_too_long_for_a_line_goes_into_the_artifact_store(lh: Lh) -> None:
    task = new_task(lh, "a")
    output = "all 412 tests passed\n" * 5_000
    item = {"kind": "cmd", "text": "make test", "exit_code": 0, "output": output}
    (receipt,) = receipts(capture(lh, task, items=[item]))
    shown = lh("docs.artifact.show", id=receipt["artifact"], bytes=100)
    assert shown["artifact"]["size"] == len(output)
    assert shown["artifact"]["owner"] == task
    assert shown["parts"][0]["text"].startswith("all 412 tests passed")
    pack = lh("tasks.resume.pack", task=task)["signals"]["evidence"]
    assert pack[0]["receipt"] == {**receipt, "proves": True}
    too_long = {**item, "output": "x" * 256_001}
    assert capture(lh, task, items=[too_long])["error"]["code"] == "INVALID_INPUT"


def test_artifacts_that_receipts_point_at_are_held(lh: Lh) -> None:
    from longhouse.store.tx import Call
    from longhouse.work.receipts import held_artifacts
    from tests.kit import CountedIds

    task = new_task(lh, "a")
    item = {"kind": "cmd", "text": "make", "exit_code": 0, "output": "ok"}
    (receipt,) = receipts(capture(lh, task, items=[item, item][:1]))
    call = Call(now_ms=1, ids=CountedIds())
    held = lh.house.db.read("acme", lambda tx: list(held_artifacts(tx)), call)
    assert [f"artifact:{digest}" for digest in held] == [receipt["artifact"]]
    assert held_artifacts in lh.house.registry.holders


def test_evidence_is_noted_and_at_most_twenty_come_at_once(lh: Lh) -> None:
    task = new_task(lh, "a")
    capture(lh, task, checks=["CMD: make test (exit 0)"], attachments=["https://ci.example/1"])
    note = lh("docs.show", target=task, doc_kind="notes")["entries"][-1]["content"]
    assert note == "Evidence captured\nCMD: make test (exit 0)\nLINK: https://ci.example/1"
    many = ["https://ci.example/1"] * 15
    assert "at most 20" in capture(lh, task, checks=many, attachments=many)["error"]["message"]


def test_one_receipt_may_prove_several_checkpoints(lh: Lh) -> None:
    task = new_task(
        lh,
        {"title": "a", "success_criteria": ["x"], "proof": {"tests": "require", "perf": "require"}},
    )
    lh(
        "tasks.evidence.capture",
        task=task,
        checks=["CMD: make (exit 0)"],
        checkpoint=["tests", "perf", "tests"],
    )
    lh("tasks.step.close", task=task, checkpoints="all")
