"""The sparse registry gives what the whole one gives, and imports less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings, load
from longhouse.house import House, registry
from longhouse.kernel.errors import UnknownCmd
from longhouse.sparse import MANIFEST, SparseRegistry, manifest_of
from tests.contracts.world import build_world, example_args
from tests.kit import CountedIds, Lh, ManualClock
from tools.api_names import api_homes

ROOT = Path(__file__).parents[1]
PARTS = 6
UNKNOWN = {
    "target": "TASK-999",
    "task": "TASK-999",
    "plan": "PLAN-999",
    "job": "JOB-999",
    "id": "CARD-nowhere",
    "branch": "nowhere",
    "conflict_id": "CONFLICT-" + "0" * 32,
    "agent": "nobody",
    "bead_id": "TASK-999",
}


def test_the_manifest_says_what_the_registry_says() -> None:
    assert MANIFEST.read_text(encoding="utf-8") == manifest_of(registry(), api_homes(registry())), (
        "run: python -m tools.commands"
    )


def test_every_command_opener_and_adviser_is_the_same() -> None:
    whole, sparse = registry(), SparseRegistry(registry)
    assert [sparse.get(command.cmd) for command in whole] == list(whole)
    assert [sparse.of(command.example) for command in whole] == list(whole)
    assert [one.pattern for one in sparse.openers] == [one.pattern for one in whole.openers]
    for kind in ("advisers", "recoverers", "targets"):
        assert getattr(sparse, kind) == getattr(whole, kind)
    assert "status" in sparse
    assert "no.such" not in sparse
    assert list(sparse) == list(whole)


@pytest.mark.parametrize("text", ["", "{}", '{"commands": {"status": "no.such.module"}}'])
def test_without_a_usable_manifest_it_is_only_slower(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    sparse = SparseRegistry(registry, path)
    assert sparse.get("status").cmd == "status"
    assert sparse.get(" STATUS ").cmd == "status"
    assert len(sparse.openers) == len(registry().openers)
    assert sparse.of(sparse.get("docs.show").example).cmd == "docs.show"


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCmd) as caught:
        SparseRegistry(registry).get("docs.sho")
    assert "docs.show" in str(caught.value.recovery)


def test_a_house_on_it_answers_as_any_other(settings: Settings) -> None:
    with House(settings, commands=SparseRegistry(registry)) as house:
        assert house.call("vcs.notes.commit", {"content": "x"}).success
        assert house.call("open", {"id": "notes@1"}).envelope["result"]["ref"] == "notes@1"
        assert house.call("docs.show", {"doc": 3}).code == "INVALID_INPUT"
        assert house.call("system.cmd.list", {}).success


def cases(lh: Lh) -> list[tuple[str, list[dict[str, Any]]]]:
    """Every command: about things that are not there, without arguments, with a stranger, right."""
    found = []
    for command in lh.house.registry:
        own = command.fields()
        at_once = {"timeout_ms": 0} if "timeout_ms" in own else {}
        right = {**example_args(lh, command), **at_once}
        unknown = [{**right, name: value} for name, value in UNKNOWN.items() if name in own]
        if "target" not in own and command.portal == "tasks":
            unknown.append({**right, "target": "TASK-999"})
        found.append((command.cmd, [*unknown, at_once, {**right, "no_such_argument": 1}, right]))
    return found


def answers(mode: str, store: Path, copy: Path, given: str) -> list[Any]:
    argv = [sys.executable, "-m", "tests.sparse_calls", mode, str(store), str(copy)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ran = subprocess.run(
        argv,
        input=given,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: list[Any] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A store with a little of everything, and the calls to make on copies of it."""
    folder = tmp_path_factory.mktemp("world")
    flags = {"dir": str(folder / ".longhouse"), "workspace": "acme"}
    settings, clock = load(flags, environ={}, cwd=folder), ManualClock()
    with House(settings, clock=clock, ids=CountedIds()) as house:
        lh = Lh(house, clock)
        build_world(lh)
        return settings.dir, cases(lh)


@pytest.mark.parametrize("part", range(PARTS))
def test_both_registries_answer_every_command_alike_refusals_too(
    world: tuple[Path, list[Any]], tmp_path: Path, part: int
) -> None:
    store, made = world[0], world[1][part::PARTS]
    given, copy = json.dumps(made), tmp_path / ".longhouse"
    sparse, whole = (answers(mode, store, copy, given) for mode in ("sparse", "whole"))
    for (cmd, calls), one, two in zip(made, sparse, whole, strict=True):
        assert len(one) == len(calls), (cmd, one)
        for args, left, right in zip(calls, one, two, strict=True):
            assert left == right, (cmd, args)
    codes = {answer["error"] and answer["error"]["code"] for one in whole for answer in one}
    assert {None, "UNKNOWN_ID", "INVALID_INPUT"} <= codes


def test_without_a_server_a_note_on_a_task_that_is_not_there_is_refused(tmp_path: Path) -> None:
    code = (
        "from longhouse.surfaces.cli import main; import sys;"
        "sys.exit(main(['note', 'hi', '--target', 'TASK-999', '--json', '--dir', sys.argv[1]]))"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / ".longhouse")]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert json.loads(ran.stdout)["error"]["code"] == "UNKNOWN_ID"


MOST_MODULES = {"note": 82, "status": 117, "status of a task": 135}
"""Modules of ours that a call without a server may load: the deterministic half of the promises
`cli-read-without-server` and `cli-status-beside-task-list`. Lower it when you can."""
CALLS = {
    "note": ["note", "hi"],
    "status": ["status", "--json"],
    "status of a task": ["status", "--json"],
}


@pytest.mark.parametrize("call", CALLS)
def test_one_call_without_a_server_loads_few_modules(tmp_path: Path, call: str) -> None:
    code = (
        "import sys; from longhouse.surfaces.cli import main;"
        "code = main(sys.argv[1:]);"
        "print(*(m for m in sys.modules if m.startswith('longhouse')), file=sys.stderr);"
        "sys.exit(code)"
    )
    flags = ["--dir", str(tmp_path / ".longhouse")]
    first = ["task", "start", "One", "--step", "a"] if "task" in call else ["note", "first"]
    subprocess.run([sys.executable, "-c", code, *first, *flags], check=True)
    ran = subprocess.run(
        [sys.executable, "-c", code, *CALLS[call], *flags],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = ran.stderr.splitlines()[-1].split()
    assert len(loaded) <= MOST_MODULES[call], sorted(loaded)
    if call == "note":
        others = ("longhouse.jobs", "longhouse.crew", "longhouse.desk", "longhouse.work")
        assert not [name for name in loaded if name.startswith(others)]
