"""Branches: created without copies, listed, checked out, renamed, deleted only when safe."""

from __future__ import annotations

import json

import pytest

from longhouse.kernel.registry import Role
from tests.contracts.world import fingerprint, rows_of
from tests.kit import Lh
from tests.memory.kit import apply, branch, ids, node, note, notes, state
from tests.security.kit import Outsider


def stored(lh: Lh) -> dict[str, list[str]]:
    """Every row of every table, including the word index."""
    return {**fingerprint(lh), **rows_of(lh, "search_words")}


@pytest.mark.proves("MEM-116", "MEM-117")
def test_the_first_branch_brings_main_with_it(lh: Lh) -> None:
    made = lh("vcs.branch.create", name="idea/a")
    assert made["workspace"] == "acme"
    assert made["branch"]["name"] == "idea/a"
    assert made["branch"]["base_branch"] == "main"
    assert lh("status")["checkout"] == "main"
    lh("vcs.checkout", ref="idea/a")
    assert branch(lh, "idea/b")["base_branch"] == "idea/a"
    now = lh("status")["seq"]
    other = branch(lh, "idea/c", "main")
    assert (other["base_branch"], other["base_seq"]) == ("main", now)
    lh("vcs.notes.commit", target="TASK-001", content="c")
    lh("vcs.checkout", ref="task/TASK-001")
    made = branch(lh, "idea/d")
    assert made["base_branch"] == "task/TASK-001"
    _, rows = state(lh)
    (told,) = [row for row in rows if (row["subject"], row["kind"]) == ("idea/d", "branch_created")]
    assert json.loads(told["data"]) == {name: made[name] for name in ("base_branch", "base_seq")}


@pytest.mark.proves("MEM-131")
def test_the_list_has_canonical_branches_too(lh: Lh) -> None:
    branch(lh, "idea/a")
    for target in ("TASK-001", "PLAN-001"):
        lh("vcs.notes.commit", target=target, content="c")
    listed = lh("vcs.branch.list")
    assert listed.keys() == {"workspace", "branches", "pagination", "truncated"}
    assert listed["workspace"] == "acme"
    names = ["plan/PLAN-001", "task/TASK-001", "idea/a", "main"]
    assert [b["name"] for b in listed["branches"]] == names
    assert [b.get("canonical", False) for b in listed["branches"]] == [True, True, False, False]
    assert listed["branches"][2]["base_branch"] == "main"
    two = lh("vcs.branch.list", limit=2)
    assert len(two["branches"]) == 2
    rest = lh("vcs.branch.list", cursor=two["pagination"]["next_cursor"])
    assert [b["name"] for b in rest["branches"]] == names[2:]
    small = lh("vcs.branch.list", max_chars=200)
    assert small["truncated"] is True


@pytest.mark.proves("MEM-132")
def test_a_checkout_says_where_it_was_and_is(lh: Lh) -> None:
    assert lh("vcs.checkout", ref="main") == {
        "workspace": "acme",
        "previous": None,
        "current": "main",
        "truncated": False,
    }
    branch(lh, "idea/a")
    moved = lh("vcs.checkout", ref="idea/a")
    assert (moved["previous"], moved["current"]) == ("main", "idea/a")
    assert lh("status")["checkout"] == "idea/a"
    assert lh.refused("vcs.checkout", ref="nowhere")["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-133")
