"""The word index finds the newest rows with a word, common or rare, at any size."""

from __future__ import annotations

from longhouse.store.recall.folding import fold
from longhouse.store.recall.index import Text, index_texts
from longhouse.store.recall.locating import ask, newest_with
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds, Lh

ROWS, FRESH = 4_500, 4_530
STEPS = {"whole": 1, "plenty": 20, "sum": 100, "rare": 1_500}


def words_of(n: int) -> str:
    words = [word for word, step in STEPS.items() if n % step == 0]
    return " ".join([*words, "oldest" if n == 1 else "middle"])


def expected(query: str, before: int) -> list[int]:
    asked = query.removesuffix("*").split()
    return [
        n
        for n in range(min(before, FRESH + 1) - 1, 0, -1)
        if all(any(held.startswith(word) for held in words_of(n).split()) for word in asked)
    ]


def test_the_newest_rows_of_a_word_are_found(lh: Lh) -> None:
    def fill(tx: Tx) -> None:
        index_texts(tx, [Text(n, "note", None, words_of(n)) for n in range(1, ROWS + 1)])
        fold(tx)
        index_texts(tx, [Text(n, "note", None, words_of(n)) for n in range(ROWS + 1, FRESH + 1)])

    def look(tx: Tx) -> None:
        for before in (10**9, FRESH + 1, ROWS - 2_000, 2_001, 1_999, 1_500, 2, 1):
            for query in (*STEPS, "oldest", "plenty sum", "nobody", "su*"):
                match = expected(query, before)
                for limit in (1, 20, 64, 1_000):
                    found = newest_with(tx, ask(query), before=before, limit=limit)
                    assert found == match[:limit], (query, before, limit)

    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds())
    lh.house.db.write("acme", fill, call)
    lh.house.db.read("acme", look, call)
