"""Recall: a question in plain words finds its answer, on both databases, and at any size.

The promise is the share of questions whose evidence is among the first five and the first ten hits;
plain BM25 over the same texts, without stems, fields or status, is the peer of the same run.
"""

from __future__ import annotations

import math
import random
import re
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench._harness import interleave, report
from bench._recall_corpus import HELD_OUT, SEEN, facts, lookalikes, questions
from bench.memory import RARE, SMALL, account, calls, open_house, write
from longhouse.house import House
from longhouse.memory.branches import ensure_branch, ensure_document
from longhouse.memory.room import sql
from longhouse.store.queries import Query
from longhouse.store.recall.folding import append
from longhouse.store.recall.index import Text, bytes_of
from longhouse.store.tx import Tx
from tools.postgres import Postgres

FIRST, LATER = "first", "later"
BATCH = 20_000
MILLION = 1_000_000
_GLUE = "the of and to in a is that it was for on with as be by at this from are".split()  # noqa: SIM905
_A = "bra cle dor fen gla hib jar kom lus mer nov pra".split()  # noqa: SIM905
_B = "van ter lin dos mak rup sen tol vib wer zan quo".split()  # noqa: SIM905
_C = "ck dge ft lm mp nd ph rk st th x zz ble cus dal fer".split()  # noqa: SIM905


