"""`longhouse demo`: a day in a throwaway store, at high speed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from longhouse.client import locate
from longhouse.client.sync import Client
from longhouse.surfaces.cli.demo.day import Day
from longhouse.surfaces.cli.demo.stage import Stage

SPEED = 500
DEMO = [sys.executable, "-P", "-m", "longhouse", "demo"]


@pytest.fixture
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for demo stores, for a person who also has a real store."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LONGHOUSE_DB", str(tmp_path / "of-the-person.db"))
    monkeypatch.setenv("LONGHOUSE_DIR", str(tmp_path / "of-the-person"))
    return folder


def read(lh: Client, cmd: str, **args: Any) -> dict[str, Any]:
    envelope = lh.call(cmd, args)
    assert isinstance(envelope, dict)
    result: dict[str, Any] = envelope["result"]
    return result


def test_a_day_has_everything_that_it_promises_and_leaves_nothing(tmp: Path) -> None:
    with Stage(SPEED) as stage:
        day = Day(stage)
        assert [beat.says for beat in day.live()][-1] == "the day is over"
        lh = stage.client
        ported = read(lh, "jobs.open", job=day.port, max_events=50)
        measured = read(lh, "jobs.open", job=day.measure, max_events=50)
        assert {"question", "manager"} <= {event["kind"] for event in ported["events"]}
        for job in (ported["job"], measured["job"]):
            assert job["status"] == "DONE"
            assert any(ref.startswith("notes@") for ref in job["refs"])
        outside = read(lh, "agents.status")["outside"]
        named = {(one["job_id"], file["path"]) for one in outside for file in one["files"]}
        assert named == {(day.port, "src/parser/lexer.py")}
        patches = [ref for ref in ported["job"]["refs"] if "artifact" in ref]
        assert patches, ported["job"]["refs"]
        assert "return text.split()" in (stage.project / "src/parser/lexer.py").read_text()
        assert measured["job"]["runner"] == "runner-two"
        assert "runner-one" in str(measured["events"])
        assert "I am back" not in str(measured["events"])
        said = {row.kind.lower() for row in lh.events() if row.stream == "crew"}
        assert {"handoff", "blocked", "incursion"} <= said
        done = read(lh, "tasks.context", tasks_limit=10, tasks_status="DONE")["tasks"]
        assert {task["title"] for task in done} == {"Parse quoted phrases", "Rank by freshness"}
        assert read(lh, "agents.status")["reservations"] == []
        terminal, process = read(lh, "tool.task_list", budget_profile="audit")["tasks"]
        assert process["cancel_reason"]
        assert terminal["cancel_reason"]
        shown = read(lh, "tool.output_fetch", task_id=day.terminal)["parts"]
        assert "hits for" in shown[-1]["text"]
        assert "queries answered" in str(read(lh, "open", id=process["task_id"]))
        running = locate.recorded(stage.store)
        assert running
    assert not locate.is_alive(running.pid)
    assert list(tmp.iterdir()) == []
    assert list(tmp.parent.iterdir()) == [tmp]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_told_to_end_in_the_middle_leaves_nothing(
    tmp: Path, how: signal.Signals
) -> None:
    with subprocess.Popen(DEMO, stdout=subprocess.PIPE, text=True, env=os.environ) as demo:
        assert demo.stdout
        said = ""
        while "arrive" not in said:
            line = demo.stdout.readline()
            assert line, said
            said += line
        (store,) = tmp.glob("*/.longhouse")
        assert f"token  in {store / 'token'}" in said
        assert (store / "token").read_text().strip() not in said
        demo.send_signal(how)
        demo.communicate(timeout=60)
    assert demo.returncode == 0
    assert list(tmp.iterdir()) == []


def test_a_speed_that_makes_no_sense_is_refused_with_one_that_does(tmp: Path) -> None:
    said = subprocess.run(
        [*DEMO, "--speed", "0"], capture_output=True, text=True, cwd=tmp, check=False
    )
    assert said.returncode == 2
    assert "longhouse demo --speed 60" in said.stderr
