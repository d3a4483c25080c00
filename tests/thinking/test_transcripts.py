"""Transcripts: found, opened and summarized, within bounds, and never stored."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.surfaces.mcp.tools import tool_list
from longhouse.thinking.transcripts.folders import root_of
from longhouse.thinking.transcripts.messages import message_of
from tests.contracts.world import fingerprint
from tests.kit import Lh, ManualClock
from tests.thinking.world import codex, said_in_codex, transcript


def session(
    lh: Lh, *said: tuple[str, str], cwd: str | None = None, name: str = "s.jsonl", **more: Any
) -> Path:
    where = cwd or str(lh.house.settings.project_root)
    head = codex(
        "session_meta", id=more.pop("id", "s-1"), cwd=where, timestamp="2026-01-01T00:00:00Z"
    )
    return transcript(lh, head, *(said_in_codex(*one) for one in said), name=name, **more)


def aged(path: Path, seconds: int) -> Path:
    """Make a file this much older than the others."""
    at = 1_700_000_000 - seconds
    os.utime(path, (at, at))
    return path


def snippets(result: dict[str, Any]) -> list[str]:
    return [hit["message"]["snippet"] for hit in result["hits"]]


@pytest.mark.proves("MEM-213", "MEM-215", "MEM-218", "MEM-221", "MEM-222", "MEM-223")
def test_what_was_said_is_found_below_the_root(lh: Lh) -> None:
    path = session(
        lh,
        ("user", "Why is the Cache cold?"),
        ("assistant", "The cache is cold."),
        name="2026/01/a.jsonl",
    )
    for suffix in (".md", ".json", ".jsonl.bak"):
        path.with_name(f"a{suffix}").write_text(path.read_text(encoding="utf-8"))
    before = fingerprint(lh)
    root = str(lh.house.settings.project_root)
    result = lh("docs.transcripts.search", query="cache", context_chars=4, dedupe=False)
    assert result.keys() >= {"root_dir", "filters", "scanned", "projects", "hits", "truncated"}
    assert result["root_dir"] == str(lh.house.settings.transcripts[0])
    assert result["filters"] == {"cwd_prefix": root, "dedupe": False}
    assert result["scanned"] == {"files": 1, "bytes": path.stat().st_size, "truncated": False}
    assert result["truncated"] is False
    (hit,) = result["hits"]
    assert hit["ref"] == {"path": "2026/01/a.jsonl", "line": 3}
    assert hit["session"] == {"id": "s-1", "ts": "2026-01-01T00:00:00Z", "cwd": root}
    (project,) = result["projects"]
    assert hit["project"] == {key: project[key] for key in ("id", "name", "confidence")}
    assert (project["name"], project["confidence"]) == (Path(root).name, "high")
    assert hit["message"] == {
        "role": "assistant",
        "ts": "2026-01-01T00:00:01Z",
        "snippet": "The cache is …",
    }
    assert snippets(lh("docs.transcripts.search", query="Cache")) == ["Why is the Cache cold?"]
    around = lh("docs.transcripts.search", query=" is ", role="assistant", context_chars=2)
    assert snippets(around) == ["…he is co…"], "as much on either side"
    below = lh("docs.transcripts.search", query="cache", cwd_prefix=f"{root}/below")
    assert (below["filters"]["cwd_prefix"], below["hits"]) == (f"{root}/below", [])
    assert lh("docs.transcripts.search", query="cache", role="user")["hits"] == []
    assert lh("docs.transcripts.search", query="payload")["hits"] == [], "only what was said"
    whole = lh(
        "docs.transcripts.search",
        query="cache",
        root_dir="codex",
        cwd_prefix=root,
        role="assistant",
        dedupe=True,
        max_files=1,
        max_bytes_total=1 << 20,
        hits_limit=1,
        context_chars=0,
        max_chars=4000,
    )
    assert whole["filters"] == {"cwd_prefix": root, "role": "assistant", "dedupe": True}
    assert snippets(whole) == ["…cache…"]
    assert fingerprint(lh) == before


@pytest.mark.proves("MEM-212")
def test_looking_at_transcripts_keeps_nothing_of_them(lh: Lh) -> None:
    session(lh, ("assistant", "Summary: the cache is cold."))
    before = fingerprint(lh)
    assert lh("docs.transcripts.search", query="cache")["hits"]
    assert lh("docs.transcripts.open", ref={"path": "s.jsonl", "line": 2})["entries"]
    assert lh("docs.transcripts.digest")["digest"]
    assert fingerprint(lh) == before
    assert lh("docs.search", text="cache")["hits"] == []


@pytest.mark.proves("MEM-214")
def test_the_folders_are_those_of_the_clients_and_of_the_person(tmp_path: Path) -> None:
    def roots(**environ: str) -> list[str]:
        made = load({"dir": str(tmp_path / "store")}, environ=environ, cwd=tmp_path)
        return [str(path) for path in made.transcripts]

    assert roots(HOME="/home/ann") == ["/home/ann/.codex/sessions", "/home/ann/.claude/projects"]
    assert roots(HOME="/h", CODEX_HOME="/c", CLAUDE_CONFIG_DIR="/k")[:2] == [
        "/c/sessions",
        "/k/projects",
    ]
    assert roots(HOME="/h", LONGHOUSE_TRANSCRIPTS="/a:/b")[2:] == ["/a", "/b"]


@pytest.mark.proves("MEM-216", "MEM-217")
def test_only_sessions_of_the_project_are_looked_at(lh: Lh) -> None:
    root = str(lh.house.settings.project_root)
    session(lh, ("user", "cache here"), name="a.jsonl")
    session(lh, ("user", "cache below"), cwd=f"{root}/web", name="b.jsonl")
    session(lh, ("user", "cache beside"), cwd=f"{root}-other", name="c.jsonl")
    session(lh, ("user", f"cache <cwd>{root}</cwd>"), cwd="/elsewhere", name="d.jsonl")
    session(
        lh,
        ("developer", f"# AGENTS.md instructions for {root}/x"),
        ("user", "cache agents"),
        cwd="/y",
        name="e.jsonl",
    )
    transcript(
        lh,
        codex("session_meta", id="f", cwd="/z", instructions=f"<cwd>{root}</cwd>"),
        said_in_codex("user", "cache instructed"),
        name="f.jsonl",
    )
    small_talk = [("user", f"line {number}") for number in range(12)]
    late = (*small_talk, ("user", f"cache late <cwd>{root}</cwd>"))
    session(lh, *late, cwd="/late", name="g.jsonl")
    result = lh("docs.transcripts.search", query="cache")
    assert result["filters"]["cwd_prefix"] == root
    assert {text.split()[1] for text in snippets(result)} == {
        "here",
        "below",
        f"<cwd>{root}</cwd>",
        "agents",
        "instructed",
    }
    elsewhere = lh("docs.transcripts.search", query="cache", cwd_prefix=f"{root}-other/")
    assert snippets(elsewhere) == ["cache beside"]


@pytest.mark.proves("MEM-219", "MEM-224")
def test_what_was_said_twice_is_shown_once(lh: Lh) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        session(lh, ("user", "the cache"), ("assistant", "the cache"), name=name)
    result = lh("docs.transcripts.search", query="cache")
    assert [hit["message"]["role"] for hit in result["hits"]] == ["user", "assistant"]
    (project,) = result["projects"]
    assert (project["files"], project["hits"]) == (2, 2)
    assert project.keys() == {"id", "name", "confidence", "files", "hits"}
    assert len(lh("docs.transcripts.search", query="cache", dedupe=False)["hits"]) == 4
    web = f"{lh.house.settings.project_root}/web"
    session(lh, ("user", "the cache"), cwd=web, name="c.jsonl")
    both = lh("docs.transcripts.search", query="cache")
    assert len(both["hits"]) == 3, "said in another project, too"
    assert [(one["files"], one["hits"]) for one in both["projects"]] == [(2, 2), (1, 1)]
    assert [one["name"] for one in both["projects"]] == [project["name"], "web"]


@pytest.mark.proves("MEM-219")
def test_what_was_said_in_other_words_is_no_repetition(lh: Lh) -> None:
    session(lh, ("user", "the cache"), ("user", "the cache is cold"), name="a.jsonl")
    session(lh, ("user", "the cache"), ("user", "the cache is warm"), name="b.jsonl")
    found = snippets(lh("docs.transcripts.search", query="cache", context_chars=40))
    assert sorted(found) == ["the cache", "the cache is cold", "the cache is warm"]
    same_start = "the cache " + "x" * 5_000
    session(lh, ("user", same_start + "1"), ("user", same_start + "2"), name="c.jsonl")
    assert len(lh("docs.transcripts.search", query="cache xx")["hits"]) == 2


@pytest.mark.proves("MEM-213", "MEM-220", "MEM-225")
def test_a_search_stays_within_its_bounds_and_says_so(lh: Lh) -> None:
    for number in range(4):
        aged(session(lh, ("user", f"cache {number} " + "x" * 3000), name=f"{number}.jsonl"), number)
    some = lh.envelope("docs.transcripts.search", query="cache", max_files=2)
    assert some["result"]["scanned"]["files"] == 2
    assert snippets(some["result"])[0].startswith("cache 0"), "newest files first"
    assert [one["code"] for one in some["warnings"]] == ["TRANSCRIPTS_MAX_FILES_REACHED"]
    few = lh.envelope("docs.transcripts.search", query="cache", max_bytes_total=4000)
    assert few["result"]["scanned"]["truncated"] is True
    assert few["result"]["scanned"]["bytes"] <= 4000
    assert few["result"]["truncated"] is False
    assert "TRANSCRIPTS_SCAN_TRUNCATED" in [one["code"] for one in few["warnings"]]
    cut = lh("docs.transcripts.search", query="cache", max_chars=900)
    assert (cut["truncated"], cut["scanned"]["truncated"]) == (True, False)
    assert cut["budget"]["used_chars"] <= 900
    one = lh("docs.transcripts.search", query="cache", hits_limit=1)
    assert (len(one["hits"]), one["has_more_hits"]) == (1, True)
    sizes = sum(path.stat().st_size for path in lh.house.settings.transcripts[0].iterdir())
    assert lh("docs.transcripts.search", query="nowhere")["scanned"]["bytes"] == sizes
    session(lh, ("user", "cache"), cwd="/elsewhere", name="foreign.jsonl")
    foreign = lh("docs.transcripts.search", query="cache", max_files=1)
    assert (foreign["scanned"]["files"], foreign["hits"]) == (1, []), "it was opened, too"


@pytest.mark.proves("MEM-221")
@pytest.mark.parametrize("query", ['say "hi"', "back\\slash", "größe", "a/b", "tab\tbed", "日本"])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_query_is_found_however_json_wrote_it(lh: Lh, query: str, ascii: bool) -> None:
    head = codex("session_meta", id="s", cwd=str(lh.house.settings.project_root))
    line = json.dumps(json.loads(said_in_codex("user", f"now {query} then")), ensure_ascii=ascii)
    transcript(lh, head, line)
    assert len(lh("docs.transcripts.search", query=query)["hits"]) == 1


def test_claude_sessions_are_read_too(lh: Lh) -> None:
    root = str(lh.house.settings.project_root)

    def line(kind: str, content: Any) -> str:
        common = {
            "type": kind,
            "sessionId": "c-1",
            "cwd": root,
            "timestamp": "2026-01-02T00:00:00Z",
        }
        return json.dumps({**common, "message": {"role": kind, "content": content}})

    transcript(
        lh,
        json.dumps({"type": "queue-operation", "operation": "x"}),
        line("user", "Warm the cache"),
        line("assistant", [{"type": "tool_use", "name": "Bash", "input": {"text": "cache"}}]),
        line("assistant", [{"type": "text", "text": "The cache is warm."}]),
        line("user", [{"type": "tool_result", "content": "cache output"}]),
        root=1,
        name="-w-acme/c-1.jsonl",
    )
    result = lh("docs.transcripts.search", query="cache", root_dir="claude")
    assert [(h["message"]["role"], h["ref"]["line"]) for h in result["hits"]] == [
        ("user", 2),
        ("assistant", 4),
    ]
    assert result["hits"][0]["session"] == {"id": "c-1", "ts": "2026-01-02T00:00:00Z", "cwd": root}
    assert result["root_dir"] == str(lh.house.settings.transcripts[1])


def test_broken_lines_cut_tails_and_growing_files_do_no_harm(lh: Lh) -> None:
    path = session(lh, ("user", "cache one"))
    with path.open("a") as file:
        file.write("{broken cache\n[1, 2]\nnull\n" + said_in_codex("user", "cache two") + "\n")
        file.write(said_in_codex("user", "cache three")[:-20])
    assert snippets(lh("docs.transcripts.search", query="cache")) == ["cache one", "cache two"]
    with path.open("a") as file:
        file.write(said_in_codex("user", "cache three")[-20:])
    assert len(lh("docs.transcripts.search", query="cache")["hits"]) == 3, "whole without newline"


@pytest.mark.proves("MEM-226", "MEM-228", "MEM-229")
def test_a_record_is_opened_by_line_or_by_byte(lh: Lh) -> None:
    path = session(lh, *(("user", f"said {number}") for number in range(20)))
    lines = path.read_bytes().split(b"\n")
    byte = sum(len(line) + 1 for line in lines[:9])
    by_line = lh(
        "docs.transcripts.open", ref={"path": "s.jsonl", "line": 10}, before_lines=2, after_lines=1
    )
    by_byte = lh(
        "docs.transcripts.open",
        ref={"path": "s.jsonl", "byte": byte},
        before_lines=2,
        after_lines=1,
    )
    root = lh.house.settings.project_root
    assert by_line["root_dir"] == str(lh.house.settings.transcripts[0])
    assert by_line["ref"] == {"path": "s.jsonl", "line": 10}
    assert by_byte["ref"] == {"path": "s.jsonl", "byte": byte}
    assert by_line["session"] == {"id": "s-1", "ts": "2026-01-01T00:00:00Z", "cwd": str(root)}
    assert by_line["project"].keys() == {"id", "name", "confidence"}
    assert (by_line["project"]["name"], by_line["project"]["confidence"]) == (root.name, "high")
    assert by_line["truncated"] is False
    where = {"root_dir": "codex", "ref": {"path": "s.jsonl", "line": 10}}
    cut = lh("docs.transcripts.open", **where, max_chars=600)
    assert (cut["truncated"], cut["budget"]["used_chars"] <= 600) == (True, True)
    texts = [entry["text"] for entry in by_line["entries"]]
    assert texts == ["said 6", "said 7", "said 8", "said 9"]
    assert [entry["text"] for entry in by_byte["entries"]] == texts
    assert [entry["byte"] for entry in by_byte["entries"]] == [
        e["byte"] for e in by_line["entries"]
    ]
    assert [entry.get("here", False) for entry in by_line["entries"]] == [False, False, True, False]
    inexact = lh.envelope(
        "docs.transcripts.open",
        ref={"path": "s.jsonl", "byte": byte + 3},
        before_lines=0,
        after_lines=0,
    )
    assert [entry["text"] for entry in inexact["result"]["entries"]] == ["said 8"]
    assert [one["code"] for one in inexact["warnings"]] == ["TRANSCRIPTS_REF_NOT_EXACT"]
    first = lh("docs.transcripts.open", ref={"path": "s.jsonl", "line": 1}, after_lines=1)
    assert [entry["text"] for entry in first["entries"]] == ["said 0"], "a header is not a message"
    for wrong in ({}, {"line": 1, "byte": 0}, {"line": 0}, {"byte": -1}):
        error = lh.refused("docs.transcripts.open", ref={"path": "s.jsonl", **wrong})
        assert error["code"] == "INVALID_INPUT"
    for beyond in ({"line": 99}, {"byte": 10**9}):
        error = lh.refused("docs.transcripts.open", ref={"path": "s.jsonl", **beyond})
        assert error["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-229")
def test_a_message_is_opened_with_all_its_blocks_and_what_says_nothing_is_left_out(lh: Lh) -> None:
    blocks = [{"type": "output_text", "text": text} for text in ("First.", "Second.")]
    silent = [{"type": "tool_use", "name": "bash", "input": {}}]
    root = str(lh.house.settings.project_root)
    transcript(
        lh,
        codex("session_meta", id="s-1", cwd=root, timestamp="2026-01-01T00:00:00Z"),
        codex("response_item", type="message", role="assistant", content=blocks),
        codex("response_item", type="message", role="assistant", content=silent),
        codex("response_item", type="function_call", name="bash", arguments="{}"),
        said_in_codex("user", "Third."),
        name="blocks.jsonl",
    )
    opened = lh("docs.transcripts.open", ref={"path": "blocks.jsonl", "line": 2}, after_lines=5)
    assert [entry["text"] for entry in opened["entries"]] == ["First.\nSecond.", "Third."]


@pytest.mark.proves("MEM-231")
def test_what_was_opened_can_be_kept_on_the_step_in_focus(lh: Lh) -> None:
    from tests.thinking.kit import task

    session(lh, ("user", "Why?"), ("assistant", "The cache is cold."))
    made = task(lh)
    asked = {"ref": {"path": "s.jsonl", "line": 3}}
    unfocused = lh.envelope("docs.transcripts.open", **asked)
    (kept,) = lh.run_actions(unfocused)
    assert "The cache is cold." in kept.envelope["result"]["note"]["content"]
    assert "step" not in kept.envelope["result"]["note"]["meta"]
    lh("tasks.focus.set", task=made["id"])
    answer = lh.envelope("docs.transcripts.open", **asked)
    for (action,) in (unfocused["actions"], answer["actions"]):
        assert (action["priority"], action["tool"]) == ("low", "think")
        assert "idea.branch.create" in str(action["args"])
    (kept,) = lh.run_actions(answer)
    note = kept.envelope["result"]["note"]
    assert "The cache is cold." in note["content"]
    assert note["meta"]["step"] == {
        "task_id": made["id"],
        "step_id": made["steps"][0]["step_id"],
        "path": "s:0",
    }


@pytest.mark.proves("MEM-230")
def test_opening_a_transcript_is_for_audits_and_in_no_default_portal(lh: Lh) -> None:
    cmd = "docs.transcripts.open"

    def listed(**args: Any) -> bool:
        return cmd in [row["cmd"] for row in lh("system.cmd.list", prefix="docs.", **args)["cmds"]]

    assert [listed(), listed(toolset="core"), listed(toolset="daily")] == [False] * 3
    assert listed(toolset="full")
    assert lh("system.schema.get", cmd=cmd)["tier"] == "audit"
    tools = tool_list(lh.house.registry)
    assert [tool["name"] for tool in tools if "transcripts.open" in str(tool)] == []


@pytest.mark.parametrize("cmd", ["search", "digest", "open"])
def test_what_was_said_is_safe_to_display(lh: Lh, cmd: str) -> None:
    hostile = "\x1b[2J\x1b]0;pwn\x07\u202e\x9b\r\x7f"
    root = str(lh.house.settings.project_root)
    head = codex("session_meta", id=f"s{hostile}", cwd=f"{root}/a{hostile}", timestamp=hostile)
    said = json.loads(said_in_codex("assistant", f"Summary: cache {hostile}, tab\tand\nline"))
    said["timestamp"] = hostile
    transcript(lh, head, json.dumps(said), name="s.jsonl")
    asked: dict[str, dict[str, Any]] = {
        "search": {"query": "cache"},
        "digest": {},
        "open": {"ref": {"path": "s.jsonl", "line": 2}},
    }
    answer = lh(f"docs.transcripts.{cmd}", **asked[cmd])
    assert answer.get("hits") or answer.get("digest") or answer.get("entries")
    shown = json.dumps(answer, ensure_ascii=False)
    assert not set(hostile) & {"\x1b", "\u202e", "\x9b", "\x7f"} & set(shown)
    assert "\\u001b" not in shown
    assert "\\u0007" not in shown
    assert "cache ␛[2J␛]0;pwn␇\ufffd\ufffd␍␡, tab\\tand\\nline" in shown


@pytest.mark.proves("MEM-214")
def test_of_several_folders_the_first_that_exists_is_searched(
    new_house: Callable[..., House], clock: ManualClock, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("none", "first", "second")]
    lh = Lh(new_house(transcripts=tuple(folders)), clock)
    root = str(lh.house.settings.project_root)
    for folder in folders[1:]:
        folder.mkdir()
        head = codex("session_meta", id=folder.name, cwd=root, timestamp="2026-01-01T00:00:00Z")
        lines = [head, said_in_codex("assistant", "Summary: cache")]
        (folder / "s.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for answer, key in (
        (lh("docs.transcripts.search", query="cache"), "hits"),
        (lh("docs.transcripts.digest"), "digest"),
    ):
        assert answer["root_dir"] == str(folders[1])
        assert [one["session"]["id"] for one in answer[key]] == ["first"]
    named = lh("docs.transcripts.digest", root_dir=str(folders[2]))
    assert named["digest"][0]["session"]["id"] == "second"


def test_no_transcripts_is_an_answer(lh: Lh) -> None:
    error = lh.refused("docs.transcripts.search", query="x")
    assert error["code"] == "UNKNOWN_ID"
    assert "LONGHOUSE_TRANSCRIPTS" in error["recovery"]


def test_memory_stays_flat_however_large_a_file_and_a_line_are(lh: Lh) -> None:
    """A line of 100 MiB is skipped, and what follows is found with its line and byte."""
    path = session(lh, ("user", "cache before"))
    with path.open("ab") as file:
        file.seek(100 << 20, os.SEEK_CUR)
        file.write(b"\n" + said_in_codex("user", "cache after").encode() + b"\n")
    asked = {"query": "cache", "max_bytes_total": 1 << 30}
    tracemalloc.start()
    found = lh("docs.transcripts.search", **asked)
    opened = lh("docs.transcripts.open", ref={"path": "s.jsonl", "line": 4}, before_lines=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [hit["ref"]["line"] for hit in found["hits"]] == [2, 4]
    assert [entry["text"] for entry in opened["entries"]] == ["cache after"]
    assert peak < 64 << 20


@pytest.mark.parametrize("cmd", ["search", "digest", "open"])
def test_files_are_never_read_on_an_event_loop(
    lh: Lh, cmd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(lh, ("user", "cache"))
    args = {"search": {"query": "x"}, "open": {"ref": {"path": "s.jsonl", "line": 1}}}.get(cmd, {})
    read_by: list[int] = []
    module = "opening" if cmd == "open" else cmd

    def noted(tx: Any, asked: str | None) -> Any:
        read_by.append(threading.get_ident())
        return root_of(tx, asked)

    monkeypatch.setattr(f"longhouse.thinking.transcripts.{module}.root_of", noted)
    call = lh.house.dispatcher.call_async(f"docs.transcripts.{cmd}", args, Caller(Role.AGENT))
    assert asyncio.run(call).success
    assert read_by
    assert threading.get_ident() not in read_by


@pytest.mark.parametrize(
    "payload, said",
    [
        ({"type": "item_completed", "item": {"type": "UserMessage", "content": "go"}}, "go"),
        (
            {
                "type": "item_completed",
                "item": {"type": "UserMessage", "content": [{"type": "text", "text": "on"}]},
            },
            "on",
        ),
        ({"type": "item_completed", "item": {"type": "Reasoning", "content": "go"}}, None),
        ({"type": "item_started", "item": {"type": "UserMessage", "content": "go"}}, None),
        ({"type": "item_completed", "item": "UserMessage"}, None),
        ({"type": "message", "role": "assistant", "content": "done"}, "done"),
    ],
)
def test_messages_of_newer_rollouts_are_read(payload: dict[str, Any], said: str | None) -> None:
    found = message_of({"timestamp": "2027-01-15", "payload": payload})
    assert (found.text if found else None) == said
    assert found is None or found.role == ("assistant" if said == "done" else "user")
