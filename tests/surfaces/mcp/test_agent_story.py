"""An agent's first hour with nothing but `tools/list` and what answers say, over MCP's own texts.

It sends what comes naturally. Each refusal counts as a wrong guess, and the story continues with
the call that the refusal suggests. Wrong guesses and characters read are counted against a budget.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longhouse.surfaces.mcp.tools import tool_list
from tests.kit import Lh

WRONG_GUESSES = 7
CHARACTERS = 32_000
STATUS = 900


class Agent:
    """Calls tools, reads the text of every answer, and follows the suggestions of refusals."""

    def __init__(self, lh: Lh) -> None:
        self.lh = lh
        self.wrong: list[str] = []
        tools = msgspec.json.encode(tool_list(lh.house.registry)).decode()
        self.read = len(tools)
        self.tools = {tool["name"] for tool in msgspec.json.decode(tools)}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The final outcome."""
        for _ in range(3):
            assert tool in self.tools
            text = self.lh.portal(tool, **arguments).lean()
            self.read += len(text)
            answer: dict[str, Any] = msgspec.json.decode(text)
            if answer["success"]:
                return answer
            self.wrong.append(f"{tool} {arguments}: {answer['error']['message']}")
            tool, arguments = self._offered(answer)
        raise AssertionError(self.wrong)

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A deliberate refusal, which does not count as a wrong guess."""
        text = self.lh.portal(tool, **arguments).lean()
        self.read += len(text)
        answer: dict[str, Any] = msgspec.json.decode(text)
        assert not answer["success"]
        return answer

    def _offered(self, answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The refused call, corrected."""
        mended = [
            one
            for one in answer["actions"]
            if one["action_id"].startswith(("recover.portal", "recover.argument"))
        ]
        assert mended, answer
        return mended[0]["tool"], mended[0]["args"]


@pytest.fixture
def agent(lh: Lh) -> Agent:
    return Agent(lh)


def test_an_agent_finds_its_way_from_nothing_to_proved_work(lh: Lh, agent: Agent) -> None:
    first = agent.call("status")
    assert first["actions"], "a newcomer is told what to do"
    started = agent.call(
        "tasks", op="start", args={"title": "Rewrite the parser", "steps": ["Measure", "Mend"]}
    )
    task = started["result"]["task_id"]
    agent.call("vcs", op="note", args={"text": "The tokenizer takes 80 % of the time."})
    assert "Measure" in started["result"]["next"], "what to do"
    why = started["actions"][0]["why"]
    assert "close it with proof: tasks.macro.close.step" in why
    looked = agent.call(**_of(started["actions"][0]))
    assert looked["result"]["step_focus"]["success_criteria"] == ["Measure"]
    how = agent.call(**_of(looked["actions"][0]))
    assert "proof" in how["result"]["args_schema"]["properties"], "how to show it"
    bare = agent.refused("tasks", op="step.close", args={"task": task})
    assert "proof=" in bare["error"]["message"]
    agent.call(
        "tasks", op="step.close", args={"task": task, "evidence": "CMD: make bench (exit 0)"}
    )
    agent.call("tasks", op="evidence.capture", args={"proof": ["CMD: make test (exit 0)"]})
    agent.call("tasks", op="step.close", args={"checkpoints": "gate"})
    agent.call("tasks", op="finish", args={"task": task})
    assert lh("tasks.snapshot", task=task)["target"]["status"] == "DONE"
    job = agent.call("jobs", op="new", args={"title": "Fuzz it", "description": "For an hour."})
    shown = agent.call("open", id=job["result"]["job"]["id"])
    assert shown["result"]["job"]["title"] == "Fuzz it"
    found = agent.call("docs", op="search", args={"query": "tokenizer"})
    assert found["result"]["hits"]
    assert len(agent.wrong) <= WRONG_GUESSES, agent.wrong
    assert agent.read <= CHARACTERS, agent.read


