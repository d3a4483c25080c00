"""Limits of a job are kept between slices, and a runner without any agent says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.runner.options import load_options
from longhouse.runner.start import NoAgent, build
from tests.runner.kit import Rig


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


def test_a_slice_that_ran_out_of_time_is_counted_and_its_transcript_kept(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(slice_s=2, max_failures=1, kill_grace_s=0)
    job = rig.run(
        "emit(type='turn.completed', usage={'input_tokens': 70, 'output_tokens': 7}); "
        "time.sleep(60)"
    )
    view = rig.view(job)["job"]
    assert view["status"] == "FAILED"
    assert view["usage"]["input_tokens"] == 70
    assert any(ref.startswith("ART-") or "artifact" in ref for ref in view["refs"]), view["refs"]


def _options(folder: Path, **flags: Any) -> Any:
    return load_options(flags, folder, environ={})


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
