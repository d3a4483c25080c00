"""Budgets from 2 to 200,000: answers are complete, cut or refused, but never useless."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longhouse.kernel.budget import PROFILES
from tests.desk.project import Project, planted
from tests.kit import Lh

VIEWS = ("full", "smart", "explore", "audit", "focus_only")
CARD = {"id": "CARD-B1", "type": "hypothesis", "title": "The alias is slow", "text": "why " * 900}
MINE = ("status", "tasks.execute.next", "tasks.snapshot", "tasks.resume.super")
"""The views that are personal to the caller."""

sizes = st.one_of(st.integers(2, 400), st.integers(400, 6_000), st.integers(6_000, 200_000))


def reads(project: Project) -> list[tuple[str, dict[str, Any], str]]:
    """Every view of the desk with its arguments, and the id that each answer must still hold."""
    task = project.task
    looks: list[tuple[str, dict[str, Any], str]] = [
        ("status", {}, task),
        ("tasks.execute.next", {}, task),
        ("tasks.snapshot", {"task": task}, task),
        ("tasks.snapshot", {"plan": "PLAN-001"}, "PLAN-001"),
        ("tasks.snapshot", {"task": task, "delta": True, "since": 1, "read_only": True}, task),
        ("tasks.resume.super", {"plan": "PLAN-001"}, "PLAN-001"),
        ("tasks.gate", {"task": task}, task),
        ("system.diagnostics", {"task": task}, task),
    ]
    looks += [("tasks.resume.super", {"task": task, "view": view}, task) for view in VIEWS]
    opened = (task, "PLAN-001", "STEP-00000007", "JOB-005", "JOB-005@148", "msg_159", "CARD-B1")
    return looks + [("open", {"id": id_}, id_) for id_ in opened]


def check(lh: Lh, project: Project, at: int, max_chars: int, profile: str) -> None:
    cmd, given_, held = reads(project)[at % len(reads(project))]
    me = project.me if cmd in MINE else {}
    args = {**given_, **me, "max_chars": max_chars, "budget_profile": profile}
    envelope = lh.envelope(cmd, **args)
    assert envelope["success"], envelope["error"]
    over = "BUDGET_MAX_CLAMPED" in [one["code"] for one in envelope["warnings"]]
    assert over == (max_chars > PROFILES[profile].max_chars)
    max_chars = min(max_chars, PROFILES[profile].max_chars)
    result = envelope["result"]
    assert held in str(result), "the target is never cut"
    clamped = "BUDGET_MIN_CLAMPED" in [one["code"] for one in envelope["warnings"]]
    assert result["budget"]["used_chars"] <= result["budget"]["max_chars"]
    assert clamped or result["budget"]["max_chars"] == max_chars
    assert cmd not in MINE or envelope["actions"], "the next call is never cut"
    lines = lh.lines(cmd, **{**args, "max_chars": min(max_chars, PROFILES[profile].max_chars)})
    assert lines[0]
    assert not lines[0].startswith("ERROR")


def test_every_budget_gets_a_typed_and_useful_answer(lh: Lh) -> None:
    project = planted(lh, tasks=10)
    lh("think.card", card=CARD, target=project.task, step="focus")

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(at=st.integers(0, 99), max_chars=sizes, profile=st.sampled_from(sorted(PROFILES)))
    @example(at=2, max_chars=2, profile="default")
    @example(at=9, max_chars=80_001, profile="audit")
    @example(at=9, max_chars=200_000, profile="portal")
    def holds(at: int, max_chars: int, profile: str) -> None:
        check(lh, project, at, max_chars, profile)

    holds()
