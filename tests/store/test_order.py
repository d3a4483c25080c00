"""The one sequence: gapless and in commit order, for any writers in any processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longhouse.kernel.errors import Conflict
from longhouse.store.database import Database
from longhouse.store.tx import LogEvent, Refused, Tx
from tests.store.kit import CALL, WS, child, fail, keys, log, put


def follow(db: Database, stop: threading.Event, seen: list[int]) -> None:
    """Read the log as a follower does, from the last seq seen."""
    while True:
        last_look = stop.is_set()
        seen += [seq for seq, _ in log(db, after=seen[-1] if seen else 0)]
        if last_look:
            return


def test_a_follower_misses_nothing_of_writers_in_several_processes(
    new_db: Callable[..., Database], where: str
) -> None:
    db, processes, each = new_db(), 3, 60
    stop, seen = threading.Event(), list[int]()
    follower = threading.Thread(target=follow, args=(db, stop, seen))
    writers = [child(where, WS, f"p{n}", str(each // 3), "3") for n in range(processes)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    follower.start()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    printed = [writer.communicate(timeout=60)[0].split() for writer in writers]
    stop.set()
    follower.join(30)
    acknowledged = {
        int(seq): key for words in printed for key, seq in zip(words[::2], words[1::2], strict=True)
    }
    total = processes * each
    assert seen == list(range(1, total + 1))
    assert acknowledged == dict(log(db))
    assert len(keys(db)) == total


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "fail", "spoil", "refuse", "clash"]), st.sampled_from(["a", "b"])
    ),
    max_size=30,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(actions=ACTIONS)
def test_whatever_mix_of_writes_commits_together_each_sequence_has_no_gap(
    db: Database, actions: list[tuple[str, str]]
) -> None:
    start = {ws: len(log(db, ws)) for ws in ("a", "b")}
    count = sum(start.values())

    def work(kind: str, number: int) -> Callable[[Tx], object]:
        key = f"{count}-{number}"
        if kind == "put":
            return put(key)
        if kind == "fail":
            return fail(Conflict("no"))
        if kind == "spoil":
            return put(key, then=fail(Conflict("no")))
        if kind == "clash":
            return put(key, then=put(key))
        event = LogEvent(stream="keys", subject=key, kind="refused")
        return put(key, then=lambda _: Refused(Conflict("no"), [event]))

    async def run() -> list[object]:
        return await asyncio.gather(
            *(db.write_async(ws, work(kind, n), CALL) for n, (kind, ws) in enumerate(actions)),
            return_exceptions=True,
        )

    results = asyncio.run(run())
    for ws in ("a", "b"):
        mine = [(n, kind, results[n]) for n, (kind, name) in enumerate(actions) if name == ws]
        rows = log(db, ws)
        assert [seq for seq, _ in rows] == list(range(1, len(rows) + 1))
        logged = [f"{count}-{n}" for n, kind, _ in mine if kind in ("put", "refuse")]
        assert [subject for _, subject in rows[start[ws] :]] == logged
        kept = {f"{count}-{n}" for n, kind, _ in mine if kind == "put"}
        assert {key for key in keys(db, ws) if key.startswith(f"{count}-")} == kept
        for _, kind, result in mine:
            assert isinstance(result, Refused) == (kind == "refuse")
            assert isinstance(result, Exception) == (kind in ("fail", "spoil", "clash"))
