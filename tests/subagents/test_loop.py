"""The loop of model and tools, and the runner for any model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentError,
    DispatchSubagentResult,
    LimitReached,
    Limits,
    MarkdownSection,
    ModelTurn,
    Prompt,
    PromptExecuted,
    PromptRunner,
    PromptSubagentToolsSection,
    PromptValidationError,
    Tool,
    ToolContext,
    ToolInvoked,
    ToolResult,
    ToolValidationError,
    Usage,
    evaluate,
)
from longhouse.subagents.schema import parameters_schema, parse_arguments, result_text
from tests.subagents.kit import (
    Note,
    Records,
    Runner,
    ScriptedModel,
    calling,
    dispatch_tool,
    make_session,
    note_tool,
    request,
    run,
)


def prompt_with(*tools: Tool[Any, Any]) -> Prompt:
    role = MarkdownSection(title="Role", key="role", text="Help.", tools=tools)
    return Prompt(ns="team", key="lead", sections=(role,))


def test_a_model_is_asked_until_it_calls_no_more_tools() -> None:
    session = make_session()
    heard: list[Any] = []
    session.bus.subscribe(ToolInvoked, heard.append)
    session.bus.subscribe(PromptExecuted, heard.append)
    model = ScriptedModel(
        [
            calling(("note", '{"text": "one"}'), ("note", '{"text": "two"}'), tokens=10),
            ModelTurn("All noted.", tokens=5),
        ]
    )
    response = evaluate(prompt_with(note_tool()), "Note it.", model=model, session=session)
    assert response.text == "All noted."
    assert [type(event).__name__ for event in heard] == [
        "ToolInvoked",
        "ToolInvoked",
        "PromptExecuted",
    ]
    assert (heard[0].adapter, heard[0].prompt_name, heard[0].call_id) == (
        "scripted",
        "team/lead",
        "call-0",
    )
    assert session.select_all(Note) == (Note("one"), Note("two"))
    assert session.scope.usage == Usage(turns=2, tokens=15)
    first, second = model.asked
    assert [(message.role, message.text) for message in first] == [
        ("system", "## Role\n\nHelp."),
        ("user", "Note it."),
    ]
    assert [message.role for message in second[2:]] == ["assistant", "tool", "tool"]
    assert [message.call_id for message in second[3:]] == ["call-0", "call-1"]
    assert json.loads(second[3].text) == {
        "message": "noted one",
        "success": True,
        "payload": {"text": "one", "rank": 0},
    }
    assert model.offered == [("note",), ("note",)]


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("paint", "{}", "Unknown tool 'paint'. Tools: note."),
        ("note", "{", "Tool validation failed: arguments of note:"),
        ("note", "[1]", "Expected `object`, got `array`"),
        ("note", '{"text": 3}', "Expected `str`, got `int` - at `$.text`"),
        ("note", "", "Object missing required field `text`"),
        ("note", '{"text": "a", "colour": 1}', "$.colour is not a known name"),
    ],
)
def test_a_mistake_of_the_model_is_answered_and_the_loop_goes_on(
    name: str, arguments: str, said: str
) -> None:
    session = make_session()
    model = ScriptedModel([calling((name, arguments)), ModelTurn("Sorry.")])
    response = evaluate(prompt_with(note_tool()), "Go.", model=model, session=session)
    assert response.text == "Sorry."
    answer = json.loads(model.asked[1][-1].text)
    assert not answer["success"]
    assert said in answer["message"]
    assert session.slice_types() == frozenset()


def test_good_and_bad_calls_of_one_turn_are_answered_in_order() -> None:
    model = ScriptedModel(
        [
            calling(("paint", "{}"), ("note", '{"text": "a"}'), ("note", "?")),
            ModelTurn("Done."),
        ]
    )
    evaluate(prompt_with(note_tool()), "Go.", model=model, session=make_session())
    answers = [json.loads(message.text)["success"] for message in model.asked[1][-3:]]
    assert answers == [False, True, False]


def test_a_model_that_never_ends_is_stopped() -> None:
    model = ScriptedModel(calling(("note", '{"text": "again"}')) for _ in range(99))
    with pytest.raises(LimitReached, match=r"turns \(3\)"):
        evaluate(prompt_with(note_tool()), "Go.", model=model, session=make_session(), max_turns=3)
    assert len(model.asked) == 3


def test_no_turn_starts_beyond_the_limits_of_the_session() -> None:
    session = make_session(Limits(tokens=10))
    model = ScriptedModel(calling(("note", '{"text": "x"}'), tokens=10) for _ in range(9))
    with pytest.raises(LimitReached, match=r"tokens \(10\)"):
        evaluate(prompt_with(note_tool()), "Go.", model=model, session=session)
    assert len(model.asked) == 1


def test_the_model_is_told_how_much_time_is_left() -> None:
    model = ScriptedModel([ModelTurn("Done.")])
    evaluate(prompt_with(), "Go.", model=model, session=make_session(Limits(seconds=9)))
    assert model.seconds == [9]


# ------------------------------------------------------------------------------------- runner


@pytest.mark.proves("SUB-001", "SUB-025", "SUB-026", "SUB-034")
def test_a_dispatch_through_a_whole_loop_shows_the_parent_only_the_dispatch() -> None:
    session = make_session()
    heard: list[Any] = []
    session.bus.subscribe(ToolInvoked, heard.append)
    session.bus.subscribe(PromptExecuted, heard.append)
    identities: list[Any] = []

    def look(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        identities.append((context.session.session_id, context.session.created_at))
        return ToolResult("seen", params)

    tool = Tool("look", "Look.", Note, Note, look)
    child_model = ScriptedModel([calling(("look", '{"text": "x"}')), ModelTurn("Looked at x.")])
    section = PromptSubagentToolsSection(session=session, runner=PromptRunner(child_model))
    arguments = json.dumps(
        {"mode": "ad_hoc", "prompt_ns": "team", "prompt_key": "eyes", "instructions": "Look at x."}
    )
    parent_model = ScriptedModel(
        [calling(("dispatch_subagent", arguments)), ModelTurn("The child looked.")]
    )
    role = MarkdownSection(title="Role", key="role", text="Lead.", tools=(tool,))
    prompt = Prompt(ns="team", key="lead", sections=(role, section))
    response = evaluate(prompt, "Find x.", model=parent_model, session=session)

    assert response.text == "The child looked."
    assert [type(event).__name__ for event in heard] == ["ToolInvoked", "PromptExecuted"]
    assert heard[0].name == "dispatch_subagent"
    assert json.loads(parent_model.asked[1][-1].text) == {
        "message": "Looked at x.",
        "success": True,
        "payload": {"artifacts": [], "tools_used": ["look"]},
    }
    assert identities == [(session.session_id, session.created_at)]
    assert session.select_all(Note) == ()
    assert child_model.offered[0] == ("look", "dispatch_subagent")
    assert child_model.asked[0][1].text == "Look at x."


@pytest.mark.proves("SUB-008")
def test_a_mode_that_the_model_makes_up_is_answered_and_does_not_end_the_parent() -> None:
    session = make_session()
    section = PromptSubagentToolsSection(session=session, runner=Runner())
    arguments = '{"mode": "bold", "prompt_ns": "a", "prompt_key": "b", "instructions": "c"}'
    model = ScriptedModel([calling(("dispatch_subagent", arguments)), ModelTurn("Ok.")])
    prompt = Prompt(ns="team", key="lead", sections=(section,))
    assert evaluate(prompt, "Go.", model=model, session=session).text == "Ok."
    assert "Invalid enum value 'bold'" in model.asked[1][-1].text


def test_a_runner_reports_delivered_artifacts_and_not_those_merely_expected() -> None:
    records = Records()
    model = ScriptedModel(
        [
            calling(("deliver_artifacts", '{"artifacts": ["a.md", "a.md"]}')),
            ModelTurn("Wrote a."),
        ]
    )
    asked = request("Write.", expected_artifacts=("a.md", "b.md"))
    value = run(PromptRunner(model), asked, recorder=records).value
    assert value is not None
    assert value.artifacts == ("a.md",)
    assert value.tools_used == ("deliver_artifacts",)
    assert records.finishes[0].missing_artifacts == ("b.md",)
    assert "a.md, b.md" in model.asked[0][0].text


def test_a_runner_without_expected_artifacts_offers_no_way_to_deliver_them() -> None:
    model = ScriptedModel([ModelTurn("Done.")])
    assert run(PromptRunner(model)).success
    assert model.offered == [()]


def test_a_way_to_deliver_is_not_handed_on_to_a_child_that_is_asked_for_nothing() -> None:
    session, model = make_session(), ScriptedModel([ModelTurn("Done.")])
    tool = dispatch_tool(session, PromptRunner(model))
    context = ToolContext(session, tools=(note_tool("deliver_artifacts"), note_tool()))
    assert tool.handler(request(), context=context).success
    assert model.offered == [("note",)]


def test_a_child_starts_with_no_deliveries_of_its_parent() -> None:
    session = make_session()
    inner_model = ScriptedModel([ModelTurn("Inner done.")])
    inner = dispatch_tool(session, PromptRunner(inner_model))
    outer_model = ScriptedModel(
        [
            calling(("deliver_artifacts", '{"artifacts": ["a.md"]}')),
            calling(
                (
                    "dispatch_subagent",
                    json.dumps(
                        {
                            "mode": "ad_hoc",
                            "prompt_ns": "n",
                            "prompt_key": "k",
                            "instructions": "More.",
                            "expected_artifacts": ["c.md"],
                        }
                    ),
                )
            ),
            ModelTurn("Outer done."),
        ]
    )
    tool = dispatch_tool(session, PromptRunner(outer_model))
    context = ToolContext(session, tools=(inner,))
    value = tool.handler(request(expected_artifacts=("a.md",)), context=context).value
    assert value is not None
    assert value.artifacts == ("a.md",)
    told = json.loads(outer_model.asked[2][-1].text)
    assert told["payload"]["artifacts"] == []


def test_a_plan_step_and_sections_of_the_parent_stand_in_the_childs_prompt() -> None:
    model = ScriptedModel([ModelTurn("Done.")])
    guide = MarkdownSection(
        title="Notes", key="notes", text="Keep notes short.", tools=(note_tool(),)
    )
    session = make_session()
    tool = dispatch_tool(session, PromptRunner(model, sections=(guide,)))
    context = ToolContext(session, tools=(note_tool(), note_tool("search")))
    asked = request("Do it for $5.", mode="plan_step", plan_step_id="S$001")
    assert tool.handler(asked, context=context).success
    system = model.asked[0][0].text
    assert "step S$001 of the caller's plan" in system
    assert "## Notes\n\nKeep notes short." in system
    assert model.offered == [("search", "note")]
    assert model.asked[0][1].text == "Do it for $5."


@pytest.mark.parametrize(
    "turns, message",
    [
        ([ModelTurn("  ")], "the model ended without a summary"),
        ([DispatchSubagentError("HTTP 500")], "HTTP 500"),
        ([PromptValidationError("odd")], "odd"),
    ],
)
def test_a_model_that_gives_nothing_is_a_failed_result(turns: Any, message: str) -> None:
    result = run(PromptRunner(ScriptedModel(turns)))
    assert result == ToolResult(f"Subagent execution failed: {message}", None, success=False)


def test_a_request_that_the_runner_cannot_name_is_the_callers_fault() -> None:
    unnamed = DispatchSubagent("ad_hoc", "  ", "", "Go.")
    with pytest.raises(ToolValidationError, match=r"prompt_ns must not be blank\."):
        run(PromptRunner(ScriptedModel([])), unnamed)


def test_several_dispatches_of_one_turn_come_back_in_order() -> None:
    session = make_session()
    runner = Runner(lambda *given: DispatchSubagentResult(given[2].instructions.upper()))
    section = PromptSubagentToolsSection(session=session, runner=runner)
    calls = [
        (
            "dispatch_subagent",
            json.dumps(
                {"mode": "ad_hoc", "prompt_ns": "n", "prompt_key": "k", "instructions": text}
            ),
        )
        for text in ("a", "b", "c")
    ]
    model = ScriptedModel([calling(*calls), ModelTurn("Done.")])
    prompt = Prompt(ns="team", key="lead", sections=(section,))
    evaluate(prompt, "Go.", model=model, session=session)
    told = [json.loads(message.text)["message"] for message in model.asked[1][-3:]]
    assert told == ["A", "B", "C"]


# ------------------------------------------------------------------------------------- schema


class Hue(Enum):
    RED = "red"


@dataclass(slots=True, frozen=True)
class Pair:
    first: Note
    others: tuple[Note, ...] = ()
    hue: Hue = Hue.RED


def pair_tool() -> Tool[Pair, Pair]:
    return Tool("pair", "Pair.", Pair, Pair, lambda params, **_: ToolResult("ok", params))


@pytest.mark.proves("SUB-018")
def test_the_parameters_of_the_dispatch_tool_are_the_fields_of_the_request() -> None:
    schema = parameters_schema(dispatch_tool(make_session(), Runner()))
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["mode", "prompt_ns", "prompt_key", "instructions"]
    assert set(schema["properties"]) == {*schema["required"], "expected_artifacts", "plan_step_id"}
    assert schema["properties"]["mode"] == {"enum": ["ad_hoc", "plan_step"]}


def test_nested_parameters_stand_beside_the_object_at_the_top() -> None:
    schema = parameters_schema(pair_tool())
    assert schema["properties"]["first"] == {"$ref": "#/$defs/Note"}
    assert schema["$defs"]["Note"]["additionalProperties"] is False
    assert schema["$defs"]["Hue"] == {"title": "Hue", "enum": ["red"]}


def test_an_unknown_name_deep_in_the_arguments_is_refused_by_its_path() -> None:
    good = '{"first": {"text": "a"}, "others": [{"text": "b", "rank": 2}]}'
    assert parse_arguments(pair_tool(), good) == Pair(Note("a"), (Note("b", 2),))
    with pytest.raises(ToolValidationError, match=r"\$.others\[0\].shade is not a known name"):
        parse_arguments(pair_tool(), good.replace('"rank"', '"shade"'))


def test_a_model_is_told_nothing_twice_nothing_empty_and_nothing_excluded() -> None:
    @dataclass(frozen=True)
    class Answer:
        text: str
        hint: str | None = None
        data: object = None

    assert json.loads(result_text(ToolResult("hi", Answer("hi")))) == {
        "message": "hi",
        "success": True,
        "payload": {},
    }
    hidden = ToolResult("hi", Answer("secret"), exclude_value_from_context=True)
    assert "secret" not in result_text(hidden)
    odd = json.loads(result_text(ToolResult("hi", Answer("x", data=ValueError("odd")))))
    assert odd["payload"]["data"] == "ValueError('odd')"
    assert json.loads(result_text(ToolResult("all", [1, None])))["payload"] == [1, None]
    assert json.loads(result_text(ToolResult("no", None, success=False))) == {
        "message": "no",
        "success": False,
    }