def test_following_the_first_action_never_finishes_what_nothing_shows(lh: Lh, agent: Agent) -> None:
    started = agent.call(
        "tasks", op="call", cmd="tasks.macro.start", args={"task_title": "Rewrite the parser"}
    )
    task, answer, followed = started["result"]["task_id"], started, 0
    while answer.get("actions") and followed < 40:
        answer, followed = agent.call(**_of(answer["actions"][0])), followed + 1
        answer = answer if answer.get("actions") else agent.call("tasks", op="execute.next")
    shown = lh("tasks.radar", task=task)
    assert shown["target"]["status"] != "DONE"
    assert not any(row["completed"] for row in shown["steps"])
    plan = lh("tasks.plan.create", title="Faster search")["id"]
    lh("tasks.plan", plan=plan, steps=["Measure", "Mend"])
    lh("tasks.focus.set", plan=plan)
    for _ in range(10):
        agent.call(**_of(agent.call("tasks", op="execute.next")["actions"][0]))
    assert lh("tasks.radar", plan=plan)["target"]["status"] != "DONE"


def test_after_every_write_to_work_there_is_a_next_call(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Rewrite the parser", steps=["Measure", "Mend"])
    writes: dict[str, dict[str, Any]] = {
        "tasks.note": {"note": "Slow."},
        "tasks.define": {"tests": ["make test"]},
        "tasks.block": {"reason": "No access."},
        "tasks.evidence.capture": {"checks": ["CMD: make test (exit 0)"], "checkpoint": "tests"},
        "tasks.step.close": {"checkpoints": "gate"},
        "tasks.plan.decompose": {"steps": "Tell the others"},
        "tasks.edit": {"priority": "HIGH"},
    }
    for cmd, args in writes.items():
        envelope = lh.envelope(cmd, **args)
        assert envelope["success"], envelope["error"]
        assert envelope["actions"], cmd


def test_status_is_short_on_a_quiet_workspace(lh: Lh) -> None:
    assert len(lh.portal("status").lean()) <= STATUS
    lh("vcs.notes.commit", content="We chose SQLite.")
    assert len(lh.portal("status").lean()) <= STATUS


def test_empty_keys_are_left_out_and_a_long_note_is_not_repeated(lh: Lh) -> None:
    note = lh.portal("vcs", op="notes.commit", args={"content": "x" * 5_000})
    assert len(note.lean()) < 800
    said = msgspec.json.decode(note.lean())
    assert said["result"]["ref"] == "notes@1"
    assert not [name for name, item in said.items() if item in (None, [], {})]
    assert lh("open", id="notes@1")["entry"]["content"] == "x" * 5_000


def test_the_list_of_commands_fits_a_page_and_a_schema_has_its_own_arguments_alone(lh: Lh) -> None:
    assert len(lh.portal("system", op="cmd.list").lean()) <= 6_000
    shown = lh("system.schema.get", cmd="vcs.notes.commit")
    assert "workspace" not in shown["args_schema"]["properties"]
    assert "workspace" in shown["common_args"]
    lines = lh.lines("system.schema.get", cmd="vcs.notes.commit")
    assert lines[1].startswith("content* text of 1 to 1000000 characters")
    assert "COMMON" in lines[-1] or "COMMON" in lines[-2]


def test_a_draft_keeps_what_was_right_about_the_call_and_names_the_rest(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Rewrite the parser", steps=["Measure"])
    lh("tasks.macro.start", task_title="Another", steps=["Measure"])
    args = {"task": "TASK-002", "note": ["not", "text"]}
    answer = lh.portal("tasks", op="call", cmd="tasks.note", args=args).envelope
    (draft,) = [a for a in answer["actions"] if a["action_id"].startswith("recover.argument")]
    assert (draft["args"]["args"], draft["missing"]) == ({"task": "TASK-002"}, ["note"])


def _of(action: dict[str, Any]) -> dict[str, Any]:
    return {"tool": action["tool"], **action["args"]}
