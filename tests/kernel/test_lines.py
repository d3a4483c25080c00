"""BM-L1: the format of lines, pasting them back, and cutting them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import (
    command_line,
    cut,
    error_lines,
    parse_command_line,
    plain_lines,
    tidy,
    warning_line,
)
from tests.kit import Lh

GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_command_is_its_tool_and_its_sorted_arguments() -> None:
    call = {
        "workspace": "acme",
        "op": "call",
        "cmd": "jobs.open",
        "args": {"job": "JOB-001", "limit": 3, "note": None, "refs": ["a", "b"]},
    }
    line = command_line("jobs", call, default_workspace="acme")
    assert line == 'jobs cmd=jobs.open job=JOB-001 limit=3 refs=["a","b"]'


def test_another_workspace_than_the_default_one_is_named() -> None:
    line = command_line("status", {"workspace": "other"}, default_workspace="acme")
    assert line == "status workspace=other"


@pytest.mark.parametrize("text", ["12", "true", "null", "-1.5e3", "two words", "", "a=b", '"'])
def test_text_that_would_read_as_something_else_is_quoted(text: str) -> None:
    line = command_line("open", {"id": text}, default_workspace=None)
    assert parse_command_line(line) == ("open", {"id": text})


def test_an_argument_named_like_a_part_of_the_envelope_stays_an_argument() -> None:
    call = {"op": "call", "cmd": "system.schema.get", "args": {"cmd": "docs.show"}}
    line = command_line("system", call, default_workspace=None)
    assert parse_command_line(line) == ("system", call)
    golden = {"op": "schema.get", "args": {"cmd": "docs.show"}}
    line = command_line("system", golden, default_workspace=None)
    assert line == "system op=schema.get cmd=docs.show"
    assert parse_command_line(line) == ("system", golden)


names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.booleans() | st.integers(-(2**53), 2**53) | texts
items = scalars | st.lists(scalars, max_size=3) | st.dictionaries(texts, scalars, max_size=3)


@given(st.dictionaries(names, items, max_size=5), st.sampled_from(["op", "cmd"]))
def test_every_rendered_command_parses_back_to_the_same_call(
    args: dict[str, Any], how: str
) -> None:
    head = {"op": "create"} if how == "op" else {"op": "call", "cmd": "jobs.create"}
    call = {"workspace": "w/1", **head, "args": args}
    line = command_line("jobs", call, default_workspace=None)
    assert len(line.splitlines()) == 1
    assert parse_command_line(line) == ("jobs", call)


@given(st.dictionaries(names, items, max_size=5))
def test_the_flat_tools_parse_back_too(args: dict[str, Any]) -> None:
    line = command_line(
        "open", {k: v for k, v in args.items() if k != "args"}, default_workspace=None
    )
    assert parse_command_line(line) == ("open", {k: v for k, v in args.items() if k != "args"})


@pytest.mark.parametrize(
    "line",
    ["", "  ", "JOBS x=1", "jobs x", 'jobs a="open', "jobs a=1 a=2", 'jobs a="x"y', "jobs {}"],
)
def test_a_line_that_is_no_command_is_refused_with_a_reason(line: str) -> None:
    with pytest.raises(InvalidInput):
        parse_command_line(line)


@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(line: str) -> None:
    try:
        tool, call = parse_command_line(line)
    except InvalidInput:
        return
    assert tool
    assert isinstance(call, dict)


def test_errors_and_warnings_say_how_to_fix_them_on_one_line() -> None:
    error = {"code": "CONFLICT", "message": "taken\nby r1; fix: x=1", "recovery": "claim\tanother"}
    assert error_lines(error, ["one", "two", "three"]) == [
        "ERROR: CONFLICT taken by r1 | fix: claim another",
        "one",
        "two",
    ]
    assert warning_line({"code": "X", "message": "m", "recovery": None}) == "WARNING: X m"


def test_no_line_is_blank_and_an_answer_has_at_least_one() -> None:
    assert tidy(["a\nb", "", " \u2028 ", "c\x85"]) == ["a b", "c"]
    assert tidy([]) == ["ok"]


def test_any_result_can_be_shown_as_lines() -> None:
    result = {
        "id": "X",
        "n": 2,
        "inner": {"a": 1, "deep": {}},
        "rows": [{"id": "r", "t": "a b"}, "s"],
    }
    assert plain_lines("x.y", result) == [
        "x.y id=X n=2 inner.a=1 rows=2",
        '- id=r t="a b"',
        "- s",
    ]


@given(
    st.lists(st.text("ab ", min_size=1, max_size=30), min_size=1, max_size=12),
    st.integers(0, 300),
    st.none() | st.integers(0, 12),
    st.none() | st.integers(0, 300),
    st.integers(0, 2),
)
def test_cut_lines_keep_the_first_and_fit_when_they_can(
    lines: list[str], max_chars: int, max_lines: int | None, max_bytes: int | None, last: int
) -> None:
    kept, dropped = cut(
        lines,
        max_chars=max_chars,
        max_lines=max_lines,
        max_bytes=max_bytes,
        keep_last=min(last, len(lines) - 1),
    )
    assert kept[0] == lines[0]
    assert dropped is (kept != lines)
    if len(kept) > 1:
        assert len("\n".join(kept)) <= max_chars
        assert max_lines is None or len(kept) <= max_lines
    plain = [line for line in kept if not line.startswith("MORE: ")]
    if any(line.startswith("MORE: ") for line in kept):
        more = next(line for line in kept if line.startswith("MORE: "))
        assert more.split()[1] == str(len(lines) - len(plain))


def test_the_best_next_command_outlives_the_rows() -> None:
    lines = ["state", *(f"row {n}" for n in range(50)), "open id=JOB-001", "status"]
    kept, _ = cut(lines, max_chars=120, keep_last=2)
    assert kept[0] == "state"
    assert kept[-2:] == ["open id=JOB-001", "status"]
    assert "MORE: " in kept[-3]


def test_where_there_is_little_room_it_is_said_in_few_words_that_more_is_there() -> None:
    lines = ["state", *(f"row {n}" for n in range(50))]
    assert cut(lines, max_chars=40)[0] == ["state", "MORE: 50 lines left out"]
    assert cut(lines, max_chars=12)[0] == ["state"]


@pytest.mark.parametrize(
    "name, tool, arguments",
    [
        ("status_new", "status", {"fmt": "lines"}),
        ("error_missing", "jobs", {"op": "create", "args": {"title": "x"}, "fmt": "lines"}),
        ("error_tool", "notes_commit", {"fmt": "lines"}),
        ("error_op", "docs", {"op": "shov", "args": {"fmt": "lines"}}),
        ("rows_lowered", "docs", {"op": "show", "args": {"limit": 900, "fmt": "lines"}}),
        (
            "commands",
            "system",
            {"op": "cmd.list", "args": {"prefix": "workspace.", "fmt": "lines"}},
        ),
    ],
)
def test_lines_look_as_they_did(lh: Lh, name: str, tool: str, arguments: dict[str, Any]) -> None:
    text = lh.portal(tool, **arguments).text
    assert text is not None
    golden = GOLDEN / f"{name}.txt"
    assert text + "\n" == golden.read_text(encoding="utf-8"), f"{golden} is not what is said now"
    lines = text.split("\n")
    assert all(line.strip() for line in lines)
    assert not any(line.startswith(("{", "[")) for line in lines)


def test_golden_ops_keep_their_own_renderer(lh: Lh) -> None:
    by_op = lh.portal("system", op="cmd.list", fmt="lines").text
    by_cmd = lh.portal("system", op="call", cmd="system.cmd.list", args={"fmt": "lines"}).text
    assert by_op == by_cmd


def test_lines_that_fit_to_the_character_and_the_byte_are_not_cut() -> None:
    lines = ["state", "grün"]
    assert cut(lines, max_chars=10, max_bytes=11, max_lines=2) == (lines, False)
    assert cut(lines, max_chars=9)[1]
    assert cut(lines, max_chars=10, max_bytes=10)[1]
    assert cut(lines, max_chars=10, max_lines=1)[1]
