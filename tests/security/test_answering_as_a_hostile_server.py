"""The attacker answers in the place of a server, and wants the command line to crash or obey."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.clone import SCRIPT, Clone
from tests.security.hostile_server import hostile_server_of
from tests.surfaces.cli.conftest import Shell, has_store, repository, sh

__all__ = ["has_store", "repository", "sh"]

STEER = "\x1b]0;owned\x07\x1b[2J\u202e\r"
COMMANDS = (
    ("status",),
    ("log",),
    ("events", "--after", "0"),
    ("events",),
    ("radar",),
    ("open", "JOB-001"),
    ("job", "list"),
    ("task", "list"),
    ("artifact", "list"),
    ("runner", "status"),
    ("agent", "list"),
    ("token", "list"),
    ("call", "status"),
    ("doctor",),
    ("note", "x"),
)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks like a server that goes away is asked again, but not for long."""
    monkeypatch.setattr("longhouse.surfaces.cli.context.PATIENCE_S", 0.2)


def envelope(result: object, **more: object) -> bytes:
    made = {"success": True, "error": None, "actions": [], "warnings": [], "result": result}
    return json.dumps({**made, **more}).encode()


def failure(**error: object) -> bytes:
    return envelope(None, success=False, error=error, actions=error.pop("actions", []))


BODIES = {
    "nothing": b"",
    "no JSON": b"<html>",
    "not UTF-8": b"\xff\xfe",
    "a number": b"5",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "no result": b'{"success": true, "error": null}',
    "result null": envelope(None),
    "result empty": envelope({}),
    "result a list": envelope([1, 2]),
    "result a text": envelope("text"),
    "wrong types": envelope(
        {"seq": "x", "server": 5, "headline": {}, "commits": [1], "artifacts": 5, "jobs": [None]}
    ),
    "a lone surrogate": b'{"success":true,"error":null,"result":"\\ud800"}',
    "a huge number": b'{"success":true,"error":null,"result":{"seq":' + b"9" * 6000 + b"}}",
    "warnings of no kind": envelope({}, warnings=[5, {"x": 1}]),
    "an error that is a text": b'{"success":false,"error":"x"}',
    "an error of no kind": failure(code=5, message={}, recovery=[], exit_code="x"),
    "actions of no kind": failure(code="X", actions=[5, {}, {"tool": 5, "args": []}, {"args": {}}]),
    "text that steers": failure(code="X", message=STEER + "\n   fix  rm -rf ~", recovery=STEER),
    "actions that steer": failure(
        code="X", message="m", actions=[{"tool": "t", "args": {"cmd": STEER, "args": {STEER: 1}}}]
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_answer_is_an_error_and_no_traceback(sh: Shell, name: str) -> None:
    with hostile_server_of(sh.dir) as server:
        for status in (200, 500):
            server.says(BODIES[name], status=status)
            for words in COMMANDS:
                ran = sh(*words)
                said = ran.out + ran.err
                assert "Traceback" not in said
                assert not any(char in said for char in "\x1b\x07\u202e"), words
                assert "a bug in Longhouse" not in said, (words, said)
                said.encode()


@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream"])
def test_lines_and_streams_cannot_steer_either(sh: Shell, kind: str) -> None:
    with hostile_server_of(sh.dir) as server:
        for body in (STEER, f"data: {STEER}\n\n", "data: {}\n\n", 'id: x\ndata: {"seq": 1}\n\n'):
            server.says(body.encode(), kind)
            for words in (("call", "status"), ("events", "--after", "0"), ("status",)):
                ran = sh(*words)
                assert "Traceback" not in ran.err
                assert not any(char in ran.out + ran.err for char in "\x1b\x07\u202e"), words


def test_a_line_of_others_cannot_pass_for_one_of_ours(sh: Shell) -> None:
    with hostile_server_of(sh.dir) as server:
        server.says(failure(code="X", message="no\n   fix  rm -rf ~", recovery="ask"), status=500)
        assert [line for line in sh("status").err.splitlines() if line.startswith("   fix")] == [
            "   fix  ask"
        ]


def test_a_runner_shows_what_would_steer_a_terminal(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {"a": ""})
    with hostile_server_of(tmp_path / "evil") as server:
        server.says(failure(code="FORBIDDEN", message=f"no {STEER}", recovery=STEER), status=403)
        ran = subprocess.run(
            [SCRIPT, "runner", "--once", "--url", server.url, "--codex-bin", sys.executable],
            cwd=clone.root,
            env=clone.environ(),
            capture_output=True,
            timeout=60,
        )
    assert b"owned" in ran.stderr, "it was said"
    assert not any(char in ran.stdout + ran.stderr for char in b"\x1b\x07")
