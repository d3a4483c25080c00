"""Sections and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from longhouse.subagents import MarkdownSection, Prompt, PromptValidationError, Section
from tests.subagents.kit import Note, note_tool


def section(key: str = "role", **parts: Any) -> MarkdownSection:
    return MarkdownSection(**{"title": key.title(), "key": key, "text": "Body.", **parts})


def test_sections_render_under_headings_by_depth_and_are_joined_by_a_blank_line() -> None:
    inner = section("inner")
    prompt = Prompt(ns="team", key="lead", sections=(section(children=(inner,)), section("last")))
    assert prompt.name == "team/lead"
    assert prompt.render().text == ("## Role\n\nBody.\n\n### Inner\n\nBody.\n\n## Last\n\nBody.")


def test_a_text_is_dedented_and_takes_fields_of_its_params_literally() -> None:
    made = section(
        text="""
            Note: $text, costs $$5.
              Rank $rank
        """,
        params=Note("pays $rank", 3),
    )
    assert made.render() == "## Role\n\nNote: pays $rank, costs $5.\n  Rank 3"


def test_a_disabled_section_hides_everything_below_it_and_its_tools() -> None:
    shown = [True]
    inner = section("inner", tools=(note_tool("inner_tool"),))
    outer = section("outer", tools=(note_tool(),), children=(inner,), enabled=lambda: shown[0])
    prompt = Prompt(ns="team", key="lead", sections=(outer, section("last")))
    assert [tool.name for tool in prompt.render().tools] == ["note", "inner_tool"]
    shown[0] = False
    rendered = prompt.render()
    assert (rendered.text, rendered.tools) == ("## Last\n\nBody.", ())


@dataclass(frozen=True)
class Empty:
    pass


@pytest.mark.parametrize(
    "parts, said",
    [
        ({"key": "-bad"}, "section key '-bad'"),
        ({"key": "x" * 65}, "must be 1 to 64"),
        ({"text": "$missing"}, r"section role: \$missing in the text is not a field of params"),
        ({"text": "$missing", "params": Empty()}, "is not a field of params"),
        ({"text": "costs $"}, r"a \$ in the text must be \$\$"),
        ({"params": Empty}, "params must be a dataclass instance"),
        ({"params": {"text": 1}}, "params must be a dataclass instance"),
    ],
)
def test_a_section_that_cannot_render_is_refused_when_it_is_made(
    parts: dict[str, Any], said: str
) -> None:
    with pytest.raises(PromptValidationError, match=said):
        section(**parts)


def test_keys_are_trimmed_and_lowered() -> None:
    assert section(" Role.One ").key == "role.one"


@pytest.mark.parametrize("names", [("", "key"), ("ns", "  ")])
def test_a_prompt_needs_a_namespace_and_a_key(names: tuple[str, str]) -> None:
    with pytest.raises(PromptValidationError, match="must not be blank"):
        Prompt(ns=names[0], key=names[1])


def test_a_tool_may_stand_in_a_prompt_once_even_where_it_is_hidden() -> None:
    inner = section("inner", tools=(note_tool(),), enabled=lambda: False)
    with pytest.raises(PromptValidationError) as refused:
        Prompt(
            ns="n",
            key="k",
            sections=(section(tools=(note_tool(),)), section("o", children=(inner,))),
        )
    assert str(refused.value) == "section o/inner: tool note is already in section role"
    assert refused.value.section_path == ("o", "inner")


def test_a_section_of_ones_own_only_needs_a_body() -> None:
    class Own(Section):
        def body(self) -> str:
            return "Own."

    own = Own(title="Own", key="own")
    assert (own.render(1), own.tools(), own.enabled()) == ("### Own\n\nOwn.", (), True)
