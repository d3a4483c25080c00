"""Notes as version control: commits, log, tags, reflog, reset."""

from __future__ import annotations

import pytest

from tests.kit import Lh
from tests.memory.kit import branch, focus, note, notes, state


@pytest.mark.proves("MEM-178")
def test_a_commit_is_a_note_with_a_message(lh: Lh) -> None:
    done = lh("vcs.commit", artifact="The diff.", message="Why", meta={"k": 1})
    commit = done["commit"]
    assert commit["ref"] == done["ref"] == f"notes@{commit['seq']}"
    assert (commit["message"], commit["artifact"], commit["branch"], commit["doc"]) == (
        "Why",
        "The diff.",
        "main",
        "notes",
    )
    entry = lh("open", id=done["ref"])["entry"]
    assert (entry["kind"], entry["content"], entry["title"]) == ("note", "The diff.", "Why")
    assert lh("vcs.commit", artifact="a", message="m", docs="adr")["commit"]["doc"] == "adr"
    both = lh("vcs.commit", artifact="a", message="m", docs=["adr", "notes"])
    assert [both["commit"]["doc"], both["more"][0]["doc"]] == ["adr", "notes"]
    told = [(one["message"], one["artifact"]) for one in (both["commit"], *both["more"])]
    assert told == [("m", "a")] * 2
    focus(lh, "TASK-001")
    assert lh("vcs.commit", artifact="b", message="n")["commit"]["branch"] == "main"
    focus(lh, None)
    assert lh.refused("vcs.commit", artifact="a", message="m", docs="trace")["code"] == (
        "INVALID_INPUT"
    )


@pytest.mark.proves("MEM-179")
def test_the_log_shows_recent_commits_of_the_checkout_or_of_a_ref(lh: Lh) -> None:
    lh("vcs.commit", artifact="1", message="one")
    branch(lh, "idea/a")
    lh("vcs.checkout", ref="idea/a")
    lh("vcs.commit", artifact="2", message="two")
    note(lh, "3", "main", title="three")
    log = lh("vcs.log")
    assert [c["message"] for c in log["commits"]] == ["two", "one"]
    assert log["branch"] == "idea/a"
    assert [c["message"] for c in lh("vcs.log", ref="main")["commits"]] == ["three", "one"]
    page = lh("vcs.log", limit=1)
    assert [c["message"] for c in page["commits"]] == ["two"]
    rest = lh("vcs.log", limit=1, cursor=page["pagination"]["next_cursor"])
    assert [c["message"] for c in rest["commits"]] == ["one"]
    assert lh.refused("vcs.log", ref="nowhere")["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-181")
def test_tags_name_commits(lh: Lh) -> None:
    first = lh("vcs.commit", artifact="1", message="one")["ref"]
    lh("vcs.tag.create", name="v1")
    second = lh("vcs.commit", artifact="2", message="two")["ref"]
    tag = lh("vcs.tag.create", name="v2", **{"from": second})["tag"]
    assert (tag["name"], tag["ref"], tag["branch"]) == ("v2", second, "main")
    assert {t["name"]: t["ref"] for t in lh("vcs.tag.list")["tags"]} == {"v1": first, "v2": second}
    pages = {limit: lh("vcs.tag.list", limit=limit) for limit in (1, 2)}
    assert {limit: (page["count"], page["has_more"]) for limit, page in pages.items()} == {
        1: (1, True),
        2: (2, False),
    }
    assert [c["ref"] for c in lh("vcs.log", ref="v1")["commits"]] == [first]
    error = lh.refused("vcs.tag.create", name="v1", **{"from": second})
    assert error["code"] == "CONFLICT"
    moved = lh("vcs.tag.create", name="v1", force=True, **{"from": second})
    assert moved["previous"] == first
    before = lh("status")["seq"]
    assert lh("vcs.tag.delete", name="v2")["deleted"] is True
    assert [t["name"] for t in lh("vcs.tag.list")["tags"]] == ["v1"]
    assert [t["name"] for t in lh("vcs.tag.list", as_of=before)["tags"]] == ["v1", "v2"]
    assert lh.refused("vcs.tag.delete", name="v2")["code"] == "UNKNOWN_ID"
    assert lh.refused("vcs.tag.create", name="v3", **{"from": "notes@999"})["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-183")
def test_a_branch_may_be_reset_to_the_last_commit_that_it_has_of_its_base(lh: Lh) -> None:
    lh("system.init")
    last = lh("vcs.commit", artifact="1", message="one")["ref"]
    assert last == f"notes@{branch(lh, 'idea/a')['base_seq']}"
    lh("vcs.checkout", ref="idea/a")
    assert lh("vcs.reset", ref=last)["current"] == last


@pytest.mark.proves("MEM-182", "MEM-183")
def test_a_reset_moves_the_pointer_and_the_reflog_tells(lh: Lh) -> None:
    first = lh("vcs.commit", artifact="1", message="one")["ref"]
    second = lh("vcs.commit", artifact="2", message="two")["ref"]
    assert lh("vcs.log")["head"] == second
    moved = lh("vcs.reset", ref=first)
    assert (moved["branch"], moved["previous"], moved["current"]) == ("main", second, first)
    assert lh("vcs.log")["head"] == first
    assert notes(lh) == ["1", "2"]
    assert [c["ref"] for c in lh("vcs.log")["commits"]] == [second, first], "none is hidden"
    moves = lh("vcs.reflog", ref="main")["moves"]
    assert [(m["action"], m.get("previous"), m.get("current")) for m in moves[:3]] == [
        ("reset", second, first),
        ("commit", None, second),
        ("commit", None, first),
    ]
    as_of = int(second.partition("@")[2])
    earlier = [lh("vcs.reflog", as_of=seq)["moves"][0]["current"] for seq in (as_of, as_of - 1)]
    assert earlier == [second, first]
    third = lh("vcs.commit", artifact="3", message="three")["ref"]
    assert lh("vcs.log")["head"] == third
    branch(lh, "idea/a")
    lh("vcs.checkout", ref="idea/a")
    assert [m["action"] for m in lh("vcs.reflog", limit=2)["moves"]] == ["checkout", "create"]
    page = lh("vcs.reflog", limit=2)
    rest = lh("vcs.reflog", cursor=page["pagination"]["next_cursor"])["moves"]
    assert [m["current"] for m in rest[:2]] == ["main", third]
    before = state(lh)
    assert lh.refused("vcs.reset", ref="notes@999")["code"] == "UNKNOWN_ID"
    hidden = note(lh, "on main", "main")
    assert lh.refused("vcs.reset", ref=hidden)["code"] == "UNKNOWN_ID"
    assert state(lh)[0] == before[0] + 1
    elsewhere = lh("vcs.reset", ref=second, branch="main")
    assert (elsewhere["branch"], elsewhere["current"]) == ("main", second)
    assert lh("vcs.log", ref="main")["head"] == second
    lh("vcs.tag.create", name="v1", **{"from": second})
    lh("vcs.branch.rename", old="idea/a", new="idea/b")
    assert [(m["ref"], m["action"]) for m in lh("vcs.reflog", limit=3)["moves"]] == [
        ("idea/b", "rename"),
        ("tags/v1", "tag"),
        ("main", "reset"),
    ]


def test_a_tag_of_nothing_is_refused_under_the_name_of_its_argument(lh: Lh) -> None:
    lh("vcs.notes.commit", content="one")
    for wrong in ("notes@99", "nowhere"):
        error = lh.refused("vcs.tag.create", name="v1", **{"from": wrong})
        assert error["message"].startswith("from: "), error
