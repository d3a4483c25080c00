"""The day a backup is needed: each kind of backup is restored, and every read answers as before."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.tool_tasks import task_folder
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.sweep import sweep
from longhouse.store.upkeep import back_up, restore, verify
from tests.contracts.world import build_world, example_args
from tests.kit import CountedIds, Lh
from tests.processes.kit import Runner, ended, out, running, spawned
from tests.store.upkeep_kit import call_of, exported, grow, imported, other_house
from tools.postgres import programs

KEY = b"key"

OF_THE_HOUSE = {
    "docs.transcripts.digest": "reads the machine's transcripts",
    "docs.transcripts.open": "reads the machine's transcripts",
    "docs.transcripts.search": "reads the machine's transcripts",
    "system.diagnostics": "names the folder and the database",
    "system.init": "names the folder",
    "system.storage": "names the folder",
    "tool.task_watch": "speaks for a host, which is not restored",
    "workspace.list": "shows when each workspace was made here",
}
"""Reads whose answer is about this house, not about what it holds."""

GROWN = {
    "ART-002": "a growing log is exported as if it had ended",
    "docs.artifact.list": "imported output is kept as artifacts",
}


RAN = {
    "output of PROC-003": "it was running, and its host is not restored",
    "tool.host_list": "no host is restored",
    "tool.task_list": "lists PROC-003",
}


def printed(lh: Lh, task: str, text: str, stream: str = "stdout") -> None:
    folder = task_folder(lh.house.settings.dir, "acme", task)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stream}.log").write_text(text)


def rich(lh: Lh) -> None:
    """Something in every room, and processes that ended, run, wait, and printed beyond a cap."""
    build_world(lh)
    runner = Runner(lh)
    for text in ("precious result\n", "two\nlines\n"):
        task = spawned(lh)
        runner.claim()
        printed(lh, task, text)
        runner.append(task, running(), out(0, text), ended())
    runner.start()
    printed(lh, "PROC-003", "so far")
    runner.append("PROC-003", out(0, "so f"))
    runner.start()
    folder = task_folder(lh.house.settings.dir, "acme", "PROC-004")
    printed(lh, "PROC-004", "head" + "\0" * 8 + "tail")
    (folder / "stdout.gap").write_text("4 12\n")
    runner.append("PROC-004", out(0, "head"), ended())
    spawned(lh, "still queued")
    grow(lh, "acme", b"a log that grows\n" * 50, cap=400)


def answers(lh: Lh) -> dict[str, Any]:
    """What every read command answers to its example; and the output of every process."""
    found = {}
    for command in lh.house.registry:
        if command.writes or command.cmd in OF_THE_HOUSE:
            continue
        args = example_args(lh, command)
        if "timeout_ms" in command.fields():
            args["timeout_ms"] = 0
        if command.cmd == "status":
            args["view"] = "full"  # what the short one has room for depends on what runs
        found[command.cmd] = lh.envelope(command.cmd, **{"workspace": "acme", **args})
    for task in lh("tool.task_list", limit=50)["tasks"]:
        name = f"output of {task['task_id']}"
        found[name] = lh.envelope("tool.output_fetch", task_id=task["task_id"])
    for artifact in lh("docs.artifact.list", limit=50)["artifacts"]:
        if "PROC-" not in artifact["name"]:
            found[artifact["handle"]] = lh.envelope("docs.artifact.show", id=artifact["handle"])
    return found


PATHS = frozenset({"processes", "runner_bootstrap"})
"""Fields that name the store's folder, or what runs on this machine."""
HEADS = frozenset({"as_of", "cursor", "engine", "headline", "next_cursor", "seq", "usage"})
"""Fields that name the database, or the end of the log: an import records the output it keeps."""


