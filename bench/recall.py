"""Recall: a question in plain words finds its answer, on both databases, and at any size.

The promise is the share of questions whose evidence is among the first five and the first ten hits;
plain BM25 over the same texts, without stems, fields or status, is the peer of the same run.
"""

from __future__ import annotations

import math
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench._harness import report
from bench._recall_corpus import facts, lookalikes, questions
from bench.memory import open_house
from longhouse.house import House
from tools.postgres import Postgres

FIRST, LATER = "first", "later"


def fill(house: House) -> dict[str, str]:
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


def call(house: House, cmd: str, **args: object) -> dict:
    answer = house.call(cmd, {"workspace": "w", **args})
    assert answer.success, answer.envelope["error"]
    return answer.envelope["result"]


def ranks(house: House, where: dict[str, str], asked: list[tuple[str, str]]) -> list[int]:
    """The place of the evidence for each question; 99 if it is not among the first ten."""
    found = []
    for key, question in asked:
        hits = call(house, "docs.search", text=question, limit=10, max_chars=20_000)["hits"]
        names = [{hit["ref"], hit.get("id")} for hit in hits]
        place = next((at for at, name in enumerate(names, 1) if where[key] in name), 99)
        found.append(place)
        if place > 5 and "-v" in sys.argv:
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
    where = fill(house)
    for which in (FIRST, LATER):
        asked = questions(which)
        if not asked:
            continue
        ours, theirs = ranks(house, where, asked), plain(asked)
        print(f"{engine}{which}: {len(asked)} questions, {len(facts()) + len(lookalikes())} texts")
        report(f"recall-{engine}{which}-first-five", share(ours, 5), ">=0.9")
        report(f"recall-{engine}{which}-first-ten", share(ours, 10), ">=0.95")
        report(f"recall-{engine}{which}-of-plain", share(ours, 5) / share(theirs, 5), ">=1.0")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open_house(Path(folder)) as house:
            quality(house, "")
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        with open_house(Path(folder), db=server.url("recall")) as house:
            quality(house, "postgres-")


if __name__ == "__main__":
    main()
