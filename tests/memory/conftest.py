"""Tests the room in isolation: any well-formed target is accepted, as if every task existed."""

from __future__ import annotations

import pytest

from longhouse.memory.types.documents import TargetInfo
from longhouse.store.tx import Tx
from longhouse.work.room import room


def by_shape(_tx: Tx, target_id: str) -> TargetInfo:
    return TargetInfo(id=target_id, kind="task" if target_id.startswith("TASK-") else "plan")


@pytest.fixture(autouse=True)
def targets_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    room.load()  # anything declared while patched would be lost with the patch
    monkeypatch.setattr(room, "targets", [by_shape])
