"""Requests are checked before anything else happens."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, get_args

import pytest

from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentResult,
    Session,
    SubagentMode,
    ToolValidationError,
)
from longhouse.subagents.normalize import concise_ascii, normalize_params
from tests.subagents.kit import Runner, make_session, request, run


@pytest.mark.proves("SUB-007", "SUB-009")
@pytest.mark.parametrize(
    "kind, names, defaults",
    [
        (
            DispatchSubagent,
            (
                "mode",
                "prompt_ns",
                "prompt_key",
                "instructions",
                "expected_artifacts",
                "plan_step_id",
            ),
            {"expected_artifacts": (), "plan_step_id": None},
        ),
        (
            DispatchSubagentResult,
            ("message_summary", "artifacts", "tools_used"),
            {"artifacts": (), "tools_used": ()},
        ),
    ],
)
def test_the_payloads_are_frozen_slotted_dataclasses_with_the_contracts_fields(
    kind: Any, names: tuple[str, ...], defaults: dict[str, object]
) -> None:
    assert tuple(field.name for field in fields(kind)) == names
    required = {name: "ad_hoc" for name in names if name not in defaults}
    value = kind(**required)
    assert {name: getattr(value, name) for name in defaults} == defaults
    assert not hasattr(value, "__dict__")
    with pytest.raises(FrozenInstanceError):
        setattr(value, names[0], "other")


@pytest.mark.proves("SUB-008")
def test_there_are_two_modes_and_any_other_is_refused() -> None:
    assert get_args(SubagentMode) == ("plan_step", "ad_hoc")
    with pytest.raises(ToolValidationError, match="mode must be 'plan_step' or 'ad_hoc'"):
        normalize_params(request(mode="parallel"))


@pytest.mark.proves("SUB-010", "SUB-015")
@pytest.mark.parametrize(
    "instructions, message",
    [
        ("", "instructions must be non-empty ASCII text."),
        (" \t\n", "instructions must be non-empty ASCII text."),
        ("x" * 2001, "instructions must be <= 2000 characters of ASCII text."),
        ("caf\u00e9", "instructions must contain only ASCII characters."),
        ("\u00e9" * 2001, "instructions must be <= 2000 characters of ASCII text."),
        (None, "instructions must be text; got NoneType."),
    ],
)
def test_instructions_that_are_empty_too_long_or_not_ascii_are_refused_by_name(
    instructions: Any, message: str
) -> None:
    with pytest.raises(ToolValidationError) as refused:
        normalize_params(request(instructions))
    assert str(refused.value) == message


@pytest.mark.proves("SUB-010", "SUB-015")
@pytest.mark.parametrize("length", [1, 1999, 2000])
def test_instructions_of_1_to_2000_characters_are_taken_without_their_margins(length: int) -> None:
    for margins in ("  {}\n", "\r\n\t{}\x0b\x0c\r\n", "{}"):
        given = margins.format("x" * length)
        assert normalize_params(request(given)).instructions == "x" * length


@pytest.mark.proves("SUB-011", "SUB-015")
@pytest.mark.parametrize(
    "label, message",
    [
        ("x" * 161, "expected_artifacts must be <= 160 characters of ASCII text."),
        ("na\u00efve.md", "expected_artifacts must contain only ASCII characters."),
        ("  ", "expected_artifacts must be non-empty ASCII text."),
        (7, "expected_artifacts must be text; got int."),
    ],
)
def test_an_artifact_label_that_is_too_long_not_ascii_or_empty_is_refused(
    label: Any, message: str
) -> None:
    with pytest.raises(ToolValidationError) as refused:
        normalize_params(request(expected_artifacts=("fine.md", label)))
    assert str(refused.value) == message


@pytest.mark.proves("SUB-011", "SUB-016")
def test_artifact_labels_become_a_tuple_of_trimmed_labels_with_duplicates_kept() -> None:
    longest = "x" * 160
    taken = normalize_params(request(expected_artifacts=[" a.md ", "b.md\n", "a.md", longest]))
    assert taken.expected_artifacts == ("a.md", "b.md", "a.md", longest)


@pytest.mark.parametrize("labels", ["draft.md", b"draft.md", None, 3, {"draft.md"}])
def test_a_lone_string_or_anything_but_a_list_is_no_list_of_labels(labels: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"expected_artifacts must be a list of labels\."):
        normalize_params(request(expected_artifacts=labels))


@pytest.mark.proves("SUB-012", "SUB-015")
@pytest.mark.parametrize(
    "step, message",
    [
        (None, "plan_step_id is required when mode is 'plan_step'."),
        (" ", "plan_step_id must be non-empty ASCII text."),
        ("S\u2082", "plan_step_id must contain only ASCII characters."),
        ("S" * 161, "plan_step_id must be <= 160 characters of ASCII text."),
    ],
)
def test_a_plan_step_needs_its_id(step: str | None, message: str) -> None:
    with pytest.raises(ToolValidationError) as refused:
        normalize_params(request(mode="plan_step", plan_step_id=step))
    assert str(refused.value) == message


@pytest.mark.proves("SUB-015")
def test_a_plan_step_id_is_trimmed() -> None:
    for step in ("S001", "S" * 160):
        taken = normalize_params(request(mode="plan_step", plan_step_id=f" {step} "))
        assert taken.plan_step_id == step


def test_an_ad_hoc_request_with_a_plan_step_id_is_refused() -> None:
    assert normalize_params(request()).plan_step_id is None
    with pytest.raises(ToolValidationError, match=r"^plan_step_id requires mode 'plan_step'"):
        normalize_params(request(plan_step_id="S001"))


@pytest.mark.parametrize("field", ["prompt_ns", "prompt_key"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_namespace_or_key_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ToolValidationError, match=rf"^{field} must not be blank"):
        normalize_params(replace(request(), **{field: value}))


def test_faults_are_reported_in_the_order_of_instructions_artifacts_mode_and_plan_step() -> None:
    faults: list[Any] = [
        request("", expected_artifacts="x", mode="?"),
        request(expected_artifacts="x", mode="?"),
        request(mode="?"),
        request(mode="plan_step"),
    ]
    named = []
    for fault in faults:
        with pytest.raises(ToolValidationError) as refused:
            normalize_params(fault)
        named.append(str(refused.value).split()[0])
    assert named == ["instructions", "expected_artifacts", "mode", "plan_step_id"]


@pytest.mark.parametrize("field", ["prompt_ns", "prompt_key"])
def test_the_labels_of_the_prompt_must_be_text(field: str) -> None:
    labels: Any = {"prompt_ns": "ns", "prompt_key": "key", field: 5}
    with pytest.raises(ToolValidationError, match=f"{field} must be text"):
        normalize_params(DispatchSubagent("ad_hoc", instructions="x", **labels))


def test_a_request_of_another_type_is_refused() -> None:
    with pytest.raises(ToolValidationError, match="takes a DispatchSubagent; got dict"):
        normalize_params({"instructions": "x"})


class Slippery(str):
    """Text that strips to something else."""

    __slots__ = ()

    def strip(self, chars: str | None = None, /) -> Any:
        return "\u00e9" * 9999


def test_text_of_a_hostile_subclass_is_taken_as_the_text_it_is() -> None:
    taken = normalize_params(request(Slippery(" plain ")))
    assert taken.instructions == "plain"
    assert type(taken.instructions) is str


@pytest.mark.proves("SUB-005", "SUB-014", "SUB-038")
@pytest.mark.parametrize(
    "params",
    [
        request(""),
        request("x" * 2001),
        request(expected_artifacts=("x" * 161,)),
        request(mode="plan_step"),
        request(mode="other"),
    ],
)
def test_an_invalid_call_takes_no_snapshot_makes_no_child_and_runs_no_runner(
    params: DispatchSubagent, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session()
    runner = Runner()
    touched: list[str] = []
    monkeypatch.setattr(Session, "snapshot", lambda _: touched.append("snapshot"))
    monkeypatch.setattr(Session, "fork", lambda _, **__: touched.append("fork"))
    with pytest.raises(ToolValidationError):
        run(runner, params, session=session)
    assert touched == []
    assert runner.sessions == []
    assert session.scope.usage.children == 0


@pytest.mark.parametrize(
    "text, told",
    [
        ("plain", "plain"),
        ("\u201cCaf\u00e9\u201d \u2013 done\u2026", '"Cafe" - done...'),
        ("\u5b8c\u4e86 ok", "?? ok"),
        ("x" * 50, "x" * 16 + " [cut: 50 characters]"),
    ],
)
@pytest.mark.proves("SUB-027")
def test_a_text_for_users_is_ascii_and_says_when_it_is_cut(text: str, told: str) -> None:
    limit = 37
    assert concise_ascii(text, limit) == told
    assert len(concise_ascii(text, limit)) <= limit
