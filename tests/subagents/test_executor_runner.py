"""Subagents as separate agents: their prompt, their result, and that none outlives its dispatch."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.executors import installed as executors
from longhouse.executors.base import (
    ClaimedJob,
    Invocation,
    McpEntry,
    RunOutput,
    Slice,
    SliceResult,
    TokenUsage,
    answer_in,
)
from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.subagents import (
    InProcessEventBus,
    Limits,
    PromptSubagentToolsSection,
    Scope,
    Session,
    ToolResult,
)
from longhouse.subagents.executor_runner import ExecutorRunner
from tests.runner.kit import FAKE_CODEX
from tests.runner.processes import alive, until
from tests.subagents.kit import ManualClock, Note, Records, make_session, request, run

PRELUDE = """
import json, os, subprocess, sys, time
PROMPT = sys.stdin.read()
def answer(status="DONE", summary="did it", refs=(), artifacts=()):
    print(json.dumps({"status": status, "summary": summary, "refs": list(refs), "events": [],
                      "artifacts": list(artifacts)}), flush=True)
def hang():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"],
                             start_new_session=True)
    open("pids", "w").write(f"{os.getpid()} {child.pid} ")
    time.sleep(300)
"""


class Scripted:
    """An executor whose agent runs one statement per slice; the last one repeats."""

    name = "scripted"
    profiles: tuple[str, ...] = ("fast",)
    totals: tuple[str, ...] = ("input_tokens", "output_tokens")

    def __init__(self, *script: str, session: str | None = "s-1", tokens: int = 0) -> None:
        self.script = script
        self.session = session
        self.tokens = tokens
        self.slices: list[Slice] = []
        self.jobs: list[ClaimedJob] = []

    def plan(self, job: ClaimedJob, slice: Slice) -> Invocation:
        self.jobs.append(job)
        self.slices.append(slice)
        statement = self.script[min(slice.number, len(self.script)) - 1]
        return Invocation([sys.executable, "-c", f"{PRELUDE}\n{statement}"], slice.prompt)

    def parse(self, output: RunOutput) -> SliceResult:
        used = TokenUsage(self.tokens * len(self.slices), 0)  # a total of the session
        found = answer_in(output.stdout.text())
        if isinstance(found, str):
            return SliceResult(error=found, session=self.session, usage=used)
        return SliceResult(found, session=self.session, usage=used)


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHOUSE_KILL_GRACE_S", "1")
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def fresh(**limits: Any) -> Session:
    return Session(bus=InProcessEventBus(), scope=Scope(Limits(**limits)))


def pids(cwd: Path) -> list[int]:
    file = cwd / "pids"
    found = file.read_text() if file.exists() else ""
    return [int(pid) for pid in found.split()] if found.endswith(" ") else []


def test_the_agents_answer_is_the_result(cwd: Path) -> None:
    (cwd / "report.md").write_text("all of it")
    made = '[{"kind": "report", "path": p} for p in ("report.md", "none.md", "../x", "a\\\\0b")]'
    scripted = Scripted(f"answer(summary='Found it.', refs=['draft.md'], artifacts={made})")
    asked = request("Find it.", expected_artifacts=("draft.md", "table.csv"))
    records = Records()
    result = run(ExecutorRunner(scripted, cwd=cwd), asked, session=fresh(), recorder=records)
    assert result.message == "Found it."
    assert result.value is not None
    assert result.value.artifacts == ("draft.md", "report.md")
    assert records.finishes[0].missing_artifacts == ("table.csv",)


def test_the_agent_is_told_the_task_its_artifacts_and_what_the_asker_knows(cwd: Path) -> None:
    session = fresh()
    session.seed_slice(Note, [Note("the index is missing")])
    scripted = Scripted("answer(summary=str(PROMPT.count('#')))")
    runner = ExecutorRunner(
        scripted,
        cwd=cwd,
        model="m-1",
        context=lambda child: "\n".join(note.text for note in child.select_all(Note)),
    )
    asked = request(
        "Write it.", mode="plan_step", plan_step_id="S007", expected_artifacts=("a.md", "b.md")
    )
    assert run(runner, asked, session=session).success
    (this,) = scripted.slices
    for part in ("Write it.", "step S007", "a.md\nb.md", "the index is missing"):
        assert part in this.prompt
    assert (this.cwd, this.sandbox, this.session) == (cwd, "workspace-write", None)
    assert not this.entry.given
    (job,) = scripted.jobs
    assert job.prompt == "Write it."
    assert (job.title, job.model, job.expected_artifacts) == (
        "team/writer",
        "m-1",
        ("a.md", "b.md"),
    )


def test_the_askers_model_is_told_that_the_child_has_other_tools(cwd: Path) -> None:
    runner = ExecutorRunner(Scripted("answer()"), cwd=cwd)
    text = PromptSubagentToolsSection(session=fresh(), runner=runner).render()
    assert "The subagent is scripted, a separate program" in text
    assert str(cwd) in text
    assert "inherits" not in text


def test_an_agent_may_be_connected_to_the_store_of_its_folder(cwd: Path) -> None:
    scripted = Scripted("answer()")
    run(ExecutorRunner(scripted, cwd=cwd, with_longhouse=True), session=fresh())
    words = scripted.slices[0].entry.command
    assert words[words.index("--dir") + 1] == str(load(cwd=cwd).dir)


def test_an_agent_that_has_more_to_do_goes_on_in_its_session_and_pays_for_each_turn(
    cwd: Path,
) -> None:
    scripted = Scripted(
        "answer('CONTINUE', refs=['a'])", "answer('DONE', refs=['b', 'a'])", tokens=100
    )
    session = fresh()
    result = run(ExecutorRunner(scripted, cwd=cwd), session=session)
    assert result.value is not None
    assert result.value.artifacts == ("a", "b")
    assert [one.session for one in scripted.slices] == [None, "s-1"]
    assert "Write the draft." not in scripted.slices[1].prompt
    assert (session.scope.usage.turns, session.scope.usage.tokens) == (2, 200)


def test_an_agent_without_sessions_is_told_everything_again(cwd: Path) -> None:
    scripted = Scripted("answer('CONTINUE', 'half of it')", "answer()", session=None)
    assert run(ExecutorRunner(scripted, cwd=cwd), session=fresh()).success
    assert "Write the draft." in scripted.slices[1].prompt
    assert "half of it" in scripted.slices[1].prompt


@pytest.mark.parametrize(
    "statement, message, outcome",
    [
        ("answer('FAILED', 'no such table')", "no such table", "failed"),
        ("answer('FAILED', ' ')", "its agent gave up", "failed"),
        ("print('hello')", "the answer is not JSON: 'hello'", "failed"),
        ('print(\'{"status": "MAYBE"}\')', "the answer does not match the schema", "failed"),
        ("pass", "there is no answer", "failed"),
        ("answer(summary=' ')", "empty result summary", "bad_result"),
    ],
)
def test_what_is_no_good_answer_is_a_failure_with_its_reason(
    cwd: Path, statement: str, message: str, outcome: str
) -> None:
    records = Records()
    result = run(ExecutorRunner(Scripted(statement), cwd=cwd), session=fresh(), recorder=records)
    assert not result.success
    assert message in result.message
    assert records.finishes[0].outcome == outcome


def test_limits_of_the_dispatch_bind_the_agent(cwd: Path) -> None:
    endless = Scripted("answer('CONTINUE')", tokens=100)
    records = Records()
    for limits, said in (
        (Limits(turns=2), "turns (2)"),
        (Limits(tokens=250), "tokens (250)"),
        (Limits(), "turns (4)"),
    ):
        endless.slices.clear()
        runner = ExecutorRunner(endless, cwd=cwd, max_slices=4)
        result = run(runner, session=fresh(), limits=limits, recorder=records)
        assert f"limit reached: {said}" in result.message
    assert [finish.outcome for finish in records.finishes] == ["budget"] * 3
    assert [finish.usage.tokens for finish in records.finishes] == [200, 300, 400]


def test_a_program_that_is_not_there_is_a_failure(cwd: Path) -> None:
    runner = ExecutorRunner(Codex(str(cwd / "nothing")), cwd=cwd)
    assert "No such file" in run(runner, session=fresh()).message
    runner = ExecutorRunner(Scripted("answer()"), cwd=cwd / "nowhere")
    assert "cannot be started in" in run(runner, session=fresh()).message


def test_an_executor_that_is_unknown_here_is_refused_with_those_that_are_not(cwd: Path) -> None:
    with pytest.raises(ValueError, match="executor: no 'gpt' here; available: codex"):
        ExecutorRunner("gpt", cwd=cwd)
    with pytest.raises(ValueError, match="profile must be one of fast, deep, audit"):
        ExecutorRunner("codex", cwd=cwd, profile="huge")


def of_mine(_options: object) -> Scripted:
    return Scripted("answer()")


def test_an_executor_that_someone_installed_is_found_by_name(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "of_someone", sys.modules[__name__])
    point = EntryPoint("mine", "of_someone:of_mine", executors.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [point])
    assert run(ExecutorRunner("mine", cwd=cwd), session=fresh()).success


# ------------------------------------------------------------------------------------ its end


def stopped(cwd: Path, session: Session, limits: Limits, stop: Callable[[], None]) -> Any:
    """How the dispatch of a hanging agent ends when it is stopped after the agent has started."""
    records = Records()
    results: list[ToolResult[Any]] = []
    runner = ExecutorRunner(Scripted("hang()"), cwd=cwd)

    def dispatch() -> None:
        results.append(run(runner, session=session, limits=limits, recorder=records))

    thread = threading.Thread(target=dispatch)
    thread.start()
    until(lambda: bool(pids(cwd)), "the agent's start")
    stop()
    thread.join(30)
    until(lambda: not any(alive(pid) for pid in pids(cwd)), "the end of the tree")
    return results[0].message, records.finishes[0].outcome


def test_a_deadline_ends_the_agent_with_its_whole_tree(cwd: Path) -> None:
    clock = ManualClock()
    session = make_session(clock=clock)

    def out_of_time() -> None:
        clock.seconds = 500
        session.scope.wake()

    message, outcome = stopped(cwd, session, Limits(seconds=200), out_of_time)
    assert message == "Subagent execution failed: deadline exceeded"
    assert outcome == "deadline"


@pytest.mark.parametrize("limits", [Limits(), Limits(seconds=200)])
def test_cancelling_ends_the_agent_with_its_whole_tree(cwd: Path, limits: Limits) -> None:
    session = make_session()
    message, outcome = stopped(
        cwd, session, limits, lambda: session.scope.live[0].cancel("not needed any more")
    )
    assert message == "Subagent execution failed: cancelled: not needed any more"
    assert outcome == "cancelled"


def test_an_interrupted_asker_leaves_no_agent_behind(cwd: Path) -> None:
    records = Records()

    def interrupt() -> None:
        until(lambda: bool(pids(cwd)), "the agent's start")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(ExecutorRunner(Scripted("hang()"), cwd=cwd), session=fresh(), recorder=records)
    assert records.finishes[0].outcome == "interrupted"
    until(lambda: not any(alive(pid) for pid in pids(cwd)), "the end of the tree")


def test_an_agent_that_outlives_its_slice_is_ended_and_told_of(cwd: Path) -> None:
    runner = ExecutorRunner(Scripted("hang()"), cwd=cwd, slice_s=0.5)
    result = run(runner, session=fresh())
    assert "scripted: it ran past its 0.5 s" in result.message
    assert not any(alive(pid) for pid in pids(cwd))


def test_agents_side_by_side_answer_in_order(cwd: Path) -> None:
    scripted = Scripted("answer(summary=PROMPT.split('# Your task')[1].split()[0])")
    section = PromptSubagentToolsSection(session=fresh(), runner=ExecutorRunner(scripted, cwd=cwd))
    results = section.dispatch_all([request(f"task-{n}") for n in range(4)])
    assert [result.message for result in results] == [f"task-{n}" for n in range(4)]


# ------------------------------------------------------------------------- the shipped executors


def test_codex_is_run_without_an_entry_it_does_not_need(
    cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LONGHOUSE_CODEX_BIN", FAKE_CODEX)
    asked = request(
        "This is slice 1 of job=J-1\n[[1: done('report.md')]]", expected_artifacts=("report.md",)
    )
    session = fresh()
    result = run(ExecutorRunner("codex", cwd=cwd), asked, session=session)
    assert result.message == "did it"
    assert result.value is not None
    assert result.value.missing(asked) == ()
    assert session.scope.usage.tokens == 120
    argv = json.loads((tmp_path / "state" / "J-1" / "argv-1").read_text())
    assert not any("mcp_servers" in word for word in argv)


def test_claude_code_is_given_no_server_where_there_is_none(cwd: Path) -> None:
    given = Slice(1, "p", cwd, cwd, "read-only", McpEntry())
    job = ClaimedJob("J", "", "t", "p", "ad_hoc", "fast", "", 0)
    ClaudeCode("claude").plan(job, given)
    assert json.loads((cwd / "mcp.json").read_text()) == {"mcpServers": {}}
