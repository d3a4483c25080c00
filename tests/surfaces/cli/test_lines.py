"""Parsing a command line: flags anywhere, and mistakes answered with a fix."""

from __future__ import annotations

import json

import pytest

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.commands import NAMES, SECTIONS
from longhouse.surfaces.cli.parse import ParsedLine, find, parse
from longhouse.surfaces.cli.spec import GLOBALS, Command
from tests.surfaces.cli.conftest import Shell


def parsed(*argv: str) -> ParsedLine:
    line = ParsedLine()
    parse(argv, line)
    return line


@pytest.mark.parametrize(
    "argv",
    [
        ("--workspace", "w", "open", "JOB-001", "--limit", "3"),
        ("open", "--workspace=w", "--limit=3", "JOB-001"),
        ("open", "JOB-001", "--limit", "3", "-w", "w"),
        ("open", "--limit", "3", "-w", "w", "--", "JOB-001"),
    ],
)
def test_flags_stand_before_or_after_the_command(argv: tuple[str, ...]) -> None:
    line = parsed(*argv)
    assert (line.name, line.values, line.globals) == (
        "open",
        {"id": "JOB-001", "limit": 3},
        {"workspace": "w"},
    )


def test_a_switch_can_be_negated_and_a_flag_repeated() -> None:
    line = parsed("events", "--no-runner-autostart", "--stream", "a", "--stream=b", "-f")
    assert line.globals == {"runner_autostart": False}
    assert line.values == {"stream": ["a", "b"], "follow": True}


@pytest.mark.parametrize(
    "given, minutes", [("90", 90), ("1h", 60), ("2 hours", 120), ("45m", 45), ("1d", 1440)]
)
def test_a_time_may_be_written_with_its_unit(given: str, minutes: int) -> None:
    assert parsed("agent", "reserve", "--ttl", given).values["ttl"] == minutes


@pytest.mark.parametrize("given", ["90s", "1w", "soon", "1.5h"])
def test_a_time_that_is_no_whole_number_of_the_unit_names_the_unit(given: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parsed("agent", "reserve", "--ttl", given)
    assert refused.value.recovery == "--ttl MINUTES"


@pytest.mark.parametrize(
    "argv, said",
    [
        (["stauts"], "did you mean 'status'?"),
        (["status", "--workspce", "x"], "did you mean '--workspace'?"),
        (["open"], "ID is missing"),
        (["open", "a", "b"], "unexpected argument 'b'"),
        (["open", "a", "--limit", "many"], "is not a number"),
        (["open", "a", "--limit"], "needs a value"),
        (["status", "--json=yes"], "takes no value"),
        (["token"], "name a command: create, list, revoke"),
        (["token", "crate"], "did you mean 'create'?"),
        (["token", "create", "--role", "king"], "is not one of viewer, agent, manager, operator"),
        (["completion", "tcsh"], "is not one of bash, zsh, fish"),
        (["status", "--toolset", "all"], "is not one of core, daily, full"),
        (["call", "status", "nonsense"], "neither JSON nor name=value"),
        (["call", "status", "{"], "not valid JSON"),
        (["status", "--port", "http"], "is not a number"),
        (["status", "--db", "mysql://host/x"], "mysql:// is not a database Longhouse supports"),
    ],
)
def test_a_mistake_is_named_with_the_way_out(sh: Shell, argv: list[str], said: str) -> None:
    ran = sh(*argv)
    assert ran.code == 2
    assert said in ran.err
    assert "\n   fix  " in ran.err
    assert ran.out == ""
    as_json = sh(*argv, "--json")
    assert as_json.code == 2
    if argv[0] != "call":
        assert not as_json.json["ok"]
    assert json.loads(as_json.out)["error"]["code"] == "INVALID_INPUT"


def test_every_command_is_listed_documented_and_does_something() -> None:
    def walk(command: Command) -> None:
        assert command.summary
        assert not command.summary.endswith(".")
        assert command.run or command.calls or command.children
        keys = [flag.key for flag in command.flags]
        assert not set(keys) & {flag.key for flag in GLOBALS}
        for child in command.children:
            walk(child)

    for name in NAMES:
        command = find(name)
        assert command.name == name
        walk(command)


def test_every_module_of_a_command_is_listed() -> None:
    from pathlib import Path

    from longhouse.surfaces.cli import commands

    files = {path.stem for path in Path(commands.__path__[0]).glob("[a-z]*.py")}
    assert files == {name.replace("-", "_") for name in NAMES}


def test_help_shows_the_choices_of_arguments_and_flags_with_the_default(sh: Shell) -> None:
    assert "(low, medium, high; default: medium)\n" in sh("job", "create", "--help").out
    assert "to this role (viewer, agent, manager, operator)\n" in sh("mcp", "--help").out
    assert "your shell; the scripts use `words` (bash, zsh, fish, words)\n" in (
        sh("completion", "--help").out
    )


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
def test_help_names_every_command_and_flag(sh: Shell, argv: list[str]) -> None:
    ran = sh(*argv)
    assert ran.code == 0
    for word in [*NAMES, *SECTIONS, *(flag.name for flag in GLOBALS)]:
        assert word in ran.out


@pytest.mark.parametrize("name", NAMES)
def test_each_command_explains_itself(sh: Shell, name: str) -> None:
    before, after = sh("--help", name), sh(name, "--help")
    assert before == after == sh("help", name)
    assert after.out.startswith(find(name).summary)


def test_the_version_is_one_line(sh: Shell) -> None:
    assert sh("--version") == sh("-V") == sh("status", "--version")
    assert sh("--version").out.startswith("longhouse ")
    assert set(sh("--version", "--json").json) == {"ok", "command", "data", "error"}
