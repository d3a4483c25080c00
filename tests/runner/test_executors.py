"""How the two CLIs are called, and how their output is judged; no CLI is needed."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from longhouse.executors import installed as executors
from longhouse.executors.base import (
    SCHEMA,
    AgentAnswer,
    ClaimedJob,
    Executor,
    Invocation,
    McpEntry,
    RunOutput,
    Slice,
    SliceResult,
    TokenUsage,
)
from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.executors.options import load_options
from longhouse.supervisor.capture import StreamCapture
from tests.kit import place_of

JOB = ClaimedJob("JOB-007", "acme", "Look", "Look at it.", "codex_cli", "deep", "r1", 3)
ANSWER = {"status": "DONE", "summary": "ok", "refs": ["notes@1"], "events": [], "artifacts": []}
LOCAL = McpEntry(command=("python", "-m", "longhouse", "mcp", "--dir", "/a b"))
REMOTE = McpEntry(url="https://lh.example", token="lh_secret")


def planned(executor: Executor, tmp_path: Path, job: ClaimedJob = JOB, **more: Any) -> Invocation:
    given = {
        "number": 1,
        "prompt": "the prompt",
        "cwd": tmp_path,
        "scratch": tmp_path,
        "sandbox": "workspace-write",
        "entry": LOCAL,
        **more,
    }
    return executor.plan(job, Slice(**given))


def given(plan: Invocation) -> dict[str, str]:
    """The settings on Codex's command line, as text."""
    flags = zip(plan.argv, plan.argv[1:], strict=False)
    return dict(value.split("=", 1) for flag, value in flags if flag == "-c")


def after(argv: list[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def judged(executor: Executor, *lines: Any, code: int = 0, error: str = "") -> SliceResult:
    out, err = StreamCapture(), StreamCapture()
    out.feed("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines).encode())
    err.feed(error.encode())
    return executor.parse(RunOutput(code, None, out, err, Path()))


@pytest.mark.proves("DEL-138")
def test_codex_runs_headless_with_the_prompt_on_stdin_and_a_strict_schema(tmp_path: Path) -> None:
    plan = planned(Codex("/opt/codex"), tmp_path)
    assert plan.argv[:2] == ["/opt/codex", "exec"]
    assert plan.argv[-1] == "-"
    assert plan.stdin == "the prompt"
    assert "the prompt" not in plan.argv
    schema = json.loads(Path(after(plan.argv, "--output-schema")).read_text())
    assert schema == SCHEMA
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])
    settings = given(plan)
    assert settings["approval_policy"] == '"never"'
    assert settings["sandbox_mode"] == '"workspace-write"'
    assert settings["model_reasoning_effort"] == '"high"'
    import tomllib

    entry = tomllib.loads("x = " + settings["mcp_servers.longhouse"])["x"]
    assert (entry["command"], entry["args"][-1]) == ("python", "/a b")
    assert entry["required"] is True


def test_codex_goes_on_in_its_session_and_reaches_a_server_elsewhere(tmp_path: Path) -> None:
    plan = planned(Codex("codex"), tmp_path, session="T-1", entry=REMOTE, sandbox="full")
    assert plan.argv[1:3] == ["exec", "resume"]
    assert plan.argv[-3:] == ["--", "T-1", "-"]
    assert 'sandbox_mode="danger-full-access"' in plan.argv
    assert "lh_secret" not in " ".join(plan.argv)
    assert plan.env == {"LONGHOUSE_MCP_TOKEN": "lh_secret"}


@pytest.mark.parametrize(
    "sandbox, base", [("read-only", ":read-only"), ("workspace-write", ":workspace"), ("full", "")]
)
def test_codex_denies_its_commands_the_hidden_folders_unless_it_may_do_anything(
    tmp_path: Path, sandbox: str, base: str
) -> None:
    import tomllib

    store = tmp_path / "store"
    settings = given(planned(Codex("codex"), tmp_path, hidden=(store,), sandbox=sandbox))
    assert settings.get("default_permissions") == ('"longhouse"' if base else None)
    if base:
        profile = tomllib.loads("x = " + settings["permissions.longhouse"])["x"]
        assert profile == {"extends": base, "filesystem": {str(store.resolve()): "deny"}}
    plain = given(planned(Codex("codex"), tmp_path, sandbox=sandbox))
    assert not plain.keys() & {"default_permissions", "permissions.longhouse"}


@pytest.mark.proves("DEL-030")
def test_claude_runs_headless_with_structured_output_and_the_model_asked_for(
    tmp_path: Path,
) -> None:
    plan = planned(ClaudeCode("/opt/claude"), tmp_path, JOB._replace(model="opus"))
    assert plan.argv[:2] == ["/opt/claude", "-p"]
    assert plan.stdin == "the prompt"
    assert "the prompt" not in plan.argv
    assert after(plan.argv, "--output-format") == "stream-json"
    assert json.loads(after(plan.argv, "--json-schema")) == SCHEMA
    assert "--model=opus" in plan.argv
    assert after(plan.argv, "--effort") == "high"
    assert "mcp__longhouse" in after(plan.argv, "--allowedTools").split(",")
    servers = Path(after(plan.argv, "--mcp-config"))
    local = json.loads(servers.read_text())["mcpServers"]["longhouse"]
    assert (local["type"], local["command"]) == ("stdio", "python")
    assert servers.stat().st_mode & 0o077 == 0


def test_claude_reaches_a_server_by_its_url_with_the_token_of_the_job(tmp_path: Path) -> None:
    plan = planned(ClaudeCode("/opt/claude"), tmp_path, entry=REMOTE)
    told = json.loads(Path(after(plan.argv, "--mcp-config")).read_text())
    assert told["mcpServers"]["longhouse"] == {
        "type": "http",
        "url": "https://lh.example/mcp",
        "headers": {"Authorization": "Bearer lh_secret", "Longhouse-Role": "agent"},
    }


@pytest.mark.proves("DEL-020")
def test_claude_goes_on_in_its_session_and_may_only_read_where_told_so(tmp_path: Path) -> None:
    job, more = JOB._replace(model="opus"), {"entry": REMOTE, "sandbox": "read-only"}
    plan = planned(ClaudeCode("claude"), tmp_path, job, session="S-1", **more)
    assert ("--resume=S-1" in plan.argv, "--model=opus" in plan.argv) == (True, True)
    assert "Bash" not in after(plan.argv, "--allowedTools")
    assert "lh_secret" not in " ".join(plan.argv)


THREAD = {"type": "thread.started", "thread_id": "T-1"}
USED = {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 20}}


