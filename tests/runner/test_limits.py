"""A job's limits are enforced between slices, and a runner without an agent says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.executors.base import RunOutput, TokenUsage
from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.executors.options import load_options
from longhouse.runner.claim import usage_told
from longhouse.runner.slice_files import SliceNote, account_for_lost, begin
from longhouse.runner.slice_state import over_limit
from longhouse.runner.start import NoAgent, build
from longhouse.supervisor import StreamCapture
from tests.kit import place_of
from tests.runner.conftest import TimePasses
from tests.runner.kit import Rig
from tests.runner.processes import until


def test_no_slice_begins_once_so_many_tokens_were_used(rig: Rig) -> None:
    job = rig.run("remember(); go_on(used=100 * SLICE)", max_tokens=200)
    assert rig.status(job) == "FAILED"
    assert rig.trace(job) == ["1", "2"]
    assert "max_tokens is 200" in rig.view(job)["job"]["summary"]
    assert rig.view(job)["job"]["limits"] == {"max_tokens": 200}
    used = rig("jobs.usage", by="agent")["used"]
    assert [(row["what"], row["cost_usd"]) for row in used] == [("codex", "unknown")]


def test_no_slice_begins_after_the_deadline(rig: Rig) -> None:
    job = rig.run("remember(); go_on()", deadline_ms=1_000)
    assert rig.status(job) == "FAILED"
    assert rig.trace(job) == []
    assert "deadline (1970-01-01" in rig.view(job)["job"]["summary"]


def test_no_slice_begins_once_so_much_was_spent(rig: Rig) -> None:
    job = rig.job("remember(); go_on()", max_cost_usd=0.5)
    worker = rig.claim(job)
    fence = {"job": job, "runner_id": "r1", "claim_revision": 1}
    rig("jobs.report", **fence, message="before", usage={"cost_usd": 0.6})
    worker()
    assert rig.status(job) == "FAILED"
    assert rig.trace(job) == []
    assert "max_cost_usd is 0.5" in rig.view(job)["job"]["summary"]


def test_a_limit_is_reached_when_it_is_met_exactly() -> None:
    job = {"limits": {"deadline_ms": 1_000, "max_tokens": 10}}
    assert over_limit(job, 999) is None
    assert "deadline" in (over_limit(job, 1_000) or "")
    spent = {**job, "usage": {"input_tokens": 4, "output_tokens": 5}}
    assert over_limit(spent, 0) is None
    spent["usage"]["output_tokens"] = 6
    assert "10 tokens" in (over_limit(spent, 0) or "")


def test_a_slice_that_ran_out_of_time_is_counted_and_its_transcript_kept(
    make_rig: Callable[..., Rig], time_passes: TimePasses
) -> None:
    rig = make_rig(slice_s=300, max_failures=1, kill_grace_s=0)
    job = rig.job(
        "emit(type='turn.completed', usage={'input_tokens': 70, 'output_tokens': 7}); "
        "remember(); say('hm'); time.sleep(300)"
    )
    time_passes(300, lambda: bool(rig.trace(job)))
    rig.claim(job)()
    view = rig.view(job)["job"]
    assert view["status"] == "FAILED"
    assert view["usage"]["input_tokens"] == 70
    (ended,) = [e for e in rig.view(job)["events"] if "slice 1 ended" in e.get("message", "")]
    kept = rig("docs.artifact.show", id=ended["refs"][0])["parts"][0]["text"]
    assert "turn.completed" in kept
    assert ended["refs"][0] in view["refs"]


def test_what_an_agent_does_not_tell_it_used_is_unknown_and_not_nothing(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(slice_s=2, max_failures=1, kill_grace_s=0)
    job = rig.run("time.sleep(60)")
    assert rig.view(job)["job"]["usage"]["cost_usd"] == "unknown"
    assert rig("jobs.usage", by="agent")["used"][0]["cost_usd"] == "unknown"


def test_a_canceled_slice_is_counted_once_and_its_transcript_kept(rig: Rig) -> None:
    job = rig.job(
        "emit(type='turn.completed', usage={'input_tokens': 70, 'output_tokens': 7}); "
        "remember(); time.sleep(300)"
    )
    work = rig.claim(job)
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool(rig.trace(job)), "a child")
    rig("jobs.cancel", job=job)
    work.control.lose("it is CANCELED")
    thread.join(20)
    for _ in range(2):
        account_for_lost(rig.context)
    view = rig.view(job)
    assert (view["job"]["status"], view["job"]["usage"]["input_tokens"]) == ("CANCELED", 70)
    (event,) = rig.events(job, "slice_recovered")
    shown = rig("open", id=event["refs"][0])
    assert "turn.completed" in shown["parts"][0]["text"]
    for by in ("day", "task", "agent"):
        assert [one["input_tokens"] for one in rig("jobs.usage", by=by)["used"]] == [70]
    assert list((rig.context.home / "slices").rglob("*.json*")) == []


def test_a_slice_that_was_reported_is_not_counted_again(rig: Rig) -> None:
    job = rig.job(f"done({rig.note()!r})")
    note = SliceNote(job, 1, 1, "codex")
    work = rig.claim(job)
    rig.before_slice(1, lambda: None)
    work()
    used = rig.view(job)["job"]["usage"]
    left = begin(rig.context.home, "acme", note)
    left.file.write(b'{"type": "turn.completed", "usage": {"input_tokens": 100}}')
    left.file.close()  # its runner died between the report and this
    account_for_lost(rig.context)
    assert rig.view(job)["job"]["usage"] == used
    assert rig.events(job, "slice_recovered") == []


def test_what_a_running_slice_prints_is_nobody_elses_to_count(rig: Rig) -> None:
    job = rig.job("done()")
    running = begin(rig.context.home, "acme", SliceNote(job, 1, 1, "codex"))
    account_for_lost(rig.context)
    assert running.path.exists()
    assert rig.events(job, "slice_recovered") == []
    running.remove()


def test_a_killed_claude_is_counted_by_its_messages_and_its_cost_is_unknown() -> None:
    said = [
        {"type": "system", "subtype": "init", "session_id": "s-1"},
        {"type": "assistant", "message": {"id": "m1", "usage": {"input_tokens": 5}}},
        {"type": "assistant", "message": {"id": "m1", "usage": {"input_tokens": 5}}},
        {
            "type": "assistant",
            "message": {"id": "m2", "usage": {"input_tokens": 7, "output_tokens": 2}},
        },
    ]
    printed = StreamCapture()
    printed.feed("\n".join(map(json.dumps, said)).encode())
    result = ClaudeCode("claude").parse(RunOutput(None, 9, printed, StreamCapture(), Path()))
    assert result.usage == TokenUsage(12, 2, 0.0)
    assert usage_told(result.usage, "claude_code", began=True) == {
        "input_tokens": 12,
        "output_tokens": 2,
        "agent": "claude_code",
    }


@pytest.mark.parametrize("variable, below", [("CODEX_HOME", "."), ("HOME", ".codex")])
def test_a_killed_codex_is_counted_by_the_record_that_it_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str
) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    day = tmp_path / below / "sessions" / "2026" / "11" / "16"
    day.mkdir(parents=True)
    counted = [
        {"payload": {"type": "token_count", "info": None}},
        *(
            {"payload": {"type": "token_count", "info": {"total_token_usage": total}}}
            for total in ({"input_tokens": 50, "output_tokens": 5}, {"input_tokens": 90})
        ),
    ]
    lines = "\n".join(map(json.dumps, counted))
    (day / "rollout-2026-11-16T00-00-00-thread-7.jsonl").write_text(lines)
    printed = StreamCapture()
    printed.feed(b'{"type": "thread.started", "thread_id": "thread-7"}')
    result = Codex("codex").parse(RunOutput(None, 9, printed, StreamCapture(), tmp_path))
    assert (result.session, result.usage) == ("thread-7", TokenUsage(90, 0))


def _options(folder: Path, **flags: Any) -> Any:
    return load_options(flags, place_of(folder), environ={})


def test_a_runner_without_any_agent_says_so_and_takes_no_jobs(tmp_path: Path) -> None:
    settings = load({"dir": str(tmp_path / ".longhouse")}, environ={}, cwd=tmp_path)
    missing = {"codex_bin": str(tmp_path / "no-codex"), "claude_bin": str(tmp_path / "no-claude")}
    options = _options(settings.dir, **missing)
    said: list[str] = []
    build(settings, options, lambda event, **_k: said.append(event))  # type: ignore[arg-type]
    assert said == ["runner.no_agent"]
    with pytest.raises(NoAgent) as refused:
        build(settings, options, lambda *_a, **_k: None, once=True)  # type: ignore[arg-type]
    assert "--codex-bin" in (refused.value.recovery or "")
    build(settings, options, lambda *_a, **_k: None, dry_run=True)  # type: ignore[arg-type]
