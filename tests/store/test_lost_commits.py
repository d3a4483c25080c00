"""Transactions that end without an answer: tried again once if nothing was written, never twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.kernel.errors import OutcomeUnknown, StoreBusy
from longhouse.store.database import Database
from longhouse.store.engine import Lost
from tests.store.kit import CALL, WS, keys, put


def lose(
    db: Database, monkeypatch: pytest.MonkeyPatch, times: int, lost: Lost, *, written: bool
) -> list[int]:
    """Lose the first transactions, before or after they were written; counts the attempts."""
    attempts: list[int] = []
    real = db._attempt

    def attempt(*args: Any, **more: Any) -> None:
        attempts.append(1)
        if written or len(attempts) > times:
            real(*args, **more)
        if len(attempts) <= times:
            raise lost

    monkeypatch.setattr(db, "_attempt", attempt)
    return attempts


def busy(committed: Callable[[], bool | None] | None = None, *, again: bool = False) -> Lost:
    return Lost(OutcomeUnknown() if committed else StoreBusy(), again=again, committed=committed)


@pytest.mark.parametrize(
    "lost", [busy(again=True), busy(lambda: False), busy(lambda: False, again=True)]
)
def test_a_write_that_was_lost_unwritten_is_tried_again(
    db: Database, monkeypatch: pytest.MonkeyPatch, lost: Lost
) -> None:
    attempts = lose(db, monkeypatch, 1, lost, written=False)
    assert db.write(WS, put("a"), CALL) == 1
    assert len(attempts) == 2
    assert keys(db) == ["a"]


def test_it_is_tried_again_only_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = lose(db, monkeypatch, 2, busy(again=True), written=False)
    with pytest.raises(StoreBusy):
        db.write(WS, put("a"), CALL)
    assert len(attempts) == 2
    assert keys(db) == []
    assert db.write(WS, put("b"), CALL) == 1


def test_what_would_be_lost_again_is_not_tried_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = lose(db, monkeypatch, 1, busy(), written=False)
    with pytest.raises(StoreBusy):
        db.write(WS, put("a"), CALL)
    assert len(attempts) == 1


def test_a_commit_that_was_made_after_all_is_the_answer_and_wakes(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = lose(db, monkeypatch, 1, busy(lambda: True, again=True), written=True)
    assert db.write(WS, put("a"), CALL) == 1
    assert len(attempts) == 1
    assert keys(db) == ["a"]
    assert db.wakeups.wait(WS, 0, 0)


def test_of_an_unknown_commit_the_caller_is_told_so_and_nothing_is_repeated(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = lose(db, monkeypatch, 1, busy(lambda: None, again=True), written=True)
    with pytest.raises(OutcomeUnknown):
        db.write(WS, put("a"), CALL)
    assert len(attempts) == 1
