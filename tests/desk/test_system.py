"""`system.*` and `open`: what the house says about itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.house import House
from longhouse.kernel.registry import PORTALS
from tests.kit import Lh

ROOT = Path(__file__).parents[2]


@pytest.mark.proves("MEM-023", "MEM-024", "MEM-025")
def test_init_makes_main_and_checks_it_out_and_changes_nothing_again(lh: Lh) -> None:
    made = lh("system.init")
    made.pop("truncated")
    assert made == {
        "workspace": "acme",
        "storage_dir": str(lh.house.settings.dir),
        "schema_version": lh.house.facts.schema_version,
        "checkout": "main",
        "defaults": {
            "branch": "main",
            "docs": {"notes": "notes", "graph": "graph", "trace": "trace"},
        },
    }
    seq = lh("status")["seq"]
    assert lh("system.init")["checkout"] == "main"
    assert lh("status")["seq"] == seq
    assert [row["name"] for row in lh("vcs.branch.list")["branches"]] == ["main"]
    worked = {"workspace": "worked-in"}
    lh("tasks.plan.create", title="P", **worked)
    assert lh("status", **worked)["checkout"] is None
    assert lh("system.init", **worked)["checkout"] == lh("status", **worked)["checkout"] == "main"
    lh("vcs.branch.create", name="idea/a")
    lh("vcs.checkout", ref="idea/a")
    assert lh("system.init")["checkout"] == lh("status")["checkout"] == "idea/a"


@pytest.mark.proves("MEM-033")
@pytest.mark.parametrize("max_chars", [60, 200, 1_000, 5_000])
def test_help_is_bounded_and_needs_no_workspace(
    new_house: Callable[..., House], max_chars: int
) -> None:
    answer = new_house(workspace=None).call("system.help", {"max_chars": max_chars})
    assert answer.envelope["result"]["budget"]["used_chars"] <= max_chars
    assert answer.envelope["result"]["text"].startswith("Longhouse")


@pytest.mark.proves("MEM-034")
@pytest.mark.parametrize(
    "section, words",
    [
        ("CALL", ["op=call", "fmt=lines", "max_chars", "actions", "error"]),
        ("DAY", ["status", "tasks.macro.start", "tasks.snapshot", "tasks.macro.close.step"]),
        ("REFS", ["notes@12", "TASK-001", "JOB-001@45"]),
        ("TAGS", ["v:canon", "v:draft", "pinned", "step:", "a:", "counter"]),
        ("PROOF", ["CMD:", "LINK:", "ref"]),
    ],
)
def test_help_explains_protocol_tags_proof_and_the_day(
    lh: Lh, section: str, words: list[str]
) -> None:
    sections = dict(part.split("\n", 1) for part in lh("system.help")["text"].split("\n\n")[1:])
    assert [word for word in words if word not in sections[section]] == []
    named = re.findall(r"(?<![=a-z])[a-z]+\.[a-z.]+[a-z]", sections[section])
    assert [cmd for cmd in named if cmd not in lh.house.registry.commands] == []


def test_schema_get_describes_every_command_with_a_call_that_is_valid(lh: Lh) -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    anchors = {re.sub(r"[^a-z0-9_-]", "", h) for h in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}
    for command in lh.house.registry:
        schema = lh("system.schema.get", cmd=command.cmd, budget_profile="audit")
        assert schema["doc_ref"]["path"] == "docs/commands.md"
        assert schema["doc_ref"]["anchor"] in anchors
        call = schema["example_valid_call"]
        cmd, args = lh.house.dispatcher.call_portal(call["tool"], call["args"])
        assert cmd == command.cmd
        assert schema["example_minimal_args"].items() <= args.items()
        assert set(schema["args_schema"].get("required", [])) == set(schema["example_minimal_args"])


@pytest.mark.parametrize(
    "toolset, tiers",
    [("core", {"gold"}), ("daily", {"gold", "advanced"}), ("full", {"gold", "advanced", "audit"})],
)
def test_a_toolset_chooses_what_is_listed_and_never_what_can_be_called(
    new_house: Callable[..., House], toolset: str, tiers: set[str]
) -> None:
    house = new_house(toolset=toolset)
    wide = {"limit": 500, "budget_profile": "audit"}
    listed = house.call("system.cmd.list", wide).envelope["result"]
    known = {c.cmd: c.tier for c in house.registry}
    assert {row["cmd"] for row in listed["cmds"]} == {c for c, t in known.items() if t in tiers}
    assert listed["hidden"] == len(known) - len(listed["cmds"])
    assert house.call("system.storage", {}).success
    full = house.call("system.cmd.list", {**wide, "toolset": "full"}).envelope["result"]
    assert full["hidden"] == 0
    assert full["pagination"]["total"] == len(known)


@pytest.mark.parametrize("max_chars", [500, 900, 20_000])
def test_paging_through_the_commands_meets_each_once_whatever_the_budget(
    lh: Lh, max_chars: int
) -> None:
    met: list[str] = []
    offset = 0
    while True:
        page = lh("system.cmd.list", offset=offset, limit=7, max_chars=max_chars)
        met += [row["cmd"] for row in page["cmds"]]
        if not page["pagination"]["has_more"]:
            break
        offset = page["pagination"]["next_cursor"]
    assert sorted(met) == sorted(c.cmd for c in lh.house.registry if c.tier != "audit")


def test_the_summary_counts_ten_tools_and_every_command(lh: Lh) -> None:
    summary = lh("system.ops.summary")
    assert summary["surface"]["tools"] == {"count": 10, "names": list(PORTALS)}
    assert summary["registry"]["cmd"]["count"] == len(list(lh.house.registry))


@pytest.mark.parametrize(
    "old, new",
    [
        ("notes_commit", "vcs.notes.commit"),
        ("show", "docs.show"),
        ("init", "system.init"),
        ("tasks_jobs_create", "jobs.create"),
        ("macro_branch_note", "think.idea.branch.create"),
        ("mcp/longhouse/show", "docs.show"),
        ("tasks_mindpack", "tasks.resume.super"),
    ],
)
def test_an_old_name_is_found_with_a_call_to_make(lh: Lh, old: str, new: str) -> None:
    assert lh("system.migration.lookup", old_name=old)["cmd"] == new


def test_an_old_name_that_nothing_stands_for_is_unknown(lh: Lh) -> None:
    envelope = lh.envelope("system.migration.lookup", old_name="vcs_note_commit")
    assert envelope["error"]["code"] == "UNKNOWN_ID"
    lh.run_actions(envelope)


@pytest.mark.proves("MEM-118")
def test_diagnostics_names_what_to_mend_and_the_calls_that_mend_it(lh: Lh) -> None:
    envelope = lh.envelope("system.diagnostics")
    found = envelope["result"]
    assert found["context_health"]["codes"] == ["NO_CHECKOUT", "CONTEXT_EMPTY"]
    first_note = "write down what you are working on, with vcs.notes.commit"
    assert found["issues"][1]["recovery"] == first_note
    assert found["golden_path"][0] == "tasks.macro.start"
    assert (found["workspace"], found["checkout"], found["focus"], found["target"]) == (
        "acme",
        None,
        None,
        None,
    )
    lh.run_actions(envelope, content="What we do.", task_title="Ours")
    assert lh("system.diagnostics")["context_health"] == {"status": "ok", "codes": []}
    assert found.keys() >= {"context_health", "golden_path", "truncated"}
    for args in ({"task": "TASK-001"}, {"target": "TASK-001"}):
        assert lh("system.diagnostics", **args)["target"] == "TASK-001"
    assert lh("system.diagnostics", plan="PLAN-001", max_chars=300)["budget"]["max_chars"] == 300
    assert lh.refused("system.diagnostics", task="TASK-099")["code"] == "UNKNOWN_ID"
    assert lh.refused("system.diagnostics", task="TASK-001", plan="PLAN-001")["hints"]


@pytest.mark.proves("MEM-056")
def test_open_finds_an_entry_by_seq_and_minds_the_document(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    assert lh("open", id="notes@1")["entry"]["content"] == "x"
    error = lh.refused("open", id="trace@1")
    assert error["code"] == "UNKNOWN_ID"
    assert "notes" in error["message"]


@pytest.mark.proves("MEM-063")
@pytest.mark.parametrize("wrong", ["notes@99", "JOB-999", "nonsense", "@1", "notes@", "é@1"])
def test_open_refuses_an_unknown_id_with_a_way_on(lh: Lh, wrong: str) -> None:
    error = lh.refused("open", id=wrong)
    assert error["code"] == "UNKNOWN_ID"
    assert error["recovery"]


@pytest.mark.proves("MEM-047")
def test_open_gives_the_full_text_or_says_that_it_was_cut(lh: Lh) -> None:
    lh("vcs.notes.commit", content="y" * 3_000)
    whole = lh("open", id="notes@1")
    assert whole["truncated"] is False
    assert len(whole["entry"]["content"]) == 3_000
    cut = lh("open", id="notes@1", max_chars=1_000)
    assert cut["truncated"] is True
    assert 500 < len(cut["entry"]["content"]) < 1_000, "as much as the budget allows"
    assert cut["budget"]["used_chars"] <= 1_000
    assert cut["ref"] == "notes@1"
    assert cut == lh("open", id="notes@1", max_chars=1_000)
    job = lh("jobs.create", title="Look", prompt="Look at it.")["job"]["id"]
    lh("jobs.message", job=job, message="there")
    assert [len(lh("open", id=job, limit=limit)["events"]) for limit in (1, 2)] == [1, 2]
