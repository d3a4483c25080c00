"""A line of output wakes those who read it, not the runner that wrote it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from longhouse.store.wakeups import Wakeups
from tests.kit import Lh
from tests.processes.kit import Runner, out, spawned


def waiting(lh: Lh, *calls: dict[str, Any]) -> tuple[dict[str, Any], list[threading.Thread]]:
    """Threads that make these calls, all of which wait by now."""
    answers: dict[str, Any] = {}

    def call(args: dict[str, Any]) -> None:
        cmd = args["cmd"]
        answers[cmd] = lh(cmd, **{name: arg for name, arg in args.items() if name != "cmd"})

    wakeups: Wakeups = lh.house.db.wakeups
    threads = [threading.Thread(target=call, args=(one,)) for one in calls]
    for number, thread in enumerate(threads, 1):
        thread.start()
        for _ in range(2_000):
            if len(wakeups._sleepers) >= number:
                break
            thread.join(0.005)
    assert len(wakeups._sleepers) == len(calls)
    return answers, threads


def test_output_wakes_its_readers_and_no_one_who_waits_for_work(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of its own commits a process knows what they are about; this one must not look for others'.
    monkeypatch.setattr(lh.house.db.wakeups, "_catch_up", lambda: None)
    monkeypatch.setattr("longhouse.store.wakeups.KNOCK_S", 3_600.0)
    runner = Runner(lh)
    task = runner.start()
    watch = {"revision": runner.revision, "timeout_ms": 20_000, **runner.me}
    seen = lh("tool.task_stream_events", task_id=task)["next_cursor"]
    answers, threads = waiting(
        lh,
        {"cmd": "tool.task_watch", **watch},
        {"cmd": "jobs.wait", "runner_id": "runner-1", "timeout_ms": 20_000},
        {
            "cmd": "tool.task_stream_events",
            "task_id": task,
            "after_seq": seen,
            "timeout_ms": 20_000,
        },
    )
    runner.append(task, out(0, "a line\n"))
    threads[2].join()
    assert [one["chunk"] for one in answers["tool.task_stream_events"]["frames"]] == ["a line\n"]
    assert [one.woken for one in lh.house.db.wakeups._sleepers] == [False, False]
    spawned(lh)
    threads[0].join()
    assert answers["tool.task_watch"]["waiting"] == 1
    assert [one.woken for one in lh.house.db.wakeups._sleepers] == [False]
    lh("jobs.create", title="Look", prompt="Look at it.")
    threads[1].join()
    assert answers["jobs.wait"]["claimable"]
