"""The bell: many requests become one run, and none is lost."""

from __future__ import annotations

import threading

from longhouse.store.bell import Bell


def test_wishes_during_a_ring_add_up_to_one_more_and_closing_waits_for_it() -> None:
    started, go = threading.Semaphore(0), threading.Semaphore(0)
    rings: list[int] = []

    def sound() -> None:
        rings.append(1)
        started.release()
        assert go.acquire(timeout=20)

    bell = Bell(sound)
    bell.ring()
    assert started.acquire(timeout=20)
    for _ in range(5):
        bell.ring()
    go.release(2)
    bell.close()
    assert len(rings) == 2


def test_a_bell_that_nobody_rang_has_no_thread() -> None:
    Bell(lambda: None).close()
    assert "longhouse-bell" not in {thread.name for thread in threading.enumerate()}