def differing(
    before: dict[str, Any], after: dict[str, Any], but: frozenset[str] = PATHS
) -> dict[str, str]:
    """The reads that answer otherwise, each with the first place where it does."""
    found = {
        name: first(plain(answer, but), plain(after[name], but)) for name, answer in before.items()
    }
    return {name: where for name, where in found.items() if where}


def first(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(other.keys() - one.keys())]:
            if where := first(one.get(key), other.get(key)):
                return f"{key}.{where}"
        return ""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        places = ((n, first(a, b)) for n, (a, b) in enumerate(zip(one, other, strict=True)))
        return next((f"{n}.{where}" for n, where in places if where), "")
    return "" if one == other else f" {one!r} is now {other!r}"[:300]


def plain(value: Any, but: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {k: plain(v, but) for k, v in value.items() if k not in but}
    if isinstance(value, list):
        return [plain(one, but) for one in value if not is_of_a_process(one)]
    return value


def is_of_a_process(value: Any) -> bool:
    """Whether this is a fact of `tasks.resume.super`, or a hit, about what runs on this machine."""
    return isinstance(value, dict) and "process" in (value.get("about"), value.get("kind"))


@contextmanager
def on_postgres(url: str, folder: Path, lh: Lh) -> Iterator[Lh]:
    settings = load(
        {"dir": str(folder), "workspace": "acme", "db": url, "policy": "full-auto"},
        environ={},
        cwd=folder.parent,
    )
    with House(settings, clock=lh.clock, ids=CountedIds()) as house:
        yield Lh(house, lh.clock)


def is_sound(house: House) -> None:
    call = call_of(house)
    assert verify(house.db, artifacts_of(house), house.registry, call, full=True).problems == []


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_restored_backup_answers_every_read_as_the_store_did(lh: Lh, tmp_path: Path) -> None:
    rich(lh)
    before = answers(lh)
    house = lh.house
    backup = tmp_path / "backup"
    made = back_up(house.db, artifacts_of(house), house.registry, backup, call_of(house), key=KEY)
    assert (made.outputs, made.without_output, made.problems) == (4, [], [])
    folder = tmp_path / "new"
    restore(
        backup,
        folder / "longhouse.db",
        folder / "artifacts",
        house.registry,
        call_of(house),
        key=KEY,
        run_queued=True,
    )
    with other_house(folder, policy="full-auto") as again:
        found = differing(before, answers(Lh(again, lh.clock)), PATHS | HEADS)
        assert {name: where for name, where in found.items() if name not in RAN} == {}
        is_sound(again)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("run_queued", [True, False])
def test_what_ran_elsewhere_does_not_run_here_whether_or_not_it_is_held(
    lh: Lh, tmp_path: Path, run_queued: bool
) -> None:
    lh("jobs.create", title="Claimed", prompt="P")
    lh("jobs.claim", runner_id="r1", job="JOB-001")
    ran, waits = Runner(lh).start(), spawned(lh)
    house, folder = lh.house, tmp_path / "new"
    back_up(house.db, artifacts_of(house), house.registry, tmp_path / "b", call_of(house), key=KEY)
    made = restore(
        tmp_path / "b",
        folder / "longhouse.db",
        folder / "artifacts",
        house.registry,
        call_of(house),
        key=KEY,
        run_queued=run_queued,
    )
    assert len(made.held) == (0 if run_queued else 2)
    with other_house(folder, policy="full-auto") as again:
        other = Lh(again, lh.clock)
        task = other("tool.task_status", task_id=ran)["task"]
        assert (task["status"], task["cause"]) == ("exited", "host_lost")
        assert other("open", id="JOB-001")["job"]["status"] == "QUEUED"
        other("workspace.bind", workspace="acme")
        claimed = Runner(other).claim()
        assert [one["task_id"] for one in claimed] == ([waits] if run_queued else [])
        is_sound(again)


def test_an_export_answers_every_read_on_the_other_database(
    lh: Lh, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rich(lh)
    before, data = answers(lh), exported(lh.house)
    if engine == "postgres":
        with other_house(tmp_path / "new", policy="full-auto") as again:
            check(before, Lh(again, lh.clock), data)
    else:
        url = request.getfixturevalue("postgres_url")
        with on_postgres(url, tmp_path / "new", lh) as other:
            check(before, other, data)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_an_export_answers_every_read_in_another_file(lh: Lh, tmp_path: Path) -> None:
    rich(lh)
    before, data = answers(lh), exported(lh.house)
    with other_house(tmp_path / "new", policy="full-auto") as again:
        check(before, Lh(again, lh.clock), data)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_dump_of_the_database_answers_every_read_as_the_store_did(
    lh: Lh, tmp_path: Path, postgres_url: str, fresh_postgres_url: str
) -> None:
    """As the manual says. What a host here printed and has not sent yet is in its folder."""
    rich(lh)
    before, dump = answers(lh), tmp_path / "longhouse.dump"
    take = [str(programs() / "pg_dump"), "--format=custom", f"--file={dump}", postgres_url]
    bring = [str(programs() / "pg_restore"), f"--dbname={fresh_postgres_url}", str(dump)]
    for argv in (take, bring):
        subprocess.run(argv, check=True)
    with on_postgres(fresh_postgres_url, lh.house.settings.dir, lh) as other:
        assert differing(before, answers(other), PATHS | HEADS) == {}
        is_sound(other.house)


def check(before: dict[str, Any], other: Lh, data: bytes) -> None:
    made = imported(other.house, data)
    assert made.outputs == 4
    found = differing(before, answers(other), PATHS | HEADS)
    assert {name: where for name, where in found.items() if name not in GROWN} == {}
    is_sound(other.house)


def test_output_that_was_left_out_says_so_and_cited_output_never_is(lh: Lh, tmp_path: Path) -> None:
    rich(lh)
    lh("jobs.create", title="Cites", prompt="P")
    claim = lh("jobs.claim", runner_id="r1", job="JOB-002")["job"]
    lh(
        "jobs.complete",
        job="JOB-002",
        runner_id="r1",
        claim_revision=claim["revision"],
        status="DONE",
        refs=["PROC-002"],
    )
    data = exported(lh.house, max_output=0)
    with other_house(tmp_path / "new") as again:
        other = Lh(again, lh.clock)
        assert imported(again, data).outputs == 1
        kept = other("tool.output_fetch", task_id="PROC-002")
        assert "".join(part["text"] for part in kept["parts"]) == "two\nlines\n"
        error = other.refused("tool.output_fetch", task_id="PROC-001")
        assert (error["code"], error["retryable"]) == ("OUTPUT_REMOVED", False)
        assert "the export, which left it out: --max-output 0" in error["message"]


def test_a_stream_that_was_lost_does_not_take_the_others_with_it(lh: Lh, tmp_path: Path) -> None:
    runner, task = Runner(lh), spawned(lh)
    runner.claim()
    printed(lh, task, "precious result\n")
    runner.append(task, running(), out(0, "precious result\n"), out(0, "lost", "stderr"), ended())
    data = exported(lh.house)
    with other_house(tmp_path / "new") as again:
        made = imported(again, data)
        assert (made.outputs, made.without_output) == (1, [task])
        sweep(again.db, artifacts_of(again), again.registry.holders, call_of(again), grace_ms=-1)
        kept = Lh(again, lh.clock)("tool.output_fetch", task_id=task, stream="stdout")
        assert "".join(part["text"] for part in kept["parts"]) == "precious result\n"


def test_lost_output_is_not_worth_a_retry(lh: Lh) -> None:
    rich(lh)
    folder = task_folder(lh.house.settings.dir, "acme", "PROC-001")
    (folder / "stdout.log").unlink()
    error = lh.refused("tool.output_fetch", task_id="PROC-001")
    assert (error["code"], error["retryable"]) == ("OUTPUT_LOST", False)
