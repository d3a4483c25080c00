"""Documents: append-only entries, read newest first through a branch's view, without copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.house import House
from longhouse.store.queries import Query
from tests.kit import Lh
from tests.memory.kit import (
    apply,
    branch,
    contents,
    focus,
    node,
    note,
    notes,
    state,
    trace,
    write,
)


@pytest.mark.proves("MEM-039", "MEM-036")
def test_a_note_answers_with_its_entry(lh: Lh) -> None:
    last = lh("vcs.notes.commit", content="Elsewhere.")["entry"]["seq"]
    branch(lh, "idea/a")
    entry = lh(
        "vcs.notes.commit",
        content="Cache first.",
        branch="idea/a",
        title="T",
        format="md",
        meta={"a": 1},
    )["entry"]
    assert entry.pop("seq") > last
    assert entry == {
        "ts": "2027-01-15T08:00:00.000Z",
        "ts_ms": lh.clock.now_ms(),
        "branch": "idea/a",
        "doc": "notes",
        "kind": "note",
        "title": "T",
        "format": "md",
        "meta": {"a": 1},
        "content": "Cache first.",
    }
    other = lh("vcs.notes.commit", content="x", branch="idea/a", doc="adr")["entry"]
    assert (other["branch"], other["doc"]) == ("idea/a", "adr")
    alone = lh("vcs.notes.commit", content="y", doc="adr")["entry"]
    assert (alone["branch"], alone["doc"]) == ("main", "adr")
    assert notes(lh, "idea/a") == ["Elsewhere.", "Cache first."]
    assert notes(lh) == ["Elsewhere."]


@pytest.mark.proves("MEM-001")
def test_entries_survive_a_restart_and_every_write_only_adds(
    new_house: Callable[..., House], lh: Lh
) -> None:
    note(lh, "one")
    branch(lh, "idea/a")
    note(lh, "two", "idea/a")
    before = notes(lh, "idea/a")
    lh("docs.merge", **{"from": "idea/a"}, into="main")
    lh("vcs.tag.create", name="t")
    lh("vcs.reset", ref="notes@" + str(lh("vcs.log")["commits"][-1]["seq"]))
    lh("vcs.branch.rename", old="idea/a", new="idea/b")
    assert notes(lh, "idea/b") == before
    lh.house.close()
    again = Lh(new_house(), lh.clock)
    assert notes(again, "idea/b") == before
    assert notes(again) == ["one", "two"]


@pytest.mark.proves("MEM-043", "MEM-044", "MEM-040")
def test_pages_go_from_the_tail_and_visit_every_entry_once(lh: Lh) -> None:
    seqs = [note(lh, str(n)) for n in range(7)]
    seen: list[int] = []
    cursor = None
    while True:
        page = lh("docs.show", branch="main", doc="notes", limit=3, cursor=cursor)
        assert page.keys() == {"branch", "doc", "entries", "pagination", "truncated"}
        assert page["branch"] == "main"
        assert page["doc"] == "notes"
        assert page["truncated"] is False
        assert page["pagination"]["cursor"] == cursor
        assert page["pagination"]["limit"] == 3
        got = [e["seq"] for e in page["entries"]]
        assert page["pagination"]["count"] == len(got)
        assert cursor is None or all(seq < cursor for seq in got)
        seen = got + seen
        note(lh, "written while paging")
        if not page["pagination"]["has_more"]:
            assert "next_cursor" not in page["pagination"]
            break
        cursor = page["pagination"]["next_cursor"]
    assert seen == seqs


@pytest.mark.proves("MEM-042", "MEM-041")
def test_the_document_follows_from_its_kind(lh: Lh) -> None:
    note(lh, "n")
    assert lh("docs.show")["doc"] == "trace"
    assert lh("docs.show", doc_kind="trace")["doc"] == "trace"
    assert lh("docs.show", doc_kind="notes")["doc"] == "notes"
    assert contents(lh("docs.show", doc_kind="notes")) == ["n"]
    focus(lh, "TASK-007")
    page = lh("docs.show")
    assert (page["branch"], page["doc"]) == ("task/TASK-007", "TASK-007-trace")
    focus(lh, None)
    assert lh("docs.show")["branch"] == "main"


@pytest.mark.proves("MEM-020", "MEM-021", "MEM-022", "MEM-045")
def test_a_branch_shows_its_bases_snapshot_and_its_own_entries(lh: Lh) -> None:
    note(lh, "before")
    branch(lh, "idea/other")
    last = note(lh, "of another branch", "idea/other")
    rows = entry_rows(lh)
    made = branch(lh, "idea/a", "main")
    assert made == {"name": "idea/a", "base_branch": "main", "base_seq": last}
    assert entry_rows(lh) == rows
    note(lh, "later on main")
    note(lh, "on the branch", "idea/a")
    branch(lh, "idea/deeper", "idea/a")
    note(lh, "after that", "idea/a")
    note(lh, "deepest", "idea/deeper")
    assert notes(lh) == ["before", "later on main"]
    assert notes(lh, "idea/a") == ["before", "on the branch", "after that"]
    assert notes(lh, "idea/deeper") == ["before", "on the branch", "deepest"]
    page = lh("docs.show", branch="idea/deeper", doc="notes")
    assert [e["branch"] for e in page["entries"]] == ["main", "idea/a", "idea/deeper"]


def entry_rows(lh: Lh) -> int:
    count = "SELECT COUNT(*) AS n FROM doc_entries"
    rows: int = write(lh, lambda tx: tx.value(Query("count", count, count)))
    return rows


@pytest.mark.proves("MEM-010")
def test_workspaces_do_not_see_each_other(lh: Lh) -> None:
    note(lh, "mine")
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "A", "type": "t", "title": "mine"}])
    other: dict[str, Any] = {"workspace": "other"}
    assert lh("docs.show", doc_kind="notes", **other)["entries"] == []
    assert lh("graph.query", **other)["nodes"] == []
    assert lh("docs.search", text="mine", **other)["hits"] == []
    assert lh("vcs.branch.list", **other)["branches"] == []
    assert lh.refused("open", id="notes@2", **other)["code"] == "UNKNOWN_ID"
    lh("vcs.notes.commit", content="theirs", **other)
    assert notes(lh) == ["mine"]
    assert len(lh("docs.search", text="mine")["hits"]) == 2


@pytest.mark.proves("MEM-002")
def test_reads_are_bounded_and_whole_artifacts_come_on_request(lh: Lh) -> None:
    long = "word " * 20_000
    for _ in range(3):
        ref = lh("vcs.notes.commit", content=long, branch="main")["ref"]
    page = lh("docs.show", branch="main", doc="notes")
    assert page["truncated"] is True
    assert len(str(page)) < 21_000
    assert page["pagination"]["has_more"]
    opened = lh("open", id=ref, max_chars=2_000)
    assert opened["truncated"] is True
    assert len(str(opened)) < 2_500
    most = lh("open", id=ref)
    assert most["truncated"] is True
    assert 2_500 < len(str(most)) < 21_000
    short = lh("vcs.notes.commit", content="s" * 5_000, branch="main")["ref"]
    assert lh("open", id=short)["entry"]["content"] == "s" * 5_000


@pytest.mark.proves("MEM-068", "MEM-069")
def test_a_diff_has_what_the_other_lacks_in_pages(lh: Lh) -> None:
    note(lh, "shared")
    branch(lh, "idea/a")
    for n in range(3):
        note(lh, f"a{n}", "idea/a")
    note(lh, "m")
    note(lh, "of another document", "idea/a", doc="adr")
    page = lh("docs.diff", **{"from": "main"}, to="idea/a", limit=2)
    assert page.keys() == {"from", "to", "doc", "entries", "pagination", "truncated"}
    assert page["doc"] == "notes"
    assert (page["from"], page["to"], page["truncated"]) == ("main", "idea/a", False)
    assert contents(page) == ["a1", "a2"]
    assert page["pagination"] == {
        "cursor": None,
        "next_cursor": page["entries"][0]["seq"],
        "has_more": True,
        "limit": 2,
        "count": 2,
    }
    rest = lh(
        "docs.diff",
        **{"from": "main"},
        to="idea/a",
        limit=2,
        cursor=page["pagination"]["next_cursor"],
    )
    assert (contents(rest), rest["pagination"]["has_more"]) == (["a0"], False)
    assert contents(lh("docs.diff", **{"from": "idea/a"}, to="main")) == ["m"]
    other = lh("docs.diff", **{"from": "main"}, to="idea/a", doc="adr")
    assert (other["doc"], contents(other)) == ("adr", ["of another document"])


@pytest.mark.proves("MEM-070", "MEM-071", "MEM-072", "MEM-073", "MEM-074", "MEM-075")
def test_a_merge_copies_notes_once_in_pages(lh: Lh) -> None:
    shared = note(lh, "shared")
    branch(lh, "idea/a")
    said = {"title": "T", "format": "md", "meta": {"k": 1}}
    seqs = [note(lh, f"n{n}", "idea/a", **said) for n in range(5)]
    before = lh("docs.show", branch="idea/a", doc="notes")["entries"]
    whole = state(lh)
    dry = lh("docs.merge", **{"from": "idea/a"}, into="main", dry_run=True)
    assert (dry["merged"], dry["skipped"]) == (5, 0)
    part = lh("docs.merge", **{"from": "idea/a"}, dry_run=True, limit=3)
    rest = part["pagination"]["next_cursor"]
    rest = lh("docs.merge", **{"from": "idea/a"}, dry_run=True, limit=3, cursor=rest)
    assert (part["merged"], rest["merged"], rest["pagination"]["has_more"]) == (3, 2, False)
    assert state(lh) == whole
    cursor, merged = None, 0
    while True:
        page = lh("docs.merge", **{"from": "idea/a"}, merge_to_base=True, limit=2, cursor=cursor)
        fields = {"from", "into", "doc", "merged", "skipped", "pagination", "truncated"}
        assert page.keys() == fields
        assert (page["from"], page["into"], page["doc"]) == ("idea/a", "main", "notes")
        assert page["pagination"]["cursor"] == cursor
        assert (page["pagination"]["limit"], page["pagination"]["count"]) == (2, page["merged"])
        merged += page["merged"]
        if not page["pagination"]["has_more"]:
            break
        cursor = page["pagination"]["next_cursor"]
    assert merged == 5
    first, *copies = lh("docs.show", branch="main", doc="notes")["entries"]
    assert first["seq"] == shared
    assert sorted(e["content"] for e in copies) == [f"n{n}" for n in range(5)]
    assert all(said.items() <= copy.items() for copy in copies)
    assert {e["source_event_id"] for e in copies} == {f"merge:idea/a:{s}" for s in seqs}
    again = lh("docs.merge", **{"from": "idea/a"}, into="main")
    assert (again["merged"], again["skipped"]) == (0, 5)
    assert lh("docs.show", branch="idea/a", doc="notes")["entries"] == before
    lh("vcs.branch.rename", old="idea/a", new="idea/b")
    assert lh("docs.merge", **{"from": "idea/b"}, into="main")["merged"] == 0
    assert lh("docs.merge", **{"from": "main"}, into="idea/b")["merged"] == 0
    assert lh("docs.merge", **{"from": "idea/b"})["into"] == "main"
    assert lh.refused("docs.merge", **{"from": "main"})["code"] == "MERGE_NOT_SUPPORTED"


@pytest.mark.proves("MEM-072")
def test_a_merge_leaves_entries_that_are_no_notes(lh: Lh) -> None:
    trace(lh, "TASK-001", "evt_1", "task created")
    lh("vcs.notes.commit", branch="task/TASK-001", doc="TASK-001-trace", content="a thought")
    done = lh("docs.merge", **{"from": "task/TASK-001"}, into="main", doc="TASK-001-trace")
    assert (done["merged"], done["skipped"]) == (1, 0)
    merged = lh("docs.show", branch="main", doc="TASK-001-trace")
    assert contents(merged) == ["a thought"]


@pytest.mark.proves("MEM-014")
def test_an_event_is_ingested_once(lh: Lh) -> None:
    first = trace(lh, "TASK-001", "evt_1", "created")
    again = trace(lh, "TASK-001", "evt_1", "created")
    assert (first.inserted, again.inserted) == (True, False)
    assert again.entry == first.entry
    note(lh, "by hand", "task/TASK-001")
    lh("graph.apply", target="TASK-001", ops=[{"op": "node_upsert", "id": "A", "type": "t"}])
    docs = lh("docs.list", ref="task/TASK-001")["docs"]
    assert [(d["doc"], d["kind"]) for d in docs] == [
        ("TASK-001-graph", "graph"),
        ("TASK-001-trace", "trace"),
        ("notes", "notes"),
    ]
    assert contents(lh("docs.show", target="TASK-001", doc_kind="trace")) == ["created"]


@pytest.mark.proves("MEM-180")
def test_the_documents_of_a_branch_are_listed_with_those_of_its_base(lh: Lh) -> None:
    note(lh, "n")
    branch(lh, "idea/a")
    seq = note(lh, "x", "idea/a", doc="adr")
    note(lh, "later", doc="unseen")
    listed = lh("docs.list", ref="idea/a")
    assert [(d["doc"], d["branch"]) for d in listed["docs"]] == [
        ("adr", "idea/a"),
        ("notes", "main"),
    ]
    assert listed["docs"][0]["last_seq"] == seq
    assert [d["doc"] for d in lh("docs.list")["docs"]] == ["notes", "unseen"]


@pytest.mark.proves("MEM-064", "MEM-065", "MEM-067")
def test_an_export_is_what_show_says_of_both_documents(lh: Lh) -> None:
    note(lh, "measured", "task/TASK-001")
    note(lh, "decided", "task/TASK-001")
    for number in (1, 2):
        trace(
            lh,
            "TASK-001",
            f"evt_{number}",
            f"thought {number}",
            format="trace_sequential_step",
            meta={"thoughtNumber": number, **({"branchFromThought": 9} if number == 2 else {})},
        )
    whole = lh("docs.export", target="TASK-001")
    assert whole["target"] == {"id": "TASK-001", "kind": "task"}
    assert whole["reasoning_ref"] == {
        "branch": "task/TASK-001",
        "notes_doc": "notes",
        "graph_doc": "TASK-001-graph",
        "trace_doc": "TASK-001-trace",
    }
    shown = lh("docs.show", target="TASK-001", doc_kind="notes", limit=20)
    traced = lh("docs.show", target="TASK-001", doc_kind="trace", limit=50)
    for part, page in ((whole["notes"], shown), (whole["trace"], traced)):
        assert part["entries"] == page["entries"]
        assert part["pagination"] == page["pagination"]
    assert whole["trace"]["sequential"] == traced["sequential"]
    assert [n["thoughtNumber"] for n in traced["sequential"]["nodes"]] == [1, 2]
    assert traced["sequential"]["edges"] == [{"rel": "branch", "from": 9, "to": 2}]
    assert traced["sequential"]["missing"] == [9]
    one = lh("docs.export", target="TASK-001", notes_limit=1, trace_limit=1)
    for kind in ("notes", "trace"):
        page = lh("docs.show", target="TASK-001", doc_kind=kind, limit=1)
        assert page["pagination"]["has_more"]
        assert one[kind] == {name: page[name] for name in page if name != "truncated"}
    none = lh("docs.export", target="TASK-001", notes_limit=0, trace_limit=0)
    assert none["notes"]["entries"] == []
    assert none["trace"]["entries"] == []
    assert none["trace"]["sequential"] is None


@pytest.mark.proves("MEM-066")
def test_an_export_fits_its_budget_and_says_so(lh: Lh) -> None:
    for n in range(10):
        note(lh, f"{n} " + "x" * 900, "task/TASK-001")
        trace(lh, "TASK-001", f"evt_{n}", f"{n} " + "y" * 900)
    small = lh("docs.export", target="TASK-001", max_chars=3_000)
    assert small["truncated"] is True
    assert small["budget"]["used_chars"] <= 3_000
    assert small["reasoning_ref"]["branch"] == "task/TASK-001"
    assert small["notes"]["pagination"]["has_more"]


@pytest.mark.parametrize(
    "args",
    [
        {"branch": "nowhere", "doc": "notes"},
        {"branch": "main", "doc": "no@te"},
        {"branch": "main", "target": "TASK-001"},
        {"target": "JOB-001"},
        {"target": {"id": "TASK-001", "kind": "plan"}},
        {"content": "a\x00b", "branch": "main"},
        {"content": ""},
    ],
)
def test_a_wrong_note_is_refused_and_nothing_is_written(lh: Lh, args: dict[str, Any]) -> None:
    note(lh, "n")
    before = state(lh)
    error = lh.refused("vcs.notes.commit", **{"content": "x", **args})
    assert error["code"] in ("INVALID_INPUT", "UNKNOWN_ID")
    assert state(lh) == before


def test_the_past_of_a_document_can_be_read(lh: Lh) -> None:
    first = note(lh, "one")
    note(lh, "two")
    assert notes(lh, as_of=first) == ["one"]
    assert contents(lh("docs.diff", **{"from": "main"}, to="main", as_of=first)) == []
    assert [d["doc"] for d in lh("docs.list", as_of=first - 1)["docs"]] == []


@pytest.mark.proves("MEM-049")
def test_an_entry_is_opened_by_its_document_and_seq(lh: Lh) -> None:
    made = lh("vcs.notes.commit", content="why", title="Decision", format="text", meta={"n": 1})
    opened = lh("open", id=made["ref"])
    assert (opened["kind"], opened["ref"], opened["truncated"]) == (
        "doc_entry",
        made["ref"],
        False,
    )
    assert opened["entry"].keys() == {
        "seq",
        "ts",
        "ts_ms",
        "branch",
        "doc",
        "kind",
        "title",
        "format",
        "meta",
        "content",
    }
    assert opened["entry"] == made["entry"]
    task = lh("tasks.macro.start", task_title="Look")["task_id"]
    happened = lh("docs.show", target=task, doc_kind="trace")["entries"][0]
    opened = lh("open", id=f"{task}-trace@{happened['seq']}")
    assert (opened["kind"], opened["entry"]) == ("doc_entry", happened)
    seq = made["entry"]["seq"]
    assert lh.refused("open", id=f"adr@{seq}")["code"] == "UNKNOWN_ID", "it is not in that document"
    version = f"graph@{apply(lh, node('A', title='T', text='as it was'))}"
    apply(lh, node("A", title="U", text="as it is"))
    kept = lh("open", id=version)["entry"]
    assert (kept["doc"], kept["title"], kept["content"]) == ("graph", "T", "as it was")
