"""A signal reaches the runner, whichever of its threads the kernel gives it to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from longhouse.runner.loop import Runner
from tests.runner.kit import Rig, own_signals


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """As after SIGCONT: another thread is given SIGTERM, which does not interrupt this one."""
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # of this thread only
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    over.set()
    other.join()


@pytest.mark.usefixtures("elsewhere")
def test_a_signal_that_did_not_interrupt_the_main_thread_is_noticed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.SIGNAL_S", 0.05)
    runner = Runner(rig.context)
    waits, wait = threading.Event(), runner._leave.wait

    def waiting(timeout_s: float | None = None) -> bool:
        if threading.current_thread() is threading.main_thread():
            waits.set()
        return wait(timeout_s)

    monkeypatch.setattr(runner._leave, "wait", waiting)

    def send() -> None:
        assert waits.wait(60)
        os.kill(os.getpid(), signal.SIGTERM)
        if not wait(30):
            runner.leave("nothing: the signal was not noticed")

    sender = threading.Thread(target=send)
    with own_signals():
        sender.start()
        assert runner.run() == 0
    sender.join()
    assert rig.told("runner.left") == [{"why": "SIGTERM"}]
