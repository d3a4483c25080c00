"""A suggested call is shown as a command line, and that line makes the same call."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.client.replies import CallOutcome
from longhouse.config.roots import own_project
from longhouse.desk.catalog import example_call
from longhouse.house import registry
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Console
from longhouse.surfaces.cli.parse import ParsedLine, every_command, parse
from longhouse.surfaces.cli.run import _carry_out
from longhouse.surfaces.cli.speaking import SAID, command_line, in_prose, said_of
from tests.runner.test_worktrees import git

from .conftest import Shell

TABLE: dict[str, str] = msgspec.json.decode(SAID.read_bytes())
STARTS_A_PROCESS = "jobs.runner.start"
KEYS = "tool.task_write_stdin"
"""Its example types bytes that no word stands for."""

LOOKED_UP: dict[str, Any] = {
    "jobs.open": {"job": {"id": "JOB-001", "status": "RUNNING", "changes": "they do not apply"}},
    "tool.task_status": {"task": {"task_id": "PROC-001", "next_seq": 1}},
    "docs.diff": {},
    "docs.list": {},
    "tasks.focus.get": {"focus": None},
}
"""What a command line asks for before it makes its call."""

OWN = ("agent_token", "rig", "root", "plans_limit", "budget_profile", "uncommitted")
"""What a command line adds by itself."""

VIEWS = {"status": "full", "tasks.macro.start": "smart"}
"""What a command line shows more of than the short answer that the call gives by default."""

MORE: list[tuple[str, dict[str, Any], str]] = [
    ("tasks.radar", {"plan": "PLAN-001"}, "task tree PLAN-001"),
    (
        "tasks.complete",
        {"task": "TASK-001", "status": "ACTIVE"},
        "task done TASK-001 --status ACTIVE",
    ),
    (
        "tasks.complete",
        {"target": "TASK-001", "status": "PARKED", "parked_for_s": 60},
        "task done TASK-001 --status PARKED --park-s 60",
    ),
    (
        "tasks.plan.decompose",
        {"task": "TASK-001", "steps": [{"title": "Mend it", "success_criteria": ["It works"]}]},
        "task step TASK-001 'Mend it' --criterion 'It works'",
    ),
    (
        "tasks.plan.decompose",
        {"task": "TASK-001", "parent": "s:0", "steps": ["Measure", "Mend"]},
        "task step TASK-001 Measure Mend --below s:0",
    ),
    (
        "tasks.plan.create",
        {"title": "Index it", "kind": "task", "parent": "PLAN-001", "steps": ["Measure"]},
        "task add 'Index it' --plan PLAN-001 --step Measure",
    ),
    (
        "tasks.step.close",
        {"task": "TASK-001", "step_id": "STEP-00000001", "checkpoints": "gate"},
        "task close STEP-00000001 --task TASK-001 --checkpoints gate",
    ),
    (
        "tasks.context",
        {"tasks_parent": "PLAN-001", "include_all": True},
        "task list --all --plan PLAN-001",
    ),
    ("jobs.apply", {"job": "JOB-001", "outcome": "dropped"}, "job apply JOB-001 --drop"),
    (
        "jobs.create",
        {
            "title": "Look",
            "prompt": "-v is slow",
            "meta": {"isolation": "worktree", "executor_model": "opus", "n": 3},
        },
        "job create Look --prompt '-v is slow' --model opus --isolation worktree --meta n=3",
    ),
    (
        "think.card",
        {
            "card": {"type": "test", "title": "Read it", "text": "Twice.", "tags": ["a:x"]},
            "supports": ["CARD-1"],
        },
        "think add test 'Read it' --body Twice. --supports CARD-1 --tag a:x",
    ),
    ("think.query", {"branch": "main", "graph_doc": "g"}, "think list --branch main --graph-doc g"),
    (
        "agents.reserve",
        {"agent": "ada", "scope": "src/*", "bead_id": "TASK-001", "mode": "shared"},
        "agent reserve --agent ada --scope 'src/*' --bead TASK-001 --shared",
    ),
    (
        "tool.policy_allow",
        {"tool": "bash", "pattern": "make *", "effect": "deny"},
        "policy allow bash 'make *' --deny",
    ),
    (
        "tool.task_spawn",
        {"tool": "exec", "args": {"argv": ["ls", "-l"]}, "timeout_ms": 2000},
        "run --timeout 2 -- ls -l",
    ),
    (KEYS, {"task_id": "PROC-001", "keys": ["y", "Enter"]}, "keys PROC-001 y Enter"),
    (KEYS, {"task_id": "PROC-001", "chunk_b64": "aGk="}, "keys PROC-001 hi --literal"),
    (
        "tool.task_wait",
        {"task_id": "PROC-001", "until": "line", "pattern": "ready*"},
        "wait PROC-001 --line 'ready*'",
    ),
    ("docs.diff", {"from": "main", "to": "idea/a"}, "diff main idea/a"),
    ("graph.query", {"types": ["decision"]}, "graph --type decision"),
]


class Heard(Exception):
    """The call was made."""


class Recorder(Cli):
    """Makes no call, but records the expected one."""

    def __init__(self, waits_for: str) -> None:
        super().__init__({}, Console(), as_json=True)
        self.waits_for = waits_for
        self.heard: dict[str, Any] = {}

    def ask(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        if cmd == "workspace.list":
            own = own_project(self.settings.place)
            assert own
            rows = [{"workspace": args["name"], "projects": [{"project": own.id}]}]
            return CallOutcome("", {"result": {"workspaces": rows}}, None)
        if cmd != self.waits_for:
            return CallOutcome("", {"result": LOOKED_UP[cmd]}, None)
        self.heard = args
        raise Heard


def made_by(line: str, cmd: str) -> dict[str, Any]:
    """The arguments of the call that a pasted line makes."""
    understood = ParsedLine()
    parse(shlex.split(line)[1:], understood)
    assert understood.command
    cli = Recorder(cmd)
    with pytest.raises(Heard):
        _carry_out(understood.command, cli, understood.values)
    if view := VIEWS.get(cmd):
        assert cli.heard.pop("view") == view
    return cli.heard


def meaning(cmd: str, args: Mapping[str, Any]) -> Any:
    """A call without its defaults, whatever names were used for its arguments."""
    given = {k: v for k, v in args.items() if v is not None and k not in OWN}
    asked: dict[str, Any] = msgspec.to_builtins(
        msgspec.convert(given, registry().get(cmd).request, strict=True)
    )
    if cmd.startswith("tasks."):
        named = [asked.pop(name) for name in ("target", "task", "plan") if name in asked]
        asked |= {"target": named} if named else {}
    if "steps" in asked:
        asked["steps"] = [
            {"title": one, "success_criteria": [one]} if isinstance(one, str) else one
            for one in asked["steps"]
        ]
    if cmd == "tool.task_wait":
        asked.pop("timeout_ms", None)  # the command line waits in several calls
    if "changed" in asked:  # paths are relative to the checkout's root
        paths = [path.removeprefix("./") for path in asked["changed"]["paths"]]
        asked["changed"] |= {"paths": paths}
    if "scope" in asked:
        asked["scope"] = asked["scope"].removeprefix(f"{Path.cwd()}/")
    return asked


def action(cmd: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": registry().get(cmd).portal, "args": {"op": "call", "cmd": cmd, "args": args}}


@pytest.mark.parametrize("cmd", sorted(TABLE.keys() - {KEYS, "tasks.plan.create"}))
def test_a_call_that_a_command_stands_for_is_said_by_it(cmd: str) -> None:
    text = command_line(example_call(registry(), registry().get(cmd)), None)
    assert text
    assert shlex.split(text)[1] == TABLE[cmd].split()[0]


SAID_EXAMPLES = sorted(
    TABLE.keys() - {KEYS, STARTS_A_PROCESS, "tasks.plan.create", "think.card", "jobs.apply"}
)


@pytest.mark.parametrize("cmd", SAID_EXAMPLES)
def test_a_line_makes_the_call_that_it_stands_for(sh: Shell, cmd: str) -> None:
    call = dict(example_call(registry(), registry().get(cmd))["args"])
    args = call.get("args", call)
    line = command_line(action(cmd, args), None)
    assert line
    for path in args.get("changed", {}).get("paths", ()):  # found in the checkout
        change(Path.cwd(), path)
    assert meaning(cmd, made_by(line, cmd)) == meaning(cmd, args)


def change(root: Path, path: str) -> None:
    """A file that a new repository has not committed."""
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    (root / path).parent.mkdir()
    (root / path).touch()


@pytest.mark.parametrize(
    "cmd, args, said", MORE, ids=[f"{cmd}-{n}" for n, (cmd, *_) in enumerate(MORE)]
)
def test_arguments_under_any_name_are_said(
    sh: Shell, cmd: str, args: dict[str, Any], said: str
) -> None:
    assert command_line(action(cmd, args), None) == f"longhouse {said}"
    if cmd == "think.card":  # its call is named after the card's type
        heard = made_by(f"longhouse {said}", "think.add.test")
        assert heard["card"] == {k: v for k, v in args["card"].items() if k != "type"}
        assert heard["supports"] == args["supports"]
    else:
        assert meaning(cmd, made_by(f"longhouse {said}", cmd)) == meaning(cmd, args)


@pytest.mark.parametrize(
    "cmd, args", [row[:2] for row in MORE], ids=[f"{cmd}-{n}" for n, (cmd, *_) in enumerate(MORE)]
)
def test_a_line_for_another_workspace_is_the_same_with_a_flag(
    cmd: str, args: dict[str, Any]
) -> None:
    here, there = ParsedLine(), ParsedLine()
    call = action(cmd, args)
    line = command_line(call, None)
    assert line
    parse(shlex.split(line)[1:], here)
    line = command_line({**call, "args": {**call["args"], "workspace": "beta"}}, None)
    assert line
    parse(shlex.split(line)[1:], there)
    assert there.globals == {**here.globals, "workspace": "beta"}, line
    assert (there.path, there.values) == (here.path, here.values), line


@pytest.mark.parametrize(
    "text, said",
    [
        ("see jobs.radar", "see longhouse radar"),
        ("jobs.create title=…", "longhouse call jobs.create title=…"),
        ("do 'Document jobs.create' by jobs.radar", "do 'Document jobs.create' by longhouse radar"),
        ('do "Don\'t use jobs.radar"', 'do "Don\'t use jobs.radar"'),
        (r"do 'It\'s \"jobs.radar\"'", r"do 'It\'s \"jobs.radar\"'"),
        ("the agents' jobs.radar, not 'it'", "the agents' longhouse radar, not 'it'"),
    ],
)
def test_what_a_sentence_quotes_is_left_as_it_was_written(text: str, said: str) -> None:
    assert in_prose(text) == said


@pytest.mark.parametrize(
    "cmd, args",
    [
        ("tasks.plan.create", {"title": "Faster search"}),
        ("tasks.plan.decompose", {"task": "T", "steps": [{"title": "a", "tests": ["b"]}]}),
        ("tasks.complete", {"task": "TASK-001", "plan": "PLAN-001"}),
        ("jobs.create", {"title": "T", "prompt": "x", "meta": {"a b": 1}}),
        ("think.card", {"card": "x"}),
        ("tool.task_spawn", {"tool": "exec", "args": {"argv": ["ls"], "rows": 3}}),
        (KEYS, {"task_id": "PROC-001", "chunk_b64": "aGkK"}),
    ],
)
def test_what_a_command_cannot_say_is_called(cmd: str, args: dict[str, Any]) -> None:
    line = command_line(action(cmd, args), None)
    assert line
    assert line.startswith(f"longhouse call {cmd} ")
    assert made_by(line, cmd) == args


def test_every_example_of_the_registry_is_a_line_that_is_understood() -> None:
    for command in registry():
        text = command_line(example_call(registry(), command), None)
        assert text
        parse(shlex.split(text)[1:], ParsedLine())


def test_a_command_that_is_declared_for_a_call_is_in_the_table() -> None:
    assert SAID.read_text(encoding="utf-8") == said_of(every_command())
    assert set(TABLE) <= {command.cmd for command in registry()}
