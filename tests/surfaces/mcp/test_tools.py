"""The ten tools as they are advertised."""

from __future__ import annotations

import json
import re

import pytest

from longhouse.house import registry
from longhouse.kernel.lines import gist
from longhouse.kernel.registry import PORTALS
from longhouse.surfaces.mcp.tools import INSTRUCTIONS, tool_list
from tests.kit import Lh

TOOLS = {tool["name"]: tool for tool in tool_list(registry())}


@pytest.mark.parametrize("name", PORTALS)
def test_hints_claim_only_what_holds_for_every_command_of_the_tool(name: str) -> None:
    commands = [c for c in registry() if c.portal == name]
    hints = TOOLS[name]["annotations"]
    if hints["readOnlyHint"]:
        assert not any(c.writes for c in commands)
    if hints["idempotentHint"]:
        assert all(c.idempotent for c in commands)
    if not hints["destructiveHint"]:
        assert not any(c.destructive for c in commands)
    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def test_status_and_open_only_read() -> None:
    assert [name for name in ("status", "open") if TOOLS[name]["annotations"]["readOnlyHint"]] == [
        "status",
        "open",
    ]
    assert not TOOLS["jobs"]["annotations"]["readOnlyHint"]


def test_the_whole_list_costs_a_client_at_most_ten_thousand_bytes() -> None:
    assert len(json.dumps({"tools": list(TOOLS.values())}, separators=(",", ":"))) <= 9_800


@pytest.mark.parametrize("name", [name for name in PORTALS if name not in ("status", "open")])
def test_a_portal_offers_its_golden_ops_and_the_way_to_every_other_command(name: str) -> None:
    schema = TOOLS[name]["inputSchema"]
    assert schema["properties"]["op"]["enum"] == [*registry().ops_of(name), "call"]
    assert set(schema["properties"]) == {
        "workspace",
        "op",
        "cmd",
        "args",
        "fmt",
        "budget_profile",
    }
    assert schema["required"] == ["op"]


def test_status_and_open_take_their_arguments_flat() -> None:
    assert set(TOOLS["status"]["inputSchema"]["properties"]) == {
        "view",
        "workspace",
        "max_chars",
        "fmt",
        "budget_profile",
        "agent",
        "agent_token",
    }
    assert TOOLS["open"]["inputSchema"]["required"] == ["id"]


def test_tools_help_and_skills_promise_no_command_that_is_not_there(lh: Lh) -> None:
    skills = [
        lh("system.skill", profile=profile)["text"]
        for profile in ("daily", "strict", "research", "teamlead")
    ]
    tools = [tool["description"] for tool in TOOLS.values()]
    said = [INSTRUCTIONS, *tools, *skills, lh("system.help")["text"]]
    families = {command.cmd.partition(".")[0] for command in lh.house.registry} | {"tool"}
    word = rf"\b(?:{'|'.join(sorted(families))})\.[a-z_.]*[a-z]\b|\b[a-z]+\.\*"
    named = {found for text in said for found in re.findall(word, text)}
    assert "jobs.create" in named
    known = [*lh.house.registry.commands, *(f"{family}.*" for family in families)]
    assert not named - set(known)


def test_the_descriptions_name_what_lies_behind_each_tool() -> None:
    for name, words in {
        "workspace": "register reserve release inbox send handoff agents.",
        "jobs": "process task_spawn task_list output_fetch task_cancel tool.",
        "tasks": "macro.start focus.set note complete delete history",
        "docs": "search artifacts transcripts",
    }.items():
        missing = [word for word in words.split() if word not in TOOLS[name]["description"]]
        assert not missing, name


def test_no_summary_is_cut_in_a_word() -> None:
    for command in registry():
        for most in range(30, 80):
            short = gist(command.summary, most)
            assert len(short) <= most
            kept = short.removesuffix("…")
            rest = command.summary[len(kept) :]
            assert command.summary.startswith(kept)
            assert not rest or not (kept[-1].isalnum() and rest[0].isalnum()), short
