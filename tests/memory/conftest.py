"""The room alone: a target is taken by its shape, as where no room of tasks has registered."""

from __future__ import annotations

import pytest

import longhouse.work.targets  # noqa: F401  (it registers when it is first imported)
from longhouse.memory import targeting


@pytest.fixture(autouse=True)
def targets_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targeting, "_resolve", targeting._by_shape)
