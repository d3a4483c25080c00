"""Anchors: parts of the system by name, with the cards about them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contracts.world import fingerprint, rows_of
from tests.kit import Lh
from tests.memory.kit import state
from tests.thinking.kit import card, ids, task


def boot(lh: Lh, *anchors: dict[str, Any]) -> dict[str, Any]:
    made = [{"kind": "component", "title": one["id"], **one} for one in anchors]
    return lh("think.anchor.bootstrap", anchors=made)


@pytest.mark.proves("MEM-126")
def test_anchors_are_listed_by_id_and_found_by_word_kind_and_status(lh: Lh) -> None:
    boot(
        lh,
        {"id": "a:web", "title": "Pages", "kind": "boundary"},
        {"id": "a:core", "title": "Core"},
        {"id": "a:old", "status": "deprecated"},
    )

    def found(**args: Any) -> list[str]:
        return ids(lh("think.anchor.list", **args)["anchors"])

    assert found() == ["a:core", "a:old", "a:web"]
    assert found(text="PAGES") == ["a:web"]
    assert found(kind="component", status="active") == ["a:core"]
    assert found(limit=1) == ["a:core"]
    assert lh("think.anchor.list", limit=1)["has_more"] is True


def test_the_log_says_whether_an_anchor_was_made_or_changed_and_nothing_if_neither(lh: Lh) -> None:
    for title in ("Core", "The core", "The core"):
        boot(lh, {"id": "a:core", "title": title})
    kinds = re.findall(r"'kind', '(anchor_\w+)'", " ".join(rows_of(lh, "log")["log"]))
    assert sorted(kinds) == ["anchor_created", "anchor_updated"]


@pytest.mark.proves("MEM-127", "MEM-130", "MEM-050", "MEM-061")
def test_an_anchor_shows_the_cards_about_it_what_is_settled_first(lh: Lh) -> None:
    made = task(lh)
    told = {"description": "What is kept", "parent_id": "a:core", "depends_on": ["a:db"]}
    boot(
        lh, {"id": "a:cache", "title": "Cache", "refs": ["src/cache.py"], **told}, {"id": "a:core"}
    )
    card(lh, "CARD-O1", "decision", tags=["a:core"])
    card(lh, "CARD-O2", "decision", title="about no anchor")
    card(lh, "CARD-N1", "note", tags=["a:cache"])
    card(lh, "CARD-H1", "hypothesis", tags=["a:cache"])
    card(lh, "CARD-X", "evidence", tags=["a:cache", "v:draft"])
    card(lh, "CARD-L", "evidence", tags=["a:cache", "lane:agent:ann"])
    card(lh, "CARD-E1", "evidence", tags=["a:cache"], target=made["id"])
    card(lh, "CARD-T1", "test", tags=["a:cache"])
    card(lh, "CARD-D1", "decision", tags=["a:cache"])
    card(lh, "CARD-P1", "note", tags=["a:cache", "pinned"])
    card(lh, "CARD-C1", "note", tags=["a:cache", "v:canon"])
    settled = ["CARD-P1", "CARD-D1", "CARD-E1", "CARD-T1", "CARD-C1"]
    for result in (lh("think.anchor.snapshot", anchor="A:Cache"), lh("open", id="a:cache")):
        assert ids(result["cards"]) == settled
        assert result["count"] == 5
        assert result["anchor"] == {
            "id": "a:cache",
            "title": "Cache",
            "kind": "component",
            "status": "active",
            "refs": ["src/cache.py"],
            **told,
            "created_at_ms": lh.clock.now_ms(),
            "updated_at_ms": lh.clock.now_ms(),
            "registered": True,
        }
        assert result["truncated"] is False
        assert result["stats"] == {"links_count": 9, "links_has_more": False}
    opened = lh("open", id="a:cache", include_drafts=True)
    assert (opened["kind"], opened["id"]) == ("anchor", "a:cache")
    assert ids(opened["cards"])[:5] == settled
    assert set(ids(opened["cards"])) == {*settled, "CARD-N1", "CARD-H1", "CARD-X", "CARD-L"}
    for args in ({"include_drafts": True}, {"all_lanes": True}):
        assert len(lh("think.anchor.snapshot", anchor="a:cache", **args)["cards"]) == 9
    two = lh("think.anchor.snapshot", anchor="a:cache", limit=2)
    assert (ids(two["cards"]), two["count"]) == (settled[:2], 2)
    (about,) = lh("think.anchor.snapshot", anchor="a:cache")["tasks"]
    assert (about["id"], about["cards"]) == (made["id"], 1)
    assert lh("think.anchor.snapshot", anchor="a:cache", tasks_limit=0)["tasks"] == []


@pytest.mark.proves("MEM-057", "MEM-058")
def test_opening_an_anchor_that_nobody_made_writes_nothing(lh: Lh) -> None:
    card(lh, "CARD-N1", "note", tags=["a:ghost"])
    before = fingerprint(lh)
    answer = lh.envelope("open", id="a:ghost", include_drafts=True)
    assert answer["result"]["anchor"]["registered"] is False
    assert ids(answer["result"]["cards"]) == ["CARD-N1"]
    assert "ANCHOR_UNREGISTERED" in [one["code"] for one in answer["warnings"]]
    assert fingerprint(lh) == before
    assert lh("think.anchor.list")["anchors"] == []
    assert lh.refused("open", id="a:nobody")["code"] == "UNKNOWN_ID"


def test_a_card_that_everybody_sees_makes_its_anchor(lh: Lh) -> None:
    card(lh, "CARD-D1", "decision", tags=["a:page-cache", "a:not ok"])
    (made,) = lh("think.anchor.list")["anchors"]
    assert (made["id"], made["title"], made["kind"]) == ("a:page-cache", "Page cache", "component")


@pytest.mark.proves("MEM-128")
@pytest.mark.parametrize("format", ["mermaid", "text"])
def test_the_map_is_exported_as_the_same_text_every_time(lh: Lh, format: str) -> None:
    boot(lh, {"id": "a:web", "parent_id": "a:core", "depends_on": ["a:db"]}, {"id": "a:core"})
    text = lh("think.anchor.export", format=format)["text"]
    lh.clock.advance(99)
    assert lh("think.anchor.export", format=format)["text"] == text
    wanted = {
        "mermaid": [
            "graph TD",
            '  a_core["a:core (component)"]',
            '  a_web["a:web (component)"]',
            "  a_core --> a_web",
            "  a_web -.-> a_db",
        ],
        "text": [
            "anchors 2",
            "a:core component active: a:core",
            "a:web component active: a:web | in a:core | needs a:db",
        ],
    }
    assert text.split("\n") == wanted[format]


@pytest.mark.proves("MEM-129")
def test_one_call_makes_the_anchor_and_writes_the_card(lh: Lh) -> None:
    error = lh.refused("think.macro.anchor.note", anchor="a:cache", content="cold")
    assert "a new anchor needs a title and a kind" in error["message"]
    args = {"anchor": "a:cache", "title": "Cache", "kind": "component", "visibility": "canon"}
    made = lh("think.macro.anchor.note", content="cold", aliases=["a:caches"], **args)
    assert made["created"] is True
    assert made["scope"]["graph_doc"] == "anchors-graph"
    opened = lh("open", id=made["note"]["card_id"])["card"]
    assert (opened["text"], opened["tags"]) == ("cold", ["a:cache", "v:canon"])
    later = {"title": "Later", "description": "What is kept"}
    more = lh("think.macro.anchor.note", content="warm", anchor="a:cache", **later)
    assert (more["created"], more["anchor"]["title"]) == (False, "Cache")
    (kept,) = lh("think.anchor.list")["anchors"]
    assert (kept["id"], kept["description"]) == ("a:cache", "What is kept")
    target = task(lh)
    there = lh("think.macro.anchor.note", content="x", anchor="a:caches", target=target["id"])
    assert there["scope"]["target"] == target["id"]
    assert lh("open", id=there["note"]["card_id"])["card"]["tags"] == ["a:cache"]


def test_making_anchors_is_all_or_nothing_and_repeatable(lh: Lh) -> None:
    first = boot(lh, {"id": "a:web"}, {"id": "a:core"})
    assert first["anchors"] == [
        {"id": "a:core", "created": True},
        {"id": "a:web", "created": True},
    ]
    before = state(lh)
    again = boot(lh, {"id": "a:web"}, {"id": "a:core"})
    assert (again["created"], again["updated"], state(lh)) == (0, 2, before)
    for wrong in (
        {"id": "a:web", "parent_id": "a:web"},
        {"id": "a:web", "depends_on": ["a:web"]},
        {"id": "a:web", "aliases": ["a:core"]},
        {"id": "a:web", "aliases": ["a:web"]},
    ):
        assert lh.refused(
            "think.anchor.bootstrap",
            anchors=[{"id": "a:fresh", "title": "F", "kind": "ops"}, wrong],
        )
        assert state(lh) == before


def test_an_anchor_cannot_lie_inside_itself(lh: Lh) -> None:
    boot(lh, {"id": "a:one"}, {"id": "a:two", "parent_id": "a:one"})
    error = lh.refused("think.anchor.bootstrap", anchors=[{"id": "a:one", "parent_id": "a:two"}])
    assert "is below" in error["message"]


def test_renaming_keeps_the_old_name_and_what_is_known(lh: Lh) -> None:
    boot(lh, {"id": "a:cache", "aliases": ["a:store"]}, {"id": "a:web", "depends_on": ["a:cache"]})
    card(lh, "CARD-D1", "decision", tags=["a:cache"])
    renamed = lh("think.anchor.rename", **{"from": "a:cache"}, to="a:page-cache")
    assert renamed["anchor"]["aliases"] == ["a:cache", "a:store"]
    answer = lh.envelope("open", id="a:cache")
    assert answer["result"]["id"] == "a:page-cache"
    assert ids(answer["result"]["cards"]) == ["CARD-D1"]
    assert "ANCHOR_ALIAS_RESOLVED" in [one["code"] for one in answer["warnings"]]
    (web,) = lh("think.anchor.list", text="a:web")["anchors"]
    assert web["depends_on"] == ["a:page-cache"]
    before = state(lh)
    lh("think.anchor.rename", **{"from": "a:cache"}, to="a:page-cache")
    assert state(lh) == before
    assert (
        lh.refused("think.anchor.rename", **{"from": "a:web"}, to="a:store")["code"] == "CONFLICT"
    )
    assert lh.refused("think.anchor.rename", **{"from": "a:web"}, to="a:page-cache")
    assert lh.refused("think.anchor.rename", **{"from": "a:none"}, to="a:b")["code"] == "UNKNOWN_ID"
    back = lh("think.anchor.rename", **{"from": "a:page-cache"}, to="a:cache")
    assert back["anchor"]["aliases"] == ["a:page-cache", "a:store"]


def test_merging_makes_one_anchor_of_several(lh: Lh) -> None:
    boot(
        lh,
        {"id": "a:core"},
        {"id": "a:kernel", "parent_id": "a:core", "aliases": ["a:base"]},
        {"id": "a:web", "depends_on": ["a:kernel", "a:core"]},
    )
    merged = lh("think.anchor.merge", into="a:core", **{"from": ["a:kernel", "a:base"]})
    assert (merged["merged"], merged["skipped"]) == (["a:kernel"], ["a:base"])
    assert merged["anchor"]["aliases"] == ["a:base", "a:kernel"]
    (web,) = lh("think.anchor.list", text="a:web")["anchors"]
    assert web["depends_on"] == ["a:core"]
    assert lh("think.anchor.merge", into="a:core", **{"from": ["a:kernel"]})["merged"] == []


def test_lint_names_what_is_broken(lh: Lh) -> None:
    boot(lh, {"id": "a:core"}, {"id": "a:web", "parent_id": "a:gone", "depends_on": ["a:lost"]})
    lh("think.anchor.rename", **{"from": "a:core"}, to="a:kernel")
    boot(lh, {"id": "a:cli", "parent_id": "a:core"})
    card(lh, "CARD-D1", "decision", tags=["a:kernel", "a:cli"])
    issues = lh("think.anchor.lint")["issues"]
    assert [(one["code"], one["anchor"]) for one in issues] == [
        ("UNKNOWN_DEPENDS_ON", "a:web"),
        ("UNKNOWN_PARENT", "a:web"),
        ("ORPHAN_ANCHOR", "a:web"),
        ("RELATION_USES_ALIAS", "a:cli"),
    ]
