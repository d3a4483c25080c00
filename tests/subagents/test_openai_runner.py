"""The ready runner, through the real SDK, against a scripted local server."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from longhouse.subagents import (
    DispatchSubagentResult,
    Limits,
    MarkdownSection,
    Prompt,
    PromptSubagentToolsSection,
    ToolContext,
    ToolResult,
    Usage,
    evaluate,
)
from longhouse.subagents.openai_runner import OpenAIModel, OpenAIRunner
from tests.subagents.kit import Note, Records, dispatch_tool, make_session, note_tool, request, run
from tests.subagents.scripted_openai import ScriptedServer, calls, says, scripted


@pytest.fixture
def clients() -> Iterator[Any]:
    made: list[OpenAI] = []

    def client(server: ScriptedServer) -> OpenAI:
        made.append(OpenAI(base_url=server.url, api_key="none", max_retries=0))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.mark.proves("SUB-001", "SUB-025", "SUB-026", "SUB-041")
def test_a_child_runs_its_tool_loop_on_the_endpoint_and_reports(clients: Any) -> None:
    session, records = make_session(), Records()
    session.seed_slice(Note, [Note("of the parent")])
    with scripted(
        calls(("note", {"text": "one"}), ("note", {"text": "two"}), tokens=40),
        calls(("deliver_artifacts", {"artifacts": ["notes.md"]}), tokens=50),
        says("Took two notes \u2013 done.", tokens=60),
    ) as server:
        runner = OpenAIRunner(clients(server), model="scripted")
        tool = dispatch_tool(session, runner, recorder=records)
        result = tool.handler(
            request("Take notes.", expected_artifacts=("notes.md", "index.md")),
            context=ToolContext(session, tools=(note_tool(),)),
        )
    assert result == ToolResult(
        "Took two notes - done.",
        DispatchSubagentResult(
            "Took two notes - done.", ("notes.md",), ("note", "deliver_artifacts")
        ),
    )
    (finish,) = records.finishes
    assert finish.usage == Usage(turns=3, tokens=150)
    assert finish.tools == (("note", 2), ("deliver_artifacts", 1))
    assert finish.missing_artifacts == ("index.md",)
    assert session.select_all(Note) == (Note("of the parent"),)

    first, second, third = server.requests
    assert first["model"] == "scripted"
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["messages"][1]["content"] == "Take notes."
    assert [one["function"]["name"] for one in first["tools"]] == ["note", "deliver_artifacts"]
    assert first["tools"][0]["function"]["parameters"]["required"] == ["text"]
    assert [message["role"] for message in second["messages"][2:]] == ["assistant", "tool", "tool"]
    assert [message["tool_call_id"] for message in second["messages"][3:]] == ["call-0", "call-1"]
    assert json.loads(third["messages"][-1]["content"])["message"] == "1 delivered"


def test_parent_and_children_run_on_one_endpoint(clients: Any) -> None:
    session = make_session()
    task = {"mode": "ad_hoc", "prompt_ns": "team", "prompt_key": "eyes", "instructions": "Look."}
    with scripted(
        calls(("dispatch_subagent", task)), says("Seen from below."), says("All is well.")
    ) as server:
        client = clients(server)
        section = PromptSubagentToolsSection(
            session=session, runner=OpenAIRunner(client, model="small")
        )
        role = MarkdownSection(title="Role", key="role", text="Lead.")
        response = evaluate(
            Prompt(ns="team", key="lead", sections=(role, section)),
            "Is all well?",
            model=OpenAIModel(client, model="large"),
            session=session,
        )
    assert response.text == "All is well."
    assert [body["model"] for body in server.requests] == ["large", "small", "large"]
    (kept,) = session.select_all(DispatchSubagentResult)
    assert kept.message_summary == "Seen from below."


@pytest.mark.proves("SUB-036")
@pytest.mark.parametrize(
    "line, said",
    [
        ((500, {"error": {"message": "overloaded"}}), "overloaded"),
        ((429, {"error": {"message": "slow down"}}), "slow down"),
        ((200, {**says("x"), "choices": []}), "the endpoint sent no chat completion"),
        ((200, {**says("x"), "choices": [{"index": 0}]}), "the endpoint sent no chat completion"),
        (says(None), "the model ended without a summary"),
        ((200, "not an answer"), "the endpoint sent no chat completion"),
    ],
)
def test_an_endpoint_that_fails_is_a_failed_result(clients: Any, line: Any, said: str) -> None:
    with scripted(line) as server:
        result = run(OpenAIRunner(clients(server), model="scripted"))
    assert (result.success, result.value) == (False, None)
    assert result.message.startswith("Subagent execution failed: ")
    assert said in result.message


def test_an_endpoint_out_of_reach_is_a_failed_result(clients: Any) -> None:
    with scripted() as server:
        client = clients(server)
    result = run(OpenAIRunner(client, model="scripted"))
    assert (
        result.message == "Subagent execution failed: the model request failed: Connection error."
    )


def test_an_answer_cut_by_the_endpoint_says_so(clients: Any) -> None:
    with scripted(says("Found the", finish="length")) as server:
        result = run(OpenAIRunner(clients(server), model="scripted"))
    assert result.message == "Found the [cut by the model's length limit]"


def test_bad_arguments_of_a_model_are_answered_and_mended(clients: Any) -> None:
    session = make_session()
    with scripted(
        calls(("note", "{not json")), calls(("note", {"text": "ok"})), says("Done.")
    ) as server:
        tool = dispatch_tool(session, OpenAIRunner(clients(server), model="scripted"))
        result = tool.handler(request(), context=ToolContext(session, tools=(note_tool(),)))
    assert result.success
    assert "Tool validation failed" in server.requests[1]["messages"][-1]["content"]


def test_tokens_that_an_endpoint_counts_are_charged_to_the_budget(clients: Any) -> None:
    session = make_session(Limits(tokens=100))
    with scripted(calls(("paint", {}), tokens=100)) as server:
        runner = OpenAIRunner(clients(server), model="scripted")
        result = run(runner, session=session)
    assert (
        result.message
        == "Subagent execution failed: limit reached: tokens (100); ask for less or raise it"
    )
    assert session.scope.usage == Usage(turns=1, tokens=100, children=1)


def test_an_endpoint_that_counts_no_tokens_is_fine(clients: Any) -> None:
    answer = says("Done.")
    del answer["usage"]
    with scripted(answer) as server:
        assert run(OpenAIRunner(clients(server), model="scripted")).success


def test_a_deadline_bounds_each_request(clients: Any) -> None:
    with scripted(says("Done.")) as server:
        client = clients(server)
        timeouts: list[Any] = []
        create = client.chat.completions.create

        def spy(**given: Any) -> Any:
            timeouts.append(given["timeout"])
            return create(**given)

        client.chat.completions.create = spy
        assert run(OpenAIRunner(client, model="scripted"), limits=Limits(seconds=30)).success
    assert timeouts == [30]


def test_without_the_sdk_the_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "longhouse.subagents.openai_runner"
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'longhouse\[openai\]'"):
        importlib.import_module(name)
