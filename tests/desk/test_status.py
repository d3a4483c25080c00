"""`status`, and the advice of the rooms behind it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from longhouse.desk.next import derive_next
from longhouse.desk.types.system import Init
from longhouse.house import House
from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Call
from tests.kit import CountedIds, Lh

OF_THE_WHOLE_HOUSE = {
    "system.cmd.list",
    "system.help",
    "system.migration.lookup",
    "system.ops.summary",
    "system.schema.get",
    "system.skill",
    "system.storage",
    "system.token.create",
    "system.token.list",
    "system.token.revoke",
    "tasks.templates.list",
    "workspace.bind",
    "workspace.list",
    "workspace.reset",
    "workspace.unbind",
    "workspace.use",
}
"""Commands that neither read nor write a workspace."""
SAID_OF_EVERY = {"workspace", "schema_version", "workspace_exists", "checkout", "defaults"}
SAID_WHERE_KNOWN = {"last_task_event", "last_event", "last_doc_entry", "workspace_policy"}
DEFAULTS = {"branch": "main", "docs": {"notes": "notes", "graph": "graph", "trace": "trace"}}


@pytest.mark.proves("MEM-026", "MEM-027", "MEM-030")
def test_a_new_workspace_reads_as_empty_and_offers_the_first_step(lh: Lh) -> None:
    envelope = lh.envelope("status", view="full")
    status = envelope["result"]
    assert status["workspace"] == "acme"
    assert status["schema_version"] == lh.house.facts.schema_version
    assert status["workspace_exists"] is False
    assert status["checkout"] is None
    assert status["defaults"] == DEFAULTS
    assert "workspace_policy" not in status, "the default policy is not shown"
    assert status.keys() >= SAID_OF_EVERY
    assert not status.keys() & SAID_WHERE_KNOWN
    assert [(a["priority"], a["action_id"]) for a in envelope["actions"]] == [
        ("high", "next::tasks.macro.start"),
    ]
    lh.run_actions(envelope, task_title="Ours")
    assert lh("status", view="full")["workspace_exists"] is True


@pytest.mark.proves("MEM-029", "MEM-030")
def test_status_names_the_newest_entry_and_the_checkout(lh: Lh) -> None:
    lh("system.init")
    lh("vcs.notes.commit", content="x")
    status = lh("status", view="full")
    assert status["defaults"] == lh("system.init")["defaults"] == DEFAULTS
    assert status["checkout"] == "main"
    assert status["last_doc_entry"] == {
        "seq": 2,
        "ts": "2027-01-15T08:00:00.000Z",
        "ts_ms": 1_800_000_000_000,
        "branch": "main",
        "doc": "notes",
        "kind": "note",
    }


@pytest.mark.proves("MEM-029")
def test_the_newest_entry_is_the_last_written_wherever_it_is(lh: Lh) -> None:
    lh("system.init")
    for number in range(3):
        lh("vcs.notes.commit", content=f"note {number}")
    lh.clock.advance(1_000)
    lh("vcs.branch.create", name="aside", **{"from": "main"})
    newest = lh("vcs.notes.commit", content="aside", branch="aside")
    told = lh("status", view="full")["last_doc_entry"]
    assert (told["branch"], told["doc"], told["kind"]) == ("aside", "notes", "note")
    assert told["seq"] == newest["entry"]["seq"]
    assert told["ts_ms"] == lh.clock.now_ms()
    lh("vcs.notes.commit", content="back", branch="main")
    assert lh("status", view="full")["last_doc_entry"]["branch"] == "main"
    lh("think.trace.step", step="thought")
    assert lh("status", view="full")["last_doc_entry"]["doc"] == "trace"


@pytest.mark.proves("MEM-031", "MEM-026")
def test_the_golden_path_starts_work_with_a_macro_and_shows_it_in_a_snapshot(lh: Lh) -> None:
    path = lh("status", view="full")["golden_path"]
    assert path[:2] == ["tasks.macro.start", "tasks.snapshot"]
    assert all(cmd in lh.house.registry.commands for cmd in path)
    lh(path[0], task_title="Mend the login test")
    assert lh(path[1])["target"]["id"] == "TASK-001"


@pytest.mark.proves("MEM-009")
def test_without_any_workspace_a_call_fails_and_never_guesses(
    new_house: Callable[..., House],
) -> None:
    house = new_house(workspace=None)
    served = set()
    for one in house.registry:
        answer = house.call(one.cmd, msgspec.to_builtins(one.example))
        if answer.code != "UNKNOWN_WORKSPACE":
            served.add(one.cmd)
    assert served == OF_THE_WHOLE_HOUSE
    assert house.call("vcs.notes.commit", {"workspace": "acme", "content": "x"}).success
    assert house.call("status", {"workspace": "acme"}).envelope["result"]["workspace_exists"]
    assert house.call("docs.show", {"doc_kind": "notes"}).code == "UNKNOWN_WORKSPACE"


def test_same_state_same_bytes(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    assert lh.house.call("status", {}).body() == lh.house.call("status", {}).body()


def test_rooms_advise_what_status_shows_and_offers(lh: Lh) -> None:
    def adviser(tx: object) -> Advice:
        return Advice(
            "jobs(q=2,r=0)",
            {"jobs": {"queued": 2, "running": 0}},
            [Suggestion(Init(), "first of all", action_id="next::init")],
        )

    lh.house.registry.advisers = (adviser,)
    envelope = lh.envelope("status", view="full")
    assert envelope["result"]["state_fingerprint"] == ("ws=acme;focus=-;checkout=-;jobs(q=2,r=0)")
    assert envelope["result"]["jobs"] == {"queued": 2, "running": 0}
    assert [a["action_id"] for a in envelope["actions"]] == ["next::init"]
    lh.run_actions(envelope)
    call = Call(now_ms=1, ids=CountedIds(), facts=lh.house.facts)
    derived = lh.house.db.read("acme", derive_next, call)
    assert derived.suggestions[0].action_id == "next::init"


def test_status_in_lines_is_the_state_and_the_next_command(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    state, command = lh.lines("status", view="full")
    assert state.startswith("ready checkout=- workspace=acme focus=- me=operator version=")
    assert state.endswith("| last doc=notes@1")
    assert command.startswith("tasks cmd=tasks.macro.start ")


def test_status_offers_to_look_at_what_is_open_about_the_work_in_focus(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Find the slow query")
    assert "next::think.watch" not in [
        a["action_id"] for a in lh.envelope("status", view="full")["actions"]
    ]
    card = {"id": "CARD-H1", "type": "hypothesis", "title": "The cache is stale"}
    lh("think.card", card=card)
    lh("think.card", card={**card, "id": "CARD-H2", "tags": ["v:draft"]})  # is not shown to others
    envelope = lh.envelope("status", view="full")
    (watch,) = [a for a in envelope["actions"] if a["action_id"] == "next::think.watch"]
    assert watch["why"] == "hypothesis CARD-H1 is open: The cache is stale"
    lh.run_actions(envelope)
    lh("think.set.status", status="done", targets=["CARD-H1"])
    assert "next::think.watch" not in [
        a["action_id"] for a in lh.envelope("status", view="full")["actions"]
    ]
