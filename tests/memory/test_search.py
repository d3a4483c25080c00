"""Search: words of entries and nodes across a workspace, the same on both databases."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from longhouse.store.recall.words import wanted, words
from tests.kit import Lh
from tests.memory.kit import apply, branch, edge, node, note


def refs(page: dict) -> list[str]:
    return [hit["ref"] for hit in page["hits"]]


def test_hits_come_newest_first_and_can_be_opened(lh: Lh) -> None:
    first = note(lh, "The cache key holds the branch.")
    note(lh, "Nothing to see.")
    second = note(lh, "Cache again", title="CACHE")
    third = apply(lh, node("H-1", title="cache is stale", text="because of keys"))
    page = lh("docs.search", text="cache", order="newest")
    assert refs(page) == [f"graph@{third}", f"notes@{second}", f"notes@{first}"]
    assert [lh("open", id=ref)["entry"]["seq"] for ref in refs(page)] == [third, second, first]
    assert (page["hits"][0]["id"], page["hits"][0]["kind"]) == ("H-1", "node")
    assert refs(lh("docs.search", text="key cache branch", order="newest")) == [f"notes@{first}"]
    assert refs(lh("docs.search", text="key", order="newest")) == [f"notes@{first}"]
    assert refs(lh("docs.search", text="key*", order="newest")) == [
        f"graph@{third}",
        f"notes@{first}",
    ]
    assert refs(lh("docs.search", text="cache", doc="graph")) == [f"graph@{third}"]


def test_pages_of_hits_go_on_where_they_ended(lh: Lh) -> None:
    seqs = [note(lh, f"word {n}") for n in range(5)]
    page = lh("docs.search", text="word", limit=2)
    rest = lh("docs.search", text="word", cursor=page["pagination"]["next_cursor"])
    assert [h["seq"] for h in page["hits"] + rest["hits"]] == seqs[::-1]


def test_a_search_of_a_branch_finds_what_the_branch_shows(lh: Lh) -> None:
    old = apply(lh, node("A", title="word old"))
    first = note(lh, "word one")
    branch(lh, "idea/a", "main")
    new = apply(lh, node("A", title="word new"))
    note(lh, "word two")
    mine = note(lh, "word mine", "idea/a")
    found = [
        h["seq"] for h in lh("docs.search", text="word", branch="idea/a", order="newest")["hits"]
    ]
    assert found == [mine, first, old]
    assert new in [h["seq"] for h in lh("docs.search", text="word")["hits"]]
    assert old not in [h["seq"] for h in lh("docs.search", text="word")["hits"]]
    assert [
        h["seq"] for h in lh("docs.search", text="word", as_of=first, order="newest")["hits"]
    ] == [first, old]


def test_neither_edges_nor_what_was_deleted_are_found(lh: Lh) -> None:
    apply(lh, node("zebra"), node("heron"), edge("zebra", "watches", "heron"))
    assert len(refs(lh("docs.search", text="zebra"))) == 1
    assert refs(lh("docs.search", text="watches")) == []
    apply(lh, {"op": "node_delete", "id": "zebra"})
    assert refs(lh("docs.search", text="zebra")) == []


def test_nodes_are_found_behind_a_crowd_of_other_hits(lh: Lh) -> None:
    for number in range(3):
        apply(lh, node(f"N{number}", title=f"word {number}"))
        for _ in range(8):
            note(lh, "word in a note")
    asked = {"text": "word", "limit": 2}
    page = lh("graph.query", **asked)
    rest = lh("graph.query", **asked, cursor=page["pagination"]["next_cursor"])
    assert [n["id"] for n in page["nodes"] + rest["nodes"]] == ["N2", "N1", "N0"]
    assert not rest["pagination"]["has_more"]


@pytest.mark.parametrize("text", ["", "---", "*", '"', "\u00a7", " "])
def test_a_text_without_words_is_refused(lh: Lh, text: str) -> None:
    assert lh.refused("docs.search", text=text)["code"] == "INVALID_INPUT"


@pytest.mark.parametrize(
    "content, text",
    [
        ("snake_case_name", "case"),
        ("Straße", "STRASSE"),
        ("ﬁne print", "fine"),
        ("東京タワー", "京"),
        ("a.b@c.d", "b"),
        ("OR AND NOT", "or not"),
        ("it's", "s"),
        ("x" * 100, "x" * 70),
        ("naïve", "naïve"),
        ("\uff11\uff12", "12"),
        ("NEAR(a b)", "near"),
    ],
)
def test_words_are_cut_and_folded_alike_on_both_engines(lh: Lh, content: str, text: str) -> None:
    seq = note(lh, content)
    note(lh, "something else entirely")
    assert [h["seq"] for h in lh("docs.search", text=text)["hits"]] == [seq]


@given(st.text(max_size=60))
def test_a_text_matches_the_words_that_it_is_made_of(text: str) -> None:
    query = wanted(text.replace("*", " "))
    assert (query is None) == (not words(text))
    assert query is None or query.matches(text)


def test_a_kind_that_only_nodes_have_can_be_asked_for_and_one_that_none_has_is_refused(
    lh: Lh,
) -> None:
    ops = [
        {"op": "node_upsert", "id": "H-1", "type": "hazard", "title": "a zebra on the road"},
        {"op": "node_upsert", "id": "H-2", "type": "note", "title": "a zebra in the zoo"},
    ]
    lh("graph.apply", ops=ops)
    (hit,) = lh("docs.search", text="zebra", kind=["hazard"])["hits"]
    assert hit["title"] == "a zebra on the road"
    assert lh.refused("docs.search", text="zebra", kind=["harzard"])["code"] == "INVALID_INPUT"


def test_of_two_that_say_the_same_the_decision_comes_first(lh: Lh) -> None:
    for number, kind in enumerate(["note", "decision", "note"]):
        node = {"op": "node_upsert", "id": f"N-{number}", "type": kind, "title": "the zebra stays"}
        lh("graph.apply", ops=[node])
    first, *_ = lh("docs.search", text="zebra stays")["hits"]
    assert first["ref"] == "graph@2", first


def test_what_may_find_more_is_offered_only_where_nothing_was_found(lh: Lh) -> None:
    lh("vcs.notes.commit", content="a zebra among the notes")

    def offers(**args: str) -> list[str]:
        return [action["why"] for action in lh.envelope("docs.search", **args)["actions"]]

    assert "search for the words that exist" not in offers(text="zebra xylophone")
    assert "read the newest notes" not in offers(text="zebra")
    assert "search everything" not in offers(text="zebra", kind="note")
    assert "search everything" in offers(text="zebra", kind="job")
    assert "read the newest notes" in offers(text="xylophone")
