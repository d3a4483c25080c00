"""Bad questions are answered or refused by name; hostile text costs linear time, little space."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.store.recall import index, stems, words
from longhouse.store.recall.asking import parsed
from longhouse.store.recall.folding import fold
from longhouse.store.recall.index import Text, bytes_of, compiled
from tests.kit import Lh
from tests.memory.kit import note, write

TOLD = "The login test fails because the cookie expires too early."
MANY = " ".join(f"word{n}" for n in range(10_000))


@pytest.mark.parametrize("text", ["", " \t\n", "---", '"', '""', "***", "?!", "-cookie", '-"a b"'])
def test_a_question_without_a_word_is_refused_and_says_what_to_pass(lh: Lh, text: str) -> None:
    note(lh, TOLD)
    error = lh.refused("docs.search", text=text)
    assert error["code"] == "INVALID_INPUT"
    assert "text" in error["message"]


@pytest.mark.parametrize(
    "text",
    [
        f"cookie {MANY}",
        f"cookie {'the ' * 10_000}",
        "cookie " + "x" * 100_000,
        "cookie " + '"' * 9_999,
        'cookie "unbalanced',
        "cookie \x01\x1b[31m \ud7ff",
        "cookie " + "a" * 50 + "*",
        "cookie " + "/".join("abc" for _ in range(5_000)),
        "cookie " + "\u202e\u200b" * 500,
        "cookie%_'; DROP TABLE search_blocks; --",
    ],
)
def test_an_odd_question_still_finds_what_it_names(lh: Lh, text: str) -> None:
    seq = note(lh, TOLD)
    envelope = lh.envelope("docs.search", text=text)
    assert envelope["success"], envelope["error"]
    found = [hit["seq"] for hit in envelope["result"]["hits"]]
    assert found in ([seq], []) if "*" in text else found == [seq]
    assert len(envelope["result"].get("dropped") or ()) <= 40
    assert all(one.success for one in lh.run_actions(envelope))


def test_only_stop_words_are_looked_for_as_they_are_written(lh: Lh) -> None:
    seq = note(lh, TOLD)
    hits = lh("docs.search", text="the too because")["hits"]
    assert [hit["seq"] for hit in hits] == [seq]


@pytest.mark.parametrize(
    "args",
    [
        {"kind": "zebra"},
        {"kind": ["note", "zebra"]},
        {"since": "yesterday-ish"},
        {"cursor": 77},
        {"around": 99},
        {"order": "worst"},
        {"limit": 0},
        {"colour": "red"},
    ],
)
def test_bad_arguments_are_refused_by_name(lh: Lh, args: dict[str, Any]) -> None:
    note(lh, TOLD)
    error = lh.refused("docs.search", text="cookie", **args)
    assert error["code"] in ("INVALID_INPUT", "UNKNOWN_ARGUMENT")
    assert next(iter(args)) in error["message"]


def test_a_cursor_belongs_to_its_query_with_all_its_filters(lh: Lh) -> None:
    for number in range(4):
        note(lh, f"cookie number {number}")
    cursor = lh("docs.search", text="cookie", limit=2)["pagination"]["next_cursor"]
    assert lh("docs.search", text="cookie", limit=2, cursor=cursor)["hits"]
    for other in ({"text": "number"}, {"kind": "note"}, {"branch": "main"}, {"author": "x"}):
        args = {"text": "cookie", "cursor": cursor, **other}
        assert "another query" in lh.refused("docs.search", **args)["message"]


HOSTILE = {
    "one word": lambda n: "quokka " * n,
    "no spaces": lambda n: "q" * 7 * n,
    "distinct words": lambda n: " ".join(f"q{number:x}z" for number in range(n)),
    "one long path": lambda n: "/".join("abc" for _ in range(n)),
    "humps": lambda n: "aB" * n,
    "controls": lambda n: "\x01\x07\x1b" * n,
    "combining": lambda n: "e\u0301" * n,
    "unspaced": lambda n: "東京" * n,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_takes_bounded_space_and_linear_work(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = [0]
    cut = words._keep

    def counted(chunk: str) -> Any:
        work[0] += len(chunk)
        return cut(chunk)

    monkeypatch.setattr(words, "_keep", counted)
    for count in (10_000, 20_000):
        work[0] = 0
        words._cut.clear()
        stems._known.clear()
        text = HOSTILE[kind](count)
        assert len(compiled(Text(1, "note", None, text))) <= 2 * index._MOST_CHARS
        assert work[0] <= len(text) + 1_000, "each character is cut at most once"
    assert len(words._cut) <= words._KEPT
    assert len(bytes_of(Text(1, "note", None, HOSTILE[kind](100_000)))) <= 60_000


def test_a_hostile_note_is_stored_searched_and_folded(lh: Lh) -> None:
    seq = note(lh, "quokka " * 20_000)
    other = note(lh, " ".join(f"w{number:x}" for number in range(20_000)))
    write(lh, fold)
    assert [hit["seq"] for hit in lh("docs.search", text="quokka")["hits"]] == [seq]
    assert [hit["seq"] for hit in lh("docs.search", text="w1f")["hits"]] == [other]


def test_a_long_question_costs_no_more_than_its_beginning() -> None:
    asked = parsed(MANY * 3)
    assert len(asked.words) == 24
    assert len(asked.dropped) <= 40
