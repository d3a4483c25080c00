"""Stems, words and blocks: the pure parts of the index."""

from __future__ import annotations

from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from longhouse.store.recall.postings import packed, single, unpacked
from longhouse.store.recall.stems import stem
from longhouse.store.recall.words import STOP, terms, words


@pytest.mark.parametrize(
    "forms",
    [
        "fail fails failed failing failure failures",
        "expire expires expired expiring expiry expiration",
        "retry retries retried retrying",
        "choose chose chosen choosing choice",
        "configure configuration config configured",
        "delete deletes deleted deleting deletion",
        "deploy deploys deployed deployment",
        "recover recovered recovery",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["ready read", "story store", "policy police", "login log"])
def test_words_that_only_look_alike_keep_apart(pair: str) -> None:
    assert len({stem(word) for word in pair.split()}) == 2


@pytest.mark.parametrize(
    "text, found",
    [
        ("expire_cookie", "expirecooki expir cooki"),
        ("expireCookie", "expirecooki expir cooki"),
        ("src/auth/session.py", "src/auth/sessionpi auth/sessionpi sessionpi session"),
        ("TASK-012", "task012 task 012"),
        ("E1234", "e1234"),
        ("v1.2.3", "1.2.3"),
    ],
)
def test_identifiers_are_found_whole_and_by_part(text: str, found: str) -> None:
    assert set(found.split()) <= {term for term, _ in terms(text)}


@given(st.text(max_size=40) | st.text(alphabet="aB_./-1é東 ßﬁ½'", max_size=30))
def test_no_word_of_a_text_is_lost(text: str) -> None:
    held = {term for term, _ in terms(text)}
    assert all(word in STOP or stem(word) in held for word in words(text))


@pytest.mark.parametrize(
    "text", ["a " * 300_000, "aB" * 300_000, "a/" * 300_000, "\x01\x07" * 9_999]
)
def test_hostile_text_gives_few_terms(text: str) -> None:
    assert len({term for term, _ in terms(text)}) <= 70


@given(st.sets(st.integers(1, 2**40), min_size=1, max_size=300), st.randoms())
def test_a_block_is_read_as_it_was_written(seqs: set[int], chance: Random) -> None:
    ordered = sorted(seqs)
    said = bytes(chance.randrange(256) for _ in ordered)
    assert unpacked(ordered[0], packed(ordered, said)) == (ordered, said)
    assert unpacked(7, single(200)) == ([7], bytes([200]))