def test_a_rename_takes_everything_along(lh: Lh) -> None:
    branch(lh, "idea/a")
    head = f"notes@{note(lh, 'n', 'idea/a')}"
    apply(lh, node("A"), branch="idea/a")
    branch(lh, "idea/deeper", "idea/a")
    lh("vcs.checkout", ref="idea/a")
    lh("vcs.tag.create", name="t")
    renamed = lh("vcs.branch.rename", old="idea/a", new="idea/b")
    assert (renamed["workspace"], renamed["previous"], renamed["current"]) == (
        "acme",
        "idea/a",
        "idea/b",
    )
    assert lh("status")["checkout"] == "idea/b"
    assert notes(lh, "idea/b") == ["n"]
    assert lh("vcs.log", ref="idea/b")["head"] == head
    assert ids(lh("graph.query", branch="idea/b", doc="graph")) == ["A"]
    assert lh("vcs.tag.list")["tags"][0]["branch"] == "idea/b"
    bases = {b["name"]: b["base_branch"] for b in lh("vcs.branch.list")["branches"]}
    assert bases["idea/deeper"] == "idea/b"
    assert lh.refused("docs.show", branch="idea/a", doc="notes")["code"] == "UNKNOWN_ID"
    assert "rename" in [m["action"] for m in lh("vcs.reflog", ref="idea/b")["moves"]]


@pytest.mark.proves("MEM-134")
def test_a_deleted_branch_is_gone_with_all_that_was_on_it(lh: Lh) -> None:
    note(lh, "stays")
    lh("vcs.checkout", ref="main")
    before = stored(lh)
    branch(lh, "idea/a")
    ref = f"notes@{note(lh, 'goes', 'idea/a')}"
    apply(lh, node("A", title="goes", tags=["x"]), branch="idea/a")
    lh("vcs.tag.create", name="t", **{"from": ref})
    aside = lh("vcs.branch.delete", name="idea/a", force=True)
    assert (aside["workspace"], aside["name"], aside["deleted"]) == ("acme", "idea/a", True)
    gone = lh("vcs.branch.delete", name=aside["kept_as"], force=True)
    assert (gone["deleted"], gone.get("kept_as")) == (True, None)
    assert lh.refused("docs.show", branch="idea/a", doc="notes")["code"] == "UNKNOWN_ID"
    assert lh.refused("open", id=ref)["code"] == "UNKNOWN_ID"
    assert lh("docs.search", text="goes")["hits"] == []
    assert lh("vcs.tag.list")["tags"] == []
    assert notes(lh) == ["stays"]
    after = stored(lh)
    changed = {name for name, rows in after.items() if rows != before[name]}
    assert changed <= {"log", "ref_moves", "workspaces", "counters"}, "only the record is left"
    branch(lh, "idea/a")
    assert notes(lh, "idea/a") == ["stays"]


@pytest.mark.proves("MEM-135")
def test_content_that_the_base_lacks_is_deleted_by_force_alone_and_can_be_restored(lh: Lh) -> None:
    branch(lh, "idea/a")
    ref = f"notes@{note(lh, 'only here', 'idea/a')}"
    apply(lh, node("A"), branch="idea/a")
    before = state(lh)
    envelope = lh.envelope("vcs.branch.delete", name="idea/a")
    assert envelope["error"]["code"] == "CONFLICT"
    assert ref in envelope["error"]["message"]
    assert state(lh) == before
    assert "can be restored" in str(envelope["actions"])
    gone = lh("vcs.branch.delete", name="idea/a", force=True)
    kept = gone["kept_as"]
    assert (gone["name"], gone["deleted"]) == ("idea/a", True)
    for_good = lh.envelope("vcs.branch.delete", name=kept)
    assert for_good["error"]["code"] == "CONFLICT"
    assert "delete it for good" in str(for_good["actions"])
    assert lh.refused("docs.show", branch="idea/a", doc="notes")["code"] == "UNKNOWN_ID"
    assert "idea/a" not in str(lh("vcs.branch.list")["branches"])
    assert lh("docs.search", text="here")["hits"] == []
    assert kept in [b["name"] for b in lh("vcs.branch.list", deleted=True)["branches"]]
    lh("vcs.branch.rename", old=kept, new="idea/a")
    assert notes(lh, "idea/a") == ["only here"]
    assert ids(lh("graph.query", branch="idea/a", doc="graph")) == ["A"]


