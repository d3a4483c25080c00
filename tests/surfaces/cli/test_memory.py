"""Memory from the command line: note, log, branch, diff, graph."""

from __future__ import annotations

from tests.surfaces.cli.conftest import Shell


def test_notes_are_written_from_words_or_from_a_pipe(sh: Shell) -> None:
    assert sh("note", "first", "--title", "One").out == "notes@1 on main\n"
    assert sh("note", "-", stdin="line one\nline two\n").out == "notes@2 on main\n"
    out = sh("log").out.splitlines()
    assert out[0].startswith("notes@2 main just now")
    assert out[1] == "    line one …"
    assert out[2].endswith("  One")
    answer = sh("log", "--json", "--limit", "1").json
    assert [c["artifact"] for c in answer["data"]["commits"]] == ["line one\nline two\n"]
    assert sh("log", "--limit", "1").out.splitlines()[-1] == "more: --cursor 2"
    assert sh("note", "x", "--branch", "nowhere").code == 3


def test_branches_are_made_checked_out_renamed_and_deleted(sh: Shell) -> None:
    sh("note", "n")
    assert sh("branch", "idea/a", "--checkout").out.splitlines()[-1] == "on idea/a"
    assert sh("note", "on it").out == "notes@5 on idea/a\n"
    assert sh("branch", "idea/a", "--rename", "idea/b").out == "idea/a is now idea/b\n"
    assert sh("branch", "main", "-c").out == "on main\n"
    assert "* " in sh("branch").out.splitlines()[2]
    assert sh("diff", "main", "idea/b").out.splitlines()[1] == "    on it"
    assert sh("diff", "idea/b", "main").out == "main has nothing that idea/b does not have\n"
    assert sh("branch", "idea/b", "--delete").code == 4
    gone, restore = sh("branch", "idea/b", "--delete", "--force").out.splitlines()
    assert gone == "idea/b is deleted"
    assert sh(*restore.partition("longhouse ")[2].split()).out.endswith("is now idea/b\n")
    assert sh("branch", "idea/b", "--delete", "--force").code == 0
    assert [b["name"] for b in sh("branch", "--json").json["data"]["branches"]] == ["main"]
    assert sh("branch", "main", "--delete").code == 4
    assert sh("branch", "--delete").code == 2


def test_a_graph_is_drawn_whatever_its_labels_hold(sh: Shell) -> None:
    assert sh("graph").out == "no nodes in graph on main\n"
    ops = (
        '{"ops": [{"op": "node_upsert", "id": "A", "type": "test", "title": "a \\"<b>\\" & c",'
        ' "status": "open", "tags": ["red"]}, {"op": "node_upsert", "id": "B b", "type": "x"},'
        ' {"op": "edge_upsert", "from": "A", "rel": "leads to", "to": "B b"}]}'
    )
    assert sh("call", "graph.apply", ops).code == 0
    assert sh("graph").out.splitlines() == [
        "B b x",
        'A test [open]  a "<b>" & c  #red',
        "    leads to → B b",
    ]
    assert sh("graph", "--mermaid").out.splitlines() == [
        "flowchart LR",
        '    n0["B b"]',
        '    n1["A (open)<br>a &quot;&lt;b&gt;&quot; &amp; c"]',
        '    n1 -->|"leads to"| n0',
    ]
    dot = sh("graph", "--dot").out.splitlines()
    assert '    "A" [label="A (open)\\na \\"<b>\\" & c"];' in dot
    assert '    "A" -> "B b" [label="leads to"];' in dot
    assert sh("graph", "--type", "test", "--tag", "red", "--text", "c").out.startswith("A test")
    assert len(sh("graph", "--json").json["data"]["nodes"]) == 2
