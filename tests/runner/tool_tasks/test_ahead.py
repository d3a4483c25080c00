"""A call that is made while its caller does something else."""

from __future__ import annotations

import threading

import pytest

from longhouse.kernel.errors import Conflict
from longhouse.runner.tool_tasks.ahead import Ahead


def test_a_call_ahead_is_made_at_once_and_its_result_is_waited_for() -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def call() -> int:
        begun.set()
        goes_on.wait(30)
        return 7

    ahead = Ahead(call)
    assert begun.wait(30)
    goes_on.set()
    assert ahead.result() == 7


def test_what_a_call_ahead_raises_is_raised_where_its_result_is_asked_for() -> None:
    def call() -> int:
        raise Conflict("another runner speaks for this host")

    ahead = Ahead(call)
    with pytest.raises(Conflict, match="another runner"):
        ahead.result()