@pytest.mark.proves("MEM-135")
@pytest.mark.parametrize("merge", [("docs.merge", "graph.merge"), ("graph.merge", "docs.merge")])
def test_a_branch_whose_content_its_base_has_is_deleted_for_good(
    lh: Lh, merge: tuple[str, str]
) -> None:
    branch(lh, "idea/a")
    note(lh, "shared", "idea/a")
    apply(lh, node("A"), branch="idea/a")
    lh(merge[0], **{"from": "idea/a"})
    assert lh.refused("vcs.branch.delete", name="idea/a")["code"] == "CONFLICT"
    lh(merge[1], **{"from": "idea/a"})
    assert lh("vcs.branch.delete", name="idea/a").get("kept_as") is None
    assert len(lh("vcs.branch.list", deleted=True)["branches"]) == 1
    assert notes(lh) == ["shared"]


@pytest.mark.proves("MEM-135")
def test_a_branch_in_use_is_not_deleted(lh: Lh) -> None:
    branch(lh, "idea/a")
    branch(lh, "idea/b", "idea/a")
    lh("vcs.notes.commit", target="TASK-001", content="c")
    lh("vcs.notes.commit", target="PLAN-001", content="c")
    lh("vcs.checkout", ref="idea/b")
    before = state(lh)
    for name, why in (
        ("plan/PLAN-001", "belongs to a plan or task"),
        ("idea/a", "'idea/b' derives from 'idea/a'"),
        ("idea/b", "'idea/b' is checked out"),
        ("task/TASK-001", "belongs to a plan or task"),
    ):
        for force in (False, True):
            error = lh.refused("vcs.branch.delete", name=name, force=force)
            assert (error["code"], why in error["message"]) == ("CONFLICT", True)
    assert lh.refused("vcs.branch.delete", name="nowhere")["code"] == "UNKNOWN_ID"
    assert state(lh) == before
    another = Outsider(lh, "TOK-a", Role.MANAGER, agent="amber-otter")
    another("vcs.checkout", ref="main")
    error = another.refused("vcs.branch.delete", name="idea/b", force=True)
    assert "'idea/b' is checked out" in error["message"], "by everybody else"


@pytest.mark.parametrize(
    "name", ["", "a b", "/a", "a/", "a..b", "a//b", "ä", "x" * 129, "task/TASK-001", "a|b", "a\n"]
)
def test_a_wrong_name_is_refused(lh: Lh, name: str) -> None:
    branch(lh, "idea/a")
    before = state(lh)
    for cmd, args, field in (
        ("vcs.branch.create", {"name": name}, "name"),
        ("vcs.branch.rename", {"old": "idea/a", "new": name}, "new"),
    ):
        error = lh.refused(cmd, **args)
        assert error["code"] in ("INVALID_NAME", "INVALID_INPUT")
        assert error["message"].startswith(f"{field}: ")
    assert state(lh) == before


def test_names_are_taken_once_and_bases_must_exist(lh: Lh) -> None:
    branch(lh, "idea/a")
    assert lh.refused("vcs.branch.create", name="idea/a")["code"] == "CONFLICT"
    error = lh.refused("vcs.branch.create", name="idea/b", **{"from": "nowhere"})
    assert error["code"] == "UNKNOWN_ID"
    error = lh.refused("vcs.branch.rename", old="idea/a", new="main")
    assert error["code"] == "CONFLICT"


def test_branches_nest_to_a_depth_of_32_and_no_deeper(lh: Lh) -> None:
    note(lh, "root")
    base = "main"
    for depth in range(32):
        base = branch(lh, f"d/{depth}", base)["name"]
        note(lh, str(depth), base)
    assert notes(lh, base, limit=200) == ["root", *map(str, range(32))]
    assert lh.refused("vcs.branch.create", name="d/32", **{"from": base})["code"] == "CONFLICT"


def test_the_list_of_branches_has_a_past(lh: Lh) -> None:
    seq = note(lh, "n")
    branch(lh, "idea/a")
    assert [b["name"] for b in lh("vcs.branch.list", as_of=seq)["branches"]] == ["main"]
