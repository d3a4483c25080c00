"""Every read at every budget: exactly measured, never empty, and always a way on."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from longhouse.kernel.registry import Command
from tests.contracts.conftest import COMMANDS
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args
from tests.kit import Lh

BUDGETS = (
    0,
    1,
    2,
    3,
    10,
    18,
    25,
    40,
    60,
    90,
    130,
    200,
    300,
    450,
    700,
    1_000,
    1_500,
    2_500,
    4_000,
    6_000,
    12_000,
    20_000,
    80_000,
    200_000,
)
CODES = ["BUDGET_TRUNCATED", "BUDGET_MINIMAL", "BUDGET_MIN_CLAMPED"]
READS = [command for command in COMMANDS if not command.writes]


@pytest.fixture(scope="module", params=READS, ids=lambda command: command.cmd)
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


def measured(result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({k: v for k, v in result.items() if k != "budget"})


@pytest.mark.proves("MEM-295", "MEM-296", "MEM-297", "MEM-298", "MEM-299")
def test_every_command_holds_every_budget(untouched: Lh, command: Command) -> None:
    whole = call(
        untouched, command, {**example_args(untouched, command), "budget_profile": "audit"}
    )
    assert whole.success
    if command.whole:
        return  # a program acts on it: its handler bounds the answer, which is never trimmed
    for max_chars in BUDGETS:
        args = {
            **example_args(untouched, command),
            "budget_profile": "audit",
            "max_chars": max_chars,
        }
        answer = call(untouched, command, args)
        over = [w["code"] for w in answer.envelope["warnings"]].count("BUDGET_MAX_CLAMPED")
        assert over == (max_chars > 80_000)
        if over:
            assert answer.envelope["result"]["budget"]["max_chars"] == 80_000
            max_chars = 80_000
        result, budget = answer.envelope["result"], answer.envelope["result"]["budget"]
        codes = [w["code"] for w in answer.envelope["warnings"] if w["code"] in CODES]
        assert codes == CODES[: len(codes)]
        assert budget["used_chars"] == len(measured(result).decode())
        assert budget["truncated"] is result["truncated"] is bool(codes)
        assert result.keys() - {"budget", "truncated"}, "an answer is never empty"
        if CODES[2] in codes:
            assert budget["max_chars"] == budget["used_chars"] > max_chars
        else:
            assert budget["used_chars"] <= budget["max_chars"] == max_chars
        for name in ("ref", "id"):
            if name in whole.envelope["result"]:
                assert result[name] == whole.envelope["result"][name]
        assert "next_cursor" in result or "next_cursor" not in whole.envelope["result"]
        assert answer.envelope["actions"] == whole.envelope["actions"]


@pytest.mark.proves("MEM-295")
def test_every_read_takes_bytes_and_lines_too(untouched: Lh, command: Command) -> None:
    for knob, most in itertools.product(("max_bytes", "max_lines"), (0, 1, 2, 5, 200, 1_000)):
        if knob in command.fields():
            continue  # there it is a range of what is read, and max_chars bounds the answer
        answer = call(untouched, command, {**example_args(untouched, command), knob: most})
        assert answer.success
        result = answer.envelope["result"]
        codes = [w["code"] for w in answer.envelope["warnings"]]
        if knob == "max_bytes" and CODES[2] not in codes:
            assert len(measured(result)) <= most
        text = call(
            untouched, command, {**example_args(untouched, command), knob: most, "fmt": "lines"}
        ).text
        assert text
        if knob == "max_lines":
            assert len(text.split("\n")) <= max(most, 1)
        elif "\n" in text:
            assert len(text.encode()) <= most


def pages(lh: Lh, command: Command, **args: Any) -> list[Any] | None:
    """All rows of a paged read, or None where the command has no pages."""
    taken = "cursor" if "cursor" in command.fields() else "offset"
    rows: list[Any] = []
    where: dict[str, Any] = {}
    for _ in range(200):
        result = call(lh, command, {**example_args(lh, command), **args, **where}).envelope[
            "result"
        ]
        page = result.get("pagination")
        if page is None or taken not in command.fields():
            return None
        name = next((k for k, v in result.items() if isinstance(v, list) and v), None)
        rows += [] if name is None else [_key(row) for row in result[name]]
        if not page["has_more"]:
            return rows
        assert page.get("next_cursor") != where.get(taken), "the cursor stands still"
        where = {taken: page["next_cursor"]}
    raise AssertionError(f"{command.cmd} never ends")


def _key(row: Any) -> Any:
    """What stays the same of a row however much of it is cut."""
    if isinstance(row, dict):
        for name in ("seq", "id", "cmd", "ref", "conflict_id", "name"):
            if name in row:
                return row[name]
    return msgspec.json.encode(row)


def test_following_the_cursor_meets_every_row_once_whatever_the_budget(
    untouched: Lh, command: Command
) -> None:
    whole = pages(untouched, command)
    for max_chars in (700, 1_200) if whole is not None else ():
        cut = pages(untouched, command, max_chars=max_chars)
        assert cut is not None
        assert sorted(map(str, cut)) == sorted(map(str, whole or []))


@pytest.mark.proves("MEM-295")
def test_bytes_and_lines_are_kept_too_and_a_cut_is_said(untouched: Lh, command: Command) -> None:
    if command.whole:
        return
    knobs = [("max_lines", 1)] + [("max_bytes", 700)] * ("max_bytes" not in command.fields())
    knobs = [(knob, most) for knob, most in knobs if knob not in command.fields()]
    whole = call(untouched, command, example_args(untouched, command)).envelope["result"]
    for knob, most in knobs:
        answer = call(untouched, command, {**example_args(untouched, command), knob: most})
        assert answer.success, answer.envelope["error"]
        result = answer.envelope["result"]
        budget = result.pop("budget")
        codes = {one["code"] for one in answer.envelope["warnings"]}
        assert result["truncated"] is budget["truncated"] is ("BUDGET_TRUNCATED" in codes)
        assert result["truncated"] or _shape(result) == _shape(whole)
        size = len(msgspec.json.encode(result)) if knob == "max_bytes" else _objects(result)
        assert size <= most or "BUDGET_MIN_CLAMPED" in codes


def _shape(value: Any) -> Any:
    """The names and lengths in a value, which do not change with the time of a call."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items() if key != "budget"}
    return len(value) if isinstance(value, list) else type(value).__name__


def _objects(value: Any) -> int:
    """How many objects stand in lists, at any depth."""
    if isinstance(value, dict):
        return sum(map(_objects, value.values()))
    if isinstance(value, list):
        return sum(isinstance(one, dict) + _objects(one) for one in value)
    return 0
