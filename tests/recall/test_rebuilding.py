"""The index is built again from the tables: in steps, after a kill, while others write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from longhouse.house import House
from longhouse.kernel.errors import InternalError
from longhouse.store.queries import Query
from longhouse.store.recall import rebuilding
from longhouse.store.recall.checks import differences
from longhouse.store.recall.folding import fold
from longhouse.store.recall.index import sql
from longhouse.store.recall.rebuilding import progress, rebuild, start, step
from tests.kit import Lh, ManualClock
from tests.memory.kit import apply, node, note, write
from tests.work.kit import new_task


def told(lh: Lh) -> None:
    for n in range(12):
        note(lh, f"heron number {n} stands in the reeds")
    apply(lh, node("H-1", title="the heron is stale"))
    lh("jobs.create", title="Count them", prompt="Count every heron")
    new_task(lh, "Hide in the reeds", title="Watch the heron")


def hits(lh: Lh) -> list[str]:
    page = lh("docs.search", text="heron", limit=50, max_chars=20_000)
    return [hit["ref"] for hit in page["hits"]]


def complaints(lh: Lh) -> list[str]:
    return write(lh, lambda tx: list(differences(tx)))


def test_a_rebuilt_index_finds_the_same(lh: Lh) -> None:
    told(lh)
    before = hits(lh)
    assert len(before) == 15
    write(lh, rebuild)
    assert sorted(hits(lh)) == sorted(before)
    assert complaints(lh) == []


def test_a_rebuild_goes_on_after_a_kill_and_finds_what_was_written_meanwhile(
    lh: Lh,
    new_house: Callable[..., House],
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebuilding, "_PAGE", 4)
    told(lh)
    before = hits(lh)
    write(lh, start)
    assert lh("docs.search", text="heron")["indexed_percent"] == 0
    assert not write(lh, step)
    new = note(lh, "heron of today")
    assert write(lh, fold) == 0  # it must not overtake older ones
    lh.house.close()  # what a kill leaves is what was committed
    after = Lh(new_house(), clock)
    assert f"notes@{new}" in hits(after)
    while not write(after, step):
        assert write(after, progress) is not None
    assert sorted(hits(after)) == sorted([*before, f"notes@{new}"])
    assert complaints(after) == []


def test_verify_says_that_the_index_disagrees_and_a_rebuild_mends_it(lh: Lh) -> None:
    told(lh)
    write(lh, fold)
    write(lh, lambda tx: tx.run(sql.block_drop, term="heron", first=1))
    assert any("'heron'" in said for said in complaints(lh))
    write(lh, lambda tx: tx.run(sql.blocks_clear))
    assert any("not in the search index" in said for said in complaints(lh))
    write(lh, rebuild)
    assert complaints(lh) == []


def test_a_server_of_an_older_version_is_refused_by_name(lh: Lh, engine: str) -> None:
    text = {
        "sqlite": "INSERT INTO search_words (rowid, words) VALUES (:ws, :words)",
        "postgres": "INSERT INTO search_words (ws, seq, words) VALUES (:ws, 1, :words)",
    }[engine]
    old = Query("words_add", text, text)
    with pytest.raises(InternalError) as caught:
        write(lh, lambda tx: tx.all(old, words="a"))
    assert "a newer Longhouse has upgraded this store" in str(caught.value.__cause__)
