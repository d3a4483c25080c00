"""Invalid input is refused with the field's name and place, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.inputs import MAX_DEPTH, check_json
from tests.kit import Lh


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value, said",
    [
        ("a\x00b", "NUL"),
        ("\ud800", "surrogates"),
        (2**63, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        (float("nan"), "finite"),
        (float("-inf"), "finite"),
        (b"bytes", "JSON value"),
        ({1: 2}, "names"),
        ({"\ud800": 1}, "surrogates"),
        (deep(MAX_DEPTH), "nesting"),
        (deep(900), "nesting"),
    ],
    ids=range(11),
)
def test_a_value_that_no_store_could_keep_is_refused_by_its_place(value: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        check_json({"meta": {"list": [value]}})
    place = "meta" if said == "nesting" else "meta.list[0]"
    assert refused.value.message.startswith(f"{place}: expected ")


def test_an_argument_that_has_no_proper_name_is_refused_as_args() -> None:
    with pytest.raises(InvalidInput, match=r"^args: expected text without NUL characters"):
        check_json({"a\x00b": 1})


def test_everything_else_passes() -> None:
    check_json({"a": [1, 2.5, None, True, "é \U0001f600 \n\t\x01"], "b": deep(MAX_DEPTH - 2)})
    check_json({"n": [2**63 - 1, -(2**63)]})


@pytest.mark.parametrize(
    "args, message, hint",
    [
        (
            {"title": "x"},
            "prompt: expected text of 1 to 50000 characters (missing)",
            {"kind": "missing_required", "field": "prompt"},
        ),
        (
            {"title": "", "prompt": "p"},
            "title: expected text of 1 to 200 characters",
            {"kind": "non_empty", "field": "title"},
        ),
        (
            {"title": "x" * 201, "prompt": "p"},
            "title: expected text of 1 to 200 characters",
            {"kind": "length", "subject": "title", "max_chars": 200},
        ),
        (
            {"title": 7, "prompt": "p"},
            "title: expected text of 1 to 200 characters, got a whole number",
            {"kind": "type", "field": "title", "expected": "text of 1 to 200 characters"},
        ),
        (
            {"title": None, "prompt": "p"},
            "title: expected text of 1 to 200 characters, got null",
            {"kind": "type", "field": "title", "expected": "text of 1 to 200 characters"},
        ),
        (
            {"title": "x", "prompt": "p", "executor_profile": "slow"},
            "executor_profile: expected one of audit, deep, fast",
            {"kind": "type", "field": "executor_profile", "expected": "one of audit, deep, fast"},
        ),
        (
            {"title": "x", "prompt": "p", "executor": "nobody"},
            "executor: expected codex, claude_code, auto or a plug-in like acme.shell",
            {
                "kind": "type",
                "field": "executor",
                "expected": "codex, claude_code, auto or a plug-in like acme.shell",
            },
        ),
        (
            {"title": "x", "prompt": "p", "meta": []},
            'meta: expected an object, got a list; fix: meta={"name":"value"}',
            {"kind": "type", "field": "meta", "expected": "an object"},
        ),
    ],
)
def test_a_mistake_is_explained_by_field_shape_and_example(
    lh: Lh, args: dict[str, Any], message: str, hint: dict[str, Any]
) -> None:
    error = lh.refused("jobs.create", **args)
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].replace("object | null", "an object").startswith(message)
    assert error["hints"] == [hint]


@pytest.mark.parametrize(
    "given, got",
    [
        (1.5, "a number"),
        (True, "true or false"),
        (["x"], "a list"),
        ({"x": 1}, "an object"),
    ],
)
def test_what_was_given_instead_is_told_in_plain_words(lh: Lh, given: Any, got: str) -> None:
    error = lh.refused("jobs.create", title=given, prompt="p")
    assert f"expected text of 1 to 200 characters, got {got}" in error["message"]


@pytest.mark.parametrize(
    "cmd, args, near",
    [
        ("jobs.create", {"titel": "x"}, "title"),
        ("jobs.create", {"max_char": 9}, "max_chars"),
        ("vcs.notes.commit", {"content": "x", "target": {"id": "TASK-001", "kin": "task"}}, "kind"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_nearest_one(
    lh: Lh, cmd: str, args: dict[str, Any], near: str
) -> None:
    error = lh.refused(cmd, **args)
    assert error["code"] == "INVALID_INPUT"
    assert f"unknown argument; did you mean {near!r}?" in error["message"]


def test_a_common_argument_of_the_wrong_shape_is_explained_too(lh: Lh) -> None:
    error = lh.refused("status", max_chars=-1)
    assert error["message"] == (
        "max_chars: expected a whole number of at least 0; fix: max_chars=0"
    )
    assert lh.refused("status", fmt="xml")["message"] == "fmt: expected one of json, lines"


def test_null_means_left_out(lh: Lh) -> None:
    assert lh("docs.show", branch=None, limit=None, max_chars=None)["pagination"]["limit"] == 20
