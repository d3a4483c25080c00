"""Guesses of callers who have read no schema: carried out where one thing is meant, else asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.config import load
from longhouse.dispatch import Caller
from longhouse.dispatch.meaning import fit
from longhouse.house import House, registry
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.units import unit_of
from tests.guesses.reading import Guess, Outcome, full, outcome, read
from tests.guesses.setting import build
from tests.kit import CountedIds, Lh, ManualClock

TABLES = (
    "table.txt",
    "later.txt",
    "third.txt",
    "fourth.txt",
    "fifth.txt",
    "sixth.txt",
    "seventh.txt",
    "eighth.txt",
    "ninth.txt",
    "tenth.txt",
)
COMMANDS = tuple(registry())
MOMENTS = ("not_before_ms", "deadline_ms", "parked_until_ts_ms")


@pytest.fixture(scope="module")
def lh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lh]:
    """One world for all guesses: what each is taken for does not depend on those before it."""
    folder, clock = tmp_path_factory.mktemp("guesses"), ManualClock()
    settings = load(
        {"dir": str(folder / ".longhouse"), "workspace": "acme"},
        environ={"HOME": str(folder)},
        cwd=folder,
    )
    with House(settings, clock=clock, ids=CountedIds()) as house:
        lh = Lh(house, clock)
        build(lh)
        yield lh


def wrong(lh: Lh, guess: Guess) -> str | None:
    """How the outcome differs from the wanted one; None if it does not."""
    before = lh("status")["seq"]
    got = outcome(lh.house, guess)
    error = got.envelope["error"] or {}
    if error.get("code") == "INTERNAL_ERROR":
        return f"{guess.line}\n    failed with a bug"
    if got.kind != "->" and lh("status")["seq"] != before:
        return f"{guess.line}\n    was refused and wrote"
    if got.kind == guess.kind and _as_wanted(lh, guess, got, error):
        return None
    return f"{guess.line}\n    {got.kind} {got.cmd} {got.args} {error.get('message', '')}"


def _as_wanted(lh: Lh, guess: Guess, got: Outcome, error: dict[str, Any]) -> bool:
    if guess.kind == "--":
        return guess.wanted in f"{error['message']} {error['recovery']}"
    if guess.kind == "!!":
        return f"{got.cmd} {got.args['missing'][0]}" == guess.wanted
    return (got.cmd, got.args) == (guess.wanted, full(lh.house, guess.wanted, guess.args))


def test_more_than_three_hundred_guesses_come_out_as_wanted(lh: Lh) -> None:
    guesses = [guess for name in TABLES for guess in read(Path(__file__).with_name(name))]
    assert len(guesses) >= 300
    assert {guess.tool for guess in guesses} >= {c.portal for c in COMMANDS}
    differences = [found for guess in guesses if (found := wrong(lh, guess))]
    assert not differences, "\n".join(differences)


def test_what_was_understood_is_carried_out_and_taught(lh: Lh) -> None:
    answer = lh.portal("tasks", op="note", task="TASK-001", text="it was the cache")
    assert answer.success
    (taught,) = answer.envelope["warnings"]
    assert taught["code"] == "UNDERSTOOD"
    assert "op=note as op=call cmd=tasks.note" in taught["message"]
    assert "text as note" in taught["message"]
    assert "task beside args as inside args" in taught["message"]
    shown = lh("docs.show", target="TASK-001", doc_kind="notes")["entries"]
    assert shown[-1]["content"].endswith("it was the cache")


def test_the_right_names_teach_nothing(lh: Lh) -> None:
    answer = lh.portal("docs", op="search", args={"text": "cache"})
    assert [w["code"] for w in answer.envelope["warnings"]] == ["UNDERSTOOD"]
    answer = lh.portal("docs", op="call", cmd="docs.search", args={"text": "cache"})
    assert not answer.envelope["warnings"]


def test_a_process_is_found_by_its_name_wherever_an_id_is_taken(lh: Lh) -> None:
    for cmd in ("tool.task_status", "tool.output_fetch", "tool.task_stream_events"):
        shown = str(lh(cmd, task_id="web"))
        assert "PROC-002" in shown, cmd
        assert "PROC-001" not in shown, cmd
    assert "PROC-002" in str(lh("tool.task_cancel", task_id="web", reason="tidy"))
    states = {
        one: lh("tool.task_status", task_id=one)["task"]["status"]
        for one in ("PROC-001", "PROC-002")
    }
    assert (states["PROC-001"], states["PROC-002"]) == ("queued", "cancelled")
    assert lh.refused("tool.output_fetch", task_id="nobody")["code"] == "UNKNOWN_ID"


def test_two_values_for_one_argument_are_refused(lh: Lh) -> None:
    for arguments in (
        {"op": "note", "note": "a", "args": {"text": "b", "note": "c"}},
        {"op": "call", "cmd": "tasks.history", "args": {"task": "TASK-001", "id": "TASK-002"}},
        {"op": "call", "cmd": "tasks.history", "task": "TASK-001", "args": {"task": "TASK-002"}},
    ):
        answer = lh.portal("tasks", **arguments)
        assert answer.code == "INVALID_INPUT", arguments


def test_a_guess_needs_the_role_that_its_meaning_needs(lh: Lh) -> None:
    viewer = Caller(Role.VIEWER)
    note = lh.house.dispatcher.portal("tasks", {"op": "note", "args": {"text": "x"}}, viewer)
    assert note.code == "FORBIDDEN"
    reply = {"op": "radar", "args": {"reply_job": "JOB-001", "reply_message": "go"}}
    assert lh.house.dispatcher.portal("jobs", reply, viewer).code == "FORBIDDEN"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.cmd)
def test_a_command_named_as_an_op_is_carried_out_or_asked_about(lh: Lh, command: Command) -> None:
    family, _, rest = command.cmd.partition(".")
    if not rest or command.op:
        pytest.skip("the tool itself, or an op of it")
    args = msgspec.to_builtins(command.example)
    op = rest if family == command.portal else command.cmd
    line = f"{command.portal} op={op} -- any"
    guess = Guess(line, command.portal, {"op": op, "args": args}, "--", "", {})
    got = _without_running(lh, guess)
    kind = "->" if command.may_be_guessed(args) else "??"
    assert (got.kind, got.cmd) == (kind, command.cmd), got.envelope["error"]
    if kind == "??":
        args.pop("agent_token", None)
    assert got.args == args


def _without_running(lh: Lh, guess: Guess) -> Outcome:
    """The outcome of a guess whose handler is not run."""
    dispatcher, run = lh.house.dispatcher, lh.house.dispatcher._run

    def refuse(*_: Any) -> Any:
        raise LonghouseError("not run")

    dispatcher._run = refuse  # type: ignore[method-assign,assignment]
    try:
        return outcome(lh.house, guess)
    finally:
        dispatcher._run = run  # type: ignore[method-assign]


MEASURED = [
    (command, field, found)
    for command in COMMANDS
    for field in command.fields()
    if (found := unit_of(field)) and found.kind == "time" and found.stem and field not in MOMENTS
]


@pytest.mark.parametrize(
    "command, field, unit", MEASURED, ids=[f"{c.cmd}.{f}" for c, f, _ in MEASURED]
)
def test_a_length_of_time_is_converted_or_asked_about(
    command: Command, field: str, unit: Any
) -> None:
    per = {"ms": 1, "s": 1000, "minutes": 60_000, "hours": 3_600_000}[unit.unit]
    for name, value in (
        (f"{unit.stem}_hours", 2),
        (f"{unit.stem}_seconds", 7200),
        (unit.stem, "2h"),
        (field, "7200s"),
    ):
        assert fit(command, {name: value})[0] == {field: 7_200_000 // per}, name
    with pytest.raises(InvalidInput) as refused:
        fit(command, {unit.stem: 5})
    assert f"{field}=5 or {unit.stem}_" in refused.value.message
    assert fit(command, {unit.stem: 0})[0] == {field: 0}
    assert fit(command, {field: 5})[0] == {field: 5}


@pytest.mark.parametrize(
    "cmd, given, fix",
    [
        ("tasks.complete", {"status": "doing"}, "ACTIVE"),
        ("jobs.wait", {"job": "JOB-001", "timeout_ms": 60_000}, "fix: timeout_ms=25000"),
        ("tasks.ready", {"limit": 0}, "fix: limit=1"),
        ("tasks.gate", {"path": "s1"}, None),
        ("tasks.edit", {"task": "TASK-001", "priority": "P1"}, None),
        ("agents.inbox", {}, None),
        ("tasks.complete", {"task": "TASK-001", "status": "shipped"}, None),
    ],
)
def test_a_fix_is_near_in_meaning_or_there_is_none(
    lh: Lh, cmd: str, given: dict[str, Any], fix: str | None
) -> None:
    error = lh.refused(cmd, **given)
    if fix:
        assert fix in error["message"]
    else:
        assert "fix:" not in error["message"]
