"""Every table has a bound that is written down, and what is to be swept is swept."""

from __future__ import annotations

import re
from pathlib import Path

from longhouse.store import maintenance
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.tx import Call
from longhouse.store.upkeep.tables import all_tables
from tests.kit import CountedIds, Lh
from tests.processes.kit import Runner, ended
from tests.processes.test_belonging import loop

README = Path(maintenance.__file__).with_name("README.md")
INDEXES = {"search_blocks", "search_fresh", "search_state"}
"""Indexes, which the catalogue of tables leaves out."""
NOW_MS = 1_800_000_000_000


def call(now_ms: int = NOW_MS) -> Call:
    return Call(now_ms=now_ms, ids=CountedIds())


def bounds() -> dict[str, str]:
    """What the README says, by table."""
    text = README.read_text(encoding="utf-8").partition("## What bounds each table")[2]
    rows = re.findall(r"^\| (`.+?`) \| (.+) \|$", text, re.MULTILINE)
    return {name: bound for names, bound in rows for name in re.findall(r"`(\w+)`", names)}


def test_every_table_has_a_bound_that_is_written_down(db: Database) -> None:
    db.write("acme", lambda tx: tx.now_ms, call())
    tables = {table.name for table in db.read("acme", all_tables, call())} | INDEXES
    written = bounds()
    missing = sorted(tables - written.keys())
    assert not missing, f"say what bounds {missing} in {README.name}, and sweep it if nothing does"
    unknown = written.keys() - tables - {"schema_version"}
    assert not unknown, f"there is no such table: {sorted(unknown)}"
    assert all(len(bound) > 5 for bound in written.values())


def count(lh: Lh, table: str) -> int:
    text = f"SELECT COUNT(*) AS n FROM {table} WHERE ws = :ws"
    found = lh.house.db.read("acme", lambda tx: tx.value(Query("n", text, text)), lh.house._call())
    return int(found)


def test_of_the_operations_that_are_done_only_the_last_is_kept_until_the_task_ends(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    ops = [lh("tool.task_write_stdin", task_id=task_id, keys=["a"])["op_id"] for _ in range(5)]
    assert count(lh, "tool_ops") == 5
    for left, op_id in zip((5, 4, 3), ops, strict=False):
        typed = {"type": "tool_task_stdin_written", "op_id": op_id, "bytes": 1}
        runner.append(task_id, typed)
        assert count(lh, "tool_ops") == left  # those that wait, and the last that is done
    typed = {"type": "tool_task_stdin_written", "op_id": ops[4], "bytes": 1}
    runner.append(task_id, typed)
    assert [op["op_id"] for op in runner.hold()["ops"]] == [ops[3]]  # told later than one behind it
    assert lh("tool.task_write_stdin", task_id=task_id, keys=["a"])["op_id"] == f"{task_id}.6"
    runner.append(task_id, ended())
    assert count(lh, "tool_ops") == 0


def test_a_host_is_forgotten_after_a_month_of_silence_but_not_while_it_has_tasks(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    lh.clock.advance(31 * 86_400_000)
    loop(lh, "forget_what_is_over")
    assert count(lh, "tool_hosts") == 1
    loop(lh, "give_up_lost_hosts")
    assert lh("tool.task_status", task_id=task_id)["task"]["status"] == "exited"
    loop(lh, "forget_what_is_over")
    assert count(lh, "tool_hosts") == 0
