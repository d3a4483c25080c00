"""Somebody reads the store, the database or the frames for a password that was typed.

The attacker gets every file that Longhouse and its process host wrote, every row of the database
and every frame, from the moment of typing to after the task's end.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

PASSWORD = "correct-horse-battery-staple"
ASKS = "stty -echo; echo password; read -r word; stty echo; test ${#word} = 28 && echo right"


@pytest.fixture
def desk(tmp_path: Path, db_url: str | None) -> Iterator[TaskDesk]:
    flags = {"db": db_url} if db_url else {}
    made = TaskDesk(tmp_path, **flags)
    yield made
    made.close()


def spellings() -> list[bytes]:
    """The password, and what it looks like in base64 at any place of a longer text."""
    plain = PASSWORD.encode()
    coded = {base64.b64encode(b"x" * shift + plain)[4 * bool(shift) :][:24] for shift in range(3)}
    return [plain, *coded, plain.hex().encode()]


def found_in_files(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files, "there is nothing to look at"
    contents = ((path, path.read_bytes()) for path in files)
    return [str(path) for path, data in contents if any(word in data for word in spellings())]


def found_in_rows(db_url: str) -> list[str]:
    with psycopg.connect(db_url) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'longhouse'")
        tables = [name for (name,) in names.fetchall()]
        assert "tool_typed" in tables
        rows = {
            name: repr(db.execute(f'SELECT * FROM longhouse."{name}"').fetchall())
            for name in tables
        }
        assert db.execute(
            "SELECT relpersistence FROM pg_class WHERE relname = 'tool_typed'"
        ).fetchone() == ("u",)  # no log of the database holds it
    return [name for name, text in rows.items() if any(w.decode() in text for w in spellings())]


def type_in(desk: TaskDesk, task: str, how: str) -> dict[str, Any]:
    if how == "keys":
        return desk("tool.task_write_stdin", task_id=task, keys=[PASSWORD, "Enter"])
    chunk = base64.b64encode(f"{PASSWORD}\n".encode()).decode()
    return desk("tool.task_write_stdin", task_id=task, chunk_b64=chunk)


@pytest.mark.proves("TTA-031")
@pytest.mark.parametrize("how", ["keys", "chunk_b64"])
def test_a_typed_password_is_stored_nowhere(desk: TaskDesk, db_url: str | None, how: str) -> None:
    desk.runner("r1")
    task = desk.bash(ASKS, execution_mode="pty")
    until(lambda: b"password" in desk.log(task, "pty"), "it asks")
    desk.await_task(task, "running")
    op_id = type_in(desk, task, how)["op_id"]
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    assert b"right" in desk.log(task, "pty")
    (typed,) = [one for one in desk.frames(task) if one["type"] == "tool_task_stdin_written"]
    assert (typed["op_id"], typed["bytes"], typed["sha256"]) == (op_id, 29, None)
    assert not any(word.decode() in repr(desk.frames(task)) for word in spellings())
    assert found_in_files(desk.base) == []
    if db_url:
        assert found_in_rows(db_url) == []


def test_a_key_for_repeats_keeps_no_digest_to_guess_the_password_by(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash(ASKS, execution_mode="pty")
    until(lambda: b"password" in desk.log(task, "pty"), "it asks")
    desk.await_task(task, "running")

    def typed(word: str) -> str:
        call = {"task_id": task, "keys": [word, "Enter"], "idempotency_key": "once"}
        op_id: str = desk("tool.task_write_stdin", **call)["op_id"]
        return op_id

    first = typed(PASSWORD)
    assert typed("x" * len(PASSWORD)) == first, "what is kept tells one word from another"
    assert desk.ended(task)["exit_code"] == 0


def test_a_password_that_waits_for_a_runner_is_in_no_file(
    desk: TaskDesk, db_url: str | None
) -> None:
    first = desk.runner("r1")
    task = desk.bash(f"{ASKS}; read -r", execution_mode="pty")
    until(lambda: b"password" in desk.log(task, "pty"), "it asks")
    desk.await_task(task, "running")
    first.kill()
    type_in(desk, task, "keys")
    assert found_in_files(desk.base) == []
    if db_url:
        assert found_in_rows(db_url) == ["tool_typed"]  # which holds it until a runner took it
    desk.runner("r2")
    until(
        lambda: any(one["type"] == "tool_task_stdin_written" for one in desk.frames(task)),
        "it was typed",
    )
    if db_url:
        assert found_in_rows(db_url) == []  # and no longer, though the task goes on
    desk("tool.task_write_stdin", task_id=task, keys=["Enter"])
    assert desk.ended(task)["exit_code"] == 0


def test_what_was_typed_and_lost_with_its_server_fails_with_that_reason(tmp_path: Path) -> None:
    desk = TaskDesk(tmp_path)
    try:
        first = desk.runner("r1")
        task = desk.bash(ASKS, execution_mode="pty")
        until(lambda: b"password" in desk.log(task, "pty"), "it asks")
        desk.await_task(task, "running")
        first.kill()
        op_id = type_in(desk, task, "keys")["op_id"]
        desk.restart()
        desk.runner("r2")
        until(
            lambda: any(one["type"] == "tool_task_op_failed" for one in desk.frames(task)),
            "its outcome is told",
        )
        (failed,) = [one for one in desk.frames(task) if one["type"] == "tool_task_op_failed"]
        assert (failed["op_id"], "type it again" in failed["error"]) == (op_id, True)
        type_in(desk, task, "keys")
        assert desk.ended(task)["exit_code"] == 0
    finally:
        desk.close()