def tell(house: House) -> dict[str, str]:
    """Write the corpus as notes and cards; returns the ref or id of each fact."""
    where: dict[str, str] = {}
    others = lookalikes()
    told = facts()
    each = -(-len(others) // len(told))
    for at, fact in enumerate(told):
        if fact.kind == "note":
            made = call(house, "vcs.notes.commit", content=fact.text, branch="main")
            where[fact.key] = made["ref"]
        else:
            gone = fact.kind.startswith("gone:")
            kind = "decision" if gone or fact.kind == "decision" else fact.kind
            card = {"id": fact.key.upper(), "type": kind, "title": fact.title, "text": fact.text}
            card["status"] = "superseded" if gone else "accepted" if kind == "decision" else "open"
            call(house, "think.card", card=card)
            where[fact.key] = fact.key.upper()
        for text in others[at * each : (at + 1) * each]:
            call(house, "vcs.notes.commit", content=text, branch="main")
    edges = [
        {
            "op": "edge_upsert",
            "from": fact.kind.removeprefix("gone:").upper(),
            "rel": "supersedes",
            "to": fact.key.upper(),
        }
        for fact in told
        if fact.kind.startswith("gone:")
    ]
    call(house, "graph.apply", ops=edges, branch="main", doc="graph")
    return where


def call(house: House, cmd: str, **args: object) -> dict[str, Any]:
    answer = house.call(cmd, {"workspace": "w", **args})
    assert answer.success, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def ranks(
    house: House, where: dict[str, str], asked: list[tuple[str, str]], *, verbose: bool = False
) -> list[int]:
    """The place of the evidence for each question; 99 if it is not among the first ten."""
    found = []
    for key, question in asked:
        hits = call(house, "docs.search", text=question, limit=10, max_chars=20_000)["hits"]
        names = [{hit["ref"], hit.get("id")} for hit in hits]
        place = next((at for at, name in enumerate(names, 1) if where[key] in name), 99)
        found.append(place)
        if place > 5 and verbose:
            print(f"{place:3} {key}: {question}  <- {hits[0]['text'][:70] if hits else ''}")
    return found


def plain(asked: list[tuple[str, str]]) -> list[int]:
    """The same by plain BM25."""
    told = [(fact.key, f"{fact.title} {fact.text}") for fact in facts()]
    told += [(f"other{at}", text) for at, text in enumerate(lookalikes())]
    docs = [(key, Counter(re.findall(r"\w+", text.lower()))) for key, text in told]
    df = Counter(word for _, words in docs for word in words)
    average = sum(sum(words.values()) for _, words in docs) / len(docs)

    def score(words: Counter[str], query: list[str]) -> float:
        norm = 1.2 * (0.25 + 0.75 * sum(words.values()) / average)
        return sum(
            math.log(1 + (len(docs) - df[w] + 0.5) / (df[w] + 0.5))
            * 2.2
            * words[w]
            / (norm + words[w])
            for w in query
            if words[w]
        )

    found = []
    for key, question in asked:
        query = re.findall(r"\w+", question.lower())
        best = sorted(docs, key=lambda doc: -score(doc[1], query))[:10]
        found.append(next((at for at, doc in enumerate(best, 1) if doc[0] == key), 99))
    return found


def share(places: list[int], within: int) -> float:
    return sum(place <= within for place in places) / len(places)


def quality(house: House, engine: str) -> None:
    where = tell(house)
    for which in (FIRST, LATER, SEEN, HELD_OUT):
        asked = questions(which)
        if not asked:
            continue
        verbose = "-v" in sys.argv and which != HELD_OUT
        ours, theirs = ranks(house, where, asked, verbose=verbose), plain(asked)
        print(f"{engine}{which}: {len(asked)} questions, {len(facts()) + len(lookalikes())} texts")
        report(f"recall-{engine}{which}-first-five", share(ours, 5), ">=0.9")
        report(f"recall-{engine}{which}-first-ten", share(ours, 10), ">=0.95")
        report(f"recall-{engine}{which}-of-plain", share(ours, 5) / share(theirs, 5), ">=1.0")


def _often(count: int) -> list[str]:
    """The most frequent words of the filled stores."""
    return [f"{a}{b}{c}" for a in _A for b in _B for c in _C][:count]


def fill_many(house: House, workspace: str, count: int) -> int:
    """Notes of about 40 words; returns how many characters were written."""
    chance = random.Random(7)
    vocabulary = _often(len(_A) * len(_B) * len(_C))
    chars = 0

    def add(tx: Tx, numbers: range) -> None:
        nonlocal chars
        branch = ensure_branch(tx, "main")
        first = tx.seqs(len(numbers))
        doc_id = ensure_document(tx, branch, "notes", first)
        texts = []
        for at, n in enumerate(numbers):
            many = [vocabulary[int(len(vocabulary) * chance.random() ** 4)] for _ in range(22)]
            rare = ["needle", "haystack"] if n % (count // RARE) == 0 else []
            often = ["common"] * (n % 2) + ["usual"] * (n % 3 > 0)
            glue = [chance.choice(_GLUE) for _ in range(16)]  # as much as English has
            text = " ".join([*many, *glue, *rare, *often])
            chars += len(text)
            texts.append(Text(first + at, "note", None, text, author="bench", doc_id=doc_id))
        tx.many(
            sql.entry_add,
            [
                {
                    "seq": text.seq,
                    "doc_id": doc_id,
                    "branch_id": branch.branch_id,
                    "ts_ms": tx.now_ms,
                    "kind": "note",
                    "committed": 1,
                    "title": None,
                    "format": None,
                    "meta": None,
                    "content": text.body,
                    "source_event_id": None,
                    "origin_seq": None,
                }
                for text in texts
            ],
        )
        append(tx, ((text.seq, bytes_of(text)) for text in texts))
        account(tx, first, len(texts))

    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        write(house, workspace, partial(add, numbers=numbers))
        vacuum(house)
    return chars


def vacuum(house: House) -> None:
    """Make replaced rows of PostgreSQL reusable, as it does on its own within a minute."""
    if not house.db.engine.local:
        with psycopg.connect(house.settings.db, autocommit=True) as db:
            db.execute("VACUUM ANALYZE")


def sizes(house: House, engine: str, large: int) -> None:
    """One search over many rows, compared with one over a thousand; and how large the index is."""
    fill_many(house, "few", SMALL)
    chars = fill_many(house, "many", large)
    for name, text, promise in (
        ("rare", "needle haystack", "<=1.5"),
        ("frequent", "common usual", "<=3.0"),
        ("mixed", "needle common", "<=3.0"),
        ("question", f"why did the {' '.join(_often(6))} common needle fail", "<=3.0"),
    ):
        few, many = (calls(house, where, "docs.search", text=text) for where in ("few", "many"))
        figures = interleave({"few": few, "many": many})
        report(f"recall-{engine}{name}", figures.ratio("many", "few"), promise, figures)
    report(f"recall-{engine}index", index_bytes(house) / chars, "<=0.6")


def index_bytes(house: House) -> int:
    """How much the database uses for the index."""
    if house.db.engine.local:
        text = "SELECT SUM(pgsize) AS n FROM dbstat WHERE name LIKE 'search\\_%' ESCAPE '\\'"
        with house.db.engine.reader() as reader:
            return int(reader.rows(Query("size", text, text), {})[0]["n"])
    with psycopg.connect(house.settings.db, autocommit=True) as db:
        found = db.execute("SELECT pg_total_relation_size('longhouse.search_blocks')").fetchone()
        assert found is not None
        return int(found[0])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_house(Path(folder)) as house:
        quality(house, "")
        sizes(house, "", MILLION)
    server = Postgres()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_house(Path(folder), db=server.url()) as house,
        ):
            quality(house, "postgres-")
            sizes(house, "postgres-", MILLION)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
