"""`docs.search`: a question in plain words finds its answer."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.store.recall import index
from longhouse.store.recall.folding import fold
from longhouse.store.recall.reading import Reader
from tests.kit import Lh
from tests.memory.kit import apply, branch, edge, note, write
from tests.work.kit import new_task

TOLD = "The login test has been failing since Tuesday because the cookie expires too early."


def found(lh: Lh, text: str, **more: Any) -> list[str]:
    return [hit["ref"] for hit in lh("docs.search", text=text, **more)["hits"]]


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(
    "question",
    [
        "login test",
        "why does the login test fail",
        "login failures",
        "cookie expiry",
        '"cookie expires"',
        "cook* -database",
        "log in",
    ],
)
def test_a_question_finds_what_was_written(lh: Lh, question: str, folded: bool) -> None:
    seq = note(lh, TOLD)
    note(lh, "The database was vacuumed at night.")
    if folded:
        assert write(lh, fold) == 2
    assert found(lh, question) == [f"notes@{seq}"]


@pytest.mark.parametrize("question", ['"expires cookie"', "cookie -tuesday", "cookies*"])
def test_what_must_or_must_not_be_there_is_obeyed(lh: Lh, question: str) -> None:
    note(lh, TOLD)
    assert found(lh, question) == []


def test_rows_with_all_words_come_first_and_a_title_counts_for_more(lh: Lh) -> None:
    some = note(lh, "The parser parser parser is slow.")
    both = note(lh, "The parser drops the last token of a file, as we found out much later.")
    named = note(lh, "Nothing else is known.", title="Parser token")
    assert found(lh, "parser token") == [f"notes@{named}", f"notes@{both}", f"notes@{some}"]


def test_a_misspelt_word_is_answered_with_the_nearest_that_exist(lh: Lh) -> None:
    note(lh, TOLD)
    envelope = lh.envelope("docs.search", text="cokie zzzz")
    result = envelope["result"]
    assert result["unknown"] == {"cokie": ["cookie"], "zzzz": []}
    (hit,) = result["hits"]
    assert hit["why"] == "1 of 2 words: like cokie"
    (alone,) = lh("docs.search", text="cokie")["hits"]
    assert alone["why"] == "has a word like 'cokie'"
    ran = lh.run_actions(envelope)
    assert ran
    assert all(answer.success for answer in ran)


def test_an_empty_answer_says_why_and_its_actions_run(lh: Lh) -> None:
    note(lh, TOLD)
    envelope = lh.envelope("docs.search", text="what about the zebra", kind="decision")
    assert envelope["result"]["unknown"] == {"zebra": []}
    assert envelope["result"]["dropped"] == ["what", "about", "the"]
    assert all(answer.success for answer in lh.run_actions(envelope))


@pytest.mark.parametrize("text", ["", "   ", "---", '"', "*", "-cookie"])
def test_a_query_without_a_word_to_look_for_is_refused(lh: Lh, text: str) -> None:
    assert lh.refused("docs.search", text=text)["code"] == "INVALID_INPUT"


@pytest.mark.parametrize(
    "text", ['say "hello', "the of and", "x " * 1_900, "§ \x01all cookie", "a/b//c\\d -"]
)
def test_odd_queries_are_answered(lh: Lh, text: str) -> None:
    note(lh, TOLD)
    assert lh.envelope("docs.search", text=text)["success"]


def test_bad_filters_are_refused_by_name(lh: Lh) -> None:
    note(lh, TOLD)
    for bad in ({"kind": "zebra"}, {"since": "yesterday-ish"}, {"cursor": 77}):
        error = lh.refused("docs.search", text="cookie", **bad)
        assert error["message"].startswith(f"{next(iter(bad))}:")


def test_a_cursor_goes_on_with_its_query_and_no_other(lh: Lh) -> None:
    for n in range(7):
        note(lh, f"cookie number {n}")
    whole = found(lh, "cookie")
    page = lh("docs.search", text="cookie", limit=3)
    cursor = page["pagination"]["next_cursor"]
    rest = found(lh, "cookie", cursor=cursor)
    assert [hit["ref"] for hit in page["hits"]] + rest == whole
    assert lh.refused("docs.search", text="biscuit", cursor=cursor)["code"] == "INVALID_INPUT"


def test_a_card_is_one_hit_and_a_replaced_one_stands_behind(lh: Lh) -> None:
    for card_id, title, status in (
        ("OLD", "Sessions are kept in Redis", "superseded"),
        ("NEW", "We moved them to a table", "accepted"),
    ):
        card = {"id": card_id, "type": "decision", "title": title, "status": status}
        lh("think.card", card=card, branch="main")
    doc = lh("docs.search", text="redis")["hits"][0]["doc"]
    apply(lh, edge("NEW", "supersedes", "OLD"), doc=doc)
    hits = lh("docs.search", text="where are sessions kept")["hits"]
    assert [hit["id"] for hit in hits] == ["NEW", "OLD"]
    assert (hits[1]["gone"], hits[1]["instead"]) == ("superseded", "NEW")
    assert hits[0]["why"] == "it replaced what was found"


def test_everything_that_was_written_is_found(lh: Lh) -> None:
    burr = {"title": "Grind the burr", "success_criteria": ["no sharp edges"]}
    task = new_task(lh, burr, title="Weld the flange")
    job = lh("jobs.create", title="Paint it", prompt="Use the turquoise lacquer")["job"]["id"]
    lh("docs.artifact.add", name="thermogram.png", text="x")
    for text, ref in (
        ("flange", task),
        ("sharp edge", task),
        ("turquoise", job),
        ("thermogram", "ART-001"),
    ):
        assert found(lh, text) == [ref], text
    assert found(lh, "turquoise", kind="job") == [job]
    assert found(lh, "turquoise", kind="task") == []
    assert found(lh, "flange", task=task) == [task]
    write(lh, fold)
    assert found(lh, "flange grind") == [task]


def test_filters_narrow_by_author_time_and_path(lh: Lh) -> None:
    old = note(lh, "The cookie is set in src/auth/session.py")
    lh.clock.advance(10 * 86_400_000)
    new = note(lh, "The cookie is read in src/web/page.ts")
    assert found(lh, "cookie", since="5d") == [f"notes@{new}"]
    assert found(lh, "cookie", path="src/auth/") == [f"notes@{old}"]
    assert found(lh, "cookie", path="src/auth/session.py") == [f"notes@{old}"]
    assert found(lh, "cookie", author="nobody") == []


def test_neighbors_in_time_are_shown_on_request(lh: Lh) -> None:
    before, hit, after = note(lh, "one"), note(lh, TOLD), note(lh, "three")
    shown = lh("docs.search", text="cookie", around=1)["hits"][0]["around"]
    assert [one["ref"] for one in shown] == [f"notes@{before}", f"notes@{after}"]
    shown = lh("docs.search", text="cookie", around=1, as_of=hit)["hits"][0]["around"]
    assert [one["ref"] for one in shown] == [f"notes@{before}"]


def test_secrets_are_neither_found_nor_suggested(lh: Lh) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    note(lh, f"The deploy uses {secret} for now.")
    fresh = write(lh, lambda tx: tx.all(index.sql.fresh_all))
    assert secret[4:14].lower() not in str(fresh)
    for text in (secret, secret[4:20], secret[4:16] + "*", "deploy " + secret[4:14]):
        result = lh("docs.search", text=text)
        assert secret[4:14] not in str(result["hits"])
        assert not any(near for near in (result.get("unknown") or {}).values())


def test_a_deleted_branch_takes_its_words_along(lh: Lh) -> None:
    branch(lh, "idea/a", "main")
    note(lh, "A quokka appeared.", "idea/a")
    write(lh, fold)
    assert write(lh, lambda tx: Reader(tx).holds("quokka"))
    kept = lh("vcs.branch.delete", name="idea/a", force=True)["kept_as"]
    assert lh("docs.search", text="quoka")["hits"] == []
    lh("vcs.branch.delete", name=kept, force=True)
    assert lh("docs.search", text="quoka")["unknown"] == {"quoka": []}
    assert not write(lh, lambda tx: Reader(tx).holds("quokka"))
