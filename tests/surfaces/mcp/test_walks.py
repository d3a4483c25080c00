"""The manual's walks over MCP: a lost process, and a contradiction. Each client is a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.surfaces.mcp.test_clients import call, over_stdio, text_of


async def run(client: Any, cmd: str, **args: Any) -> dict[str, Any]:
    answer, failed = await call(
        client, cmd.partition(".")[0], op="call", cmd=cmd, args={**args, "fmt": "json"}
    )
    assert not failed, answer["error"]
    result: dict[str, Any] = answer["result"]
    return result


async def test_whoever_comes_after_a_lost_process_goes_on_from_one_call(tmp_path: Path) -> None:
    async with over_stdio(tmp_path, "modern") as lost:
        steps = [
            {"title": "Measure", "success_criteria": ["It is measured"]},
            {
                "title": "Swap the alias",
                "success_criteria": ["No search fails meanwhile"],
                "tests": ["make test-swap"],
            },
        ]
        await run(lost, "tasks.macro.start", task_title="Rebuild the index", steps=steps)
        said = "Decision: swap by alias. Rejected: writing both indexes."
        await run(lost, "tasks.macro.close.step", proof="CMD: make bench (exit 0)", note=said)
        failed = ["CMD: make test-swap (exit 3)"]
        await run(lost, "tasks.evidence.capture", checks=failed, checkpoint="tests")
    async with over_stdio(tmp_path, "handshake") as next_one:
        asked = {"op": "call", "cmd": "tasks.resume.super", "args": {"fmt": "lines"}}
        lines = (await text_of(next_one, "tasks", **asked)).split("\n")
        known = [line.rpartition(" | ")[0] or line for line in lines]
        assert known[1:9] == [  # the rest of the room is for the same at length
            "TASK-001 TODO Rebuild the index; 1/2 steps done",
            "step s:1 Swap the alias; needs criteria tests",
            "done when No search fails meanwhile",
            "test make test-swap",
            f"decision {said}",
            "failing CMD: make test-swap (exit 3) of s:1",
            "evidence CMD: make bench (exit 0) of s:0",
            "plan Inbox",
        ]
        for ref in [line.rpartition(" | ")[2] for line in lines[1:-1] if " | " in line]:
            opened, failed_to = await call(next_one, "open", id=ref)
            assert not failed_to, opened
        resumed = await run(next_one, "tasks.resume.super")
        action = resumed["capsule"]["action"]
        shown, failed_to = await call(next_one, action["tool"], **action["args"])
        assert not failed_to
        assert shown["result"]["step_focus"]["path"] == "s:1"


async def test_a_contradiction_is_seen_tested_and_packed_and_a_card_must_exist(
    tmp_path: Path,
) -> None:
    async with over_stdio(tmp_path, "modern") as client:
        for card, links in (
            ({"id": "CARD-H1", "type": "hypothesis", "title": "The database is slow"}, {}),
            ("type: evidence\nid: CARD-E1\ntitle: It takes 700 ms", {"supports": ["CARD-H1"]}),
            ({"id": "CARD-E2", "type": "evidence", "title": "Not here"}, {"blocks": ["CARD-H1"]}),
        ):
            await run(client, "think.card", card=card, **links)
        engine = (await run(client, "think.watch"))["engine"]
        codes = {one["code"] for one in engine["signals"]}
        assert codes >= {"BM1_CONTRADICTION_SUPPORTS_BLOCKS", "BM4_HYPOTHESIS_NO_TEST"}
        for action in engine["actions"]:
            for one in action["calls"]:
                answer, failed = await call(client, one["tool"], **one["args"])
                assert not failed, answer
        after = {one["code"] for one in (await run(client, "think.watch"))["engine"]["signals"]}
        assert "BM4_HYPOTHESIS_NO_TEST" not in after, "the offered test was written"
        pack = await run(client, "think.context.pack")
        assert {"CARD-H1", "CARD-E1", "CARD-E2"} <= {one["id"] for one in pack["cards"]}
        link = {"from": "CARD-H1", "rel": "supports", "to": "CARD-H2"}
        refused, failed = await call(client, "think", op="call", cmd="think.link", args=link)
        assert (failed, refused["error"]["code"]) == (True, "UNKNOWN_ID")
        assert "there is no card CARD-H2" in refused["error"]["message"]