def message(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": "agent_message", "text": text}}


def test_codex_is_judged_by_its_last_message() -> None:
    warning = {"type": "item.completed", "item": {"type": "error", "message": "no metadata"}}
    found = judged(
        Codex("codex"),
        THREAD,
        warning,
        message("thinking"),
        "not json",
        "[1]",
        message(json.dumps(ANSWER)),
        USED,
    )
    assert found.answer == AgentAnswer(status="DONE", summary="ok", refs=["notes@1"])
    assert (found.session, found.usage) == ("T-1", TokenUsage(100, 20))


@pytest.mark.parametrize(
    "lines, code, said",
    [
        ([THREAD, message("prose")], 0, "not JSON"),
        ([THREAD], 0, "no answer"),
        ([THREAD, {"type": "turn.failed", "error": {"message": "401"}}], 1, "code 1: 401"),
        ([message(json.dumps(ANSWER)), {"type": "turn.failed", "error": None}], 0, "turn failed"),
        ([message(json.dumps(ANSWER))], 1, "code 1: from stderr"),
        ([message(json.dumps({**ANSWER, "refs": "notes@1"}))], 0, "Expected `array`"),
    ],
)
def test_codex_failures(lines: list[Any], code: int, said: str) -> None:
    found = judged(Codex("codex"), *lines, code=code, error="from stderr")
    assert found.answer is None
    assert said in (found.error or "")


def result(**more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "S-1",
        "result": "",
        "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 20},
        "total_cost_usd": 0.5,
        **more,
    }


@pytest.mark.proves("DEL-030")
def test_claude_structured_output_is_unwrapped() -> None:
    denied = [{"tool_name": "WebFetch"}, {"tool_name": "WebFetch"}]
    found = judged(
        ClaudeCode("claude"),
        {"type": "system", "session_id": "S-1"},
        result(structured_output=ANSWER, permission_denials=denied),
    )
    assert found.answer is not None
    assert found.answer.refs == ["notes@1"]
    assert (found.session, found.usage) == ("S-1", TokenUsage(100, 20, 0.5))
    assert found.notes == ("not allowed to use: WebFetch",)
    plain = judged(ClaudeCode("claude"), result(result=f"```json\n{json.dumps(ANSWER)}\n```"))
    assert plain.answer == found.answer


@pytest.mark.parametrize(
    "lines, code, said",
    [
        ([result(is_error=True, result="API Error: 401", structured_output=ANSWER)], 1, "401"),
        ([result(is_error=True, terminal_reason="aborted_tools")], 0, "aborted_tools"),
        ([result(structured_output=ANSWER)], 1, "code 1"),
        ([result(structured_output={"status": "DONE"})], 0, "missing required field"),
        ([result(result="all done")], 0, "not JSON"),
        ([{"type": "system", "session_id": "S-9"}], 143, "code 143: from stderr"),
        (["garbage"], 0, "from stderr"),
    ],
)
def test_claude_failures(lines: list[Any], code: int, said: str) -> None:
    found = judged(ClaudeCode("claude"), *lines, code=code, error="from stderr")
    assert found.answer is None
    assert said in (found.error or "")


def test_totals_are_subtracted_and_a_new_count_is_taken_as_it_is() -> None:
    before = TokenUsage(100, 20, 0.5)
    assert TokenUsage(350, 70, 0.7).since(before, Codex.totals) == TokenUsage(250, 50, 0.7)
    assert TokenUsage(90, 70, 0.75).since(before, ClaudeCode.totals) == TokenUsage(90, 70, 0.25)
    assert TokenUsage(50, 70).since(before, Codex.totals) == TokenUsage(50, 50)


@pytest.mark.proves("DEL-028", "DEL-029")
def test_codex_is_always_offered_and_claude_where_its_cli_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(environ: dict[str, str] | None = None, **flags: str) -> dict[str, str]:
        options = load_options(flags, place_of(tmp_path), environ=environ or {})
        found = executors.find_executors(options)
        return {name: getattr(one, "program", "") for name, one in found.items()}

    monkeypatch.setenv("PATH", str(tmp_path))
    assert names() == {"codex": "codex"}
    assert names(codex_bin="/x/codex") == {"codex": "/x/codex"}
    assert names({"LONGHOUSE_CODEX_BIN": "/y/codex"}) == {"codex": "/y/codex"}
    assert names(claude_bin="/x/claude")["claude_code"] == "/x/claude"
    assert names({"LONGHOUSE_CLAUDE_BIN": "/y/claude"})["claude_code"] == "/y/claude"
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    assert names() == {"codex": "codex"}, "a file that cannot be run is not a CLI"
    (tmp_path / "claude").chmod(0o755)
    assert names()["claude_code"] == str(tmp_path / "claude")
    assert names(claude_bin="/x/claude")["claude_code"] == "/x/claude"
    assert names({"LONGHOUSE_CLAUDE_BIN": "/y/claude"})["claude_code"] == "/y/claude"


class Mine:
    """An executor as another package would provide it."""

    name = "mine"
    profiles = ("fast",)
    totals: tuple[str, ...] = ()

    def __init__(self, options: Any) -> None:
        pass


def test_others_plug_in_by_entry_point_and_a_broken_one_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        EntryPoint("mine", f"{__name__}:Mine", executors.GROUP),
        EntryPoint("broken", "nowhere:Nothing", executors.GROUP),
        EntryPoint("codex", f"{__name__}:Mine", executors.GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
    told: list[str] = []
    options = load_options({}, place_of(tmp_path), environ={})
    found = executors.find_executors(options, lambda _event, **facts: told.append(facts["name"]))
    assert [type(found[name]).__name__ for name in ("mine", "codex")] == ["Mine", "Codex"]
    assert told == ["broken"]
