"""The look that tells whether a call wrote anything misses no kind of write."""

from __future__ import annotations

from tests.contracts.world import Changes
from tests.kit import Lh


def test_each_kind_of_write_is_seen_once_and_a_read_never(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Look", steps=["Look"])
    lh("tasks.focus.clear")
    changes = Changes(lh)
    assert not changes.seen()
    for cmd, args in (
        ("vcs.notes.commit", {"content": "a row is added"}),
        ("tasks.focus.set", {"task": "TASK-001"}),
        ("tasks.focus.clear", {}),
    ):
        lh(cmd, **args)
        assert changes.seen(), cmd
        assert not changes.seen(), "it was told already"
    lh("docs.list")
    assert not changes.seen()
