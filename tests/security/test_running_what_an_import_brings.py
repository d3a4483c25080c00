"""A person imports a file that a stranger made: nothing in it may run, act, or open the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.store.artifacts import artifacts_of
from longhouse.store.queries import Query
from longhouse.store.upkeep import Imported, verify
from longhouse.store.upkeep.tables import workspace_tables
from tests.kit import Lh
from tests.processes.kit import HOST, Runner, allow, spawned
from tests.security.kit import Outsider
from tests.store.upkeep_kit import call_of, exported, imported

AGENT = Caller(Role.AGENT, owner="token-agent")

ARRIVAL = {
    "agents": "the tokens of identities are void",
    "idempotency": "forgotten",
    "jobs": "unclaimed, and held if unfinished",
    "reservations": "released",
    "runner_leases": "forgotten",
    "tool_hosts": "forgotten",
    "tool_ops": "over, with the task they concern",
    "tool_rules": "withdrawn",
    "tool_tasks": "held if queued, ended if they had a host; nobody's",
    "tool_wakeups": "withdrawn",
}
"""The tables whose rows could run something or let someone act, and what becomes of them."""

DATA = frozenset(
    [
        "agent_use",
        "anchor_aliases",
        "anchors",
        "artifact_usage",
        "artifacts",
        "branches",
        "card_entries",
        "citations",
        "counters",
        "dismissals",
        "doc_entries",
        "documents",
        "graph_conflicts",
        "graph_merge_bases",
        "graph_tags",
        "graph_versions",
        "incursions",
        "item_talk",
        "job_after",
        "job_specs",
        "log",
        "messages",
        "plans",
        "ref_moves",
        "standings",
        "step_leases",
        "step_proofs",
        "steps",
        "subagents",
        "tags",
        "targeting",
        "task_dependencies",
        "task_traits",
        "tasks",
        "tool_frames",
        "tool_logs",
        "tracked",
        "work_counts",
    ]
)
"""Tables that only say something."""


def copied(lh: Lh, **more: Any) -> Imported:
    return imported(lh.house, exported(lh.house), name="copy", disarm=True, **more)


def forge(lh: Lh, text: str) -> None:
    """Write what only a forger of exports would."""
    query = Query("forge", text, text)
    lh.house.db.write("acme", lambda tx: tx.run(query), call_of(lh.house))


def reserve(lh: Lh, **more: Any) -> dict[str, str]:
    lh("tasks.macro.start", plan_title="P", task_title="T", template="basic-task", **more)
    token = lh("agents.register", name="amber-otter", role="x", **more)["agent_token"]
    me = {"agent": "amber-otter", "agent_token": str(token)}
    lh("agents.reserve", **me, scope="src/a.py", bead_id="TASK-001", **more)
    return me


def is_sound(lh: Lh) -> None:
    house = lh.house
    found = verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True)
    assert found.problems == []


def test_every_table_is_decided_on(lh: Lh) -> None:
    """A new table fails here until someone has asked what its rows could do after an import."""
    names = {t.name for t in lh.house.db.read("", workspace_tables, call_of(lh.house))}
    assert names - ARRIVAL.keys() - DATA == set()


def test_a_queued_process_of_an_export_does_not_run(lh: Lh) -> None:
    lh("tool.policy_allow", tool="bash")
    lh("tool.wakeup_add", ending="any", job=lh("jobs.create", title="W", prompt="P")["job"]["id"])
    task = spawned(lh, "touch /tmp/owned")
    held = copied(lh).held
    assert {(one.what, one.id) for one in held} == {
        ("job", "JOB-001"),
        ("process", task),
        ("rule", "RULE-001"),
        ("wake-up", "WAKE-001"),
    }
    assert next(one.title for one in held if one.what == "process") == "touch /tmp/owned"
    other = {"workspace": "copy", "runner_id": "r9", "host_id": HOST}
    revision = lh("tool.task_held", **other)["revision"]
    lh("workspace.bind", workspace="copy")
    assert lh("tool.task_claim", **other, revision=revision)["tasks"] == []
    assert lh("tool.policy_show", workspace="copy")["rules"] == []
    assert lh("tool.wakeup_list", workspace="copy")["rules"] == []
    shown = lh("tool.task_status", task_id=task, workspace="copy")["task"]
    assert (shown["held"], shown["status"]) == ("imported", "queued")
    is_sound(lh)


def test_only_a_manager_releases_a_process_and_the_rules_decide_again(lh: Lh) -> None:
    task = spawned(lh, "make test")
    copied(lh)
    where = {"task_id": task, "workspace": "copy"}
    assert lh.house.call("tool.task_release", where, AGENT).code == "FORBIDDEN"
    manager = Outsider(lh, "token-manager", Role.MANAGER)
    assert manager("tool.task_release", **where)["task"]["held"] is None
    assert manager.refused("tool.task_release", **where)["code"] == "CONFLICT"
    other = {"workspace": "copy", "runner_id": "r9", "host_id": HOST}
    revision = lh("tool.task_held", **other)["revision"]
    lh("workspace.bind", workspace="copy")
    claimed = lh("tool.task_claim", **other, revision=revision)["tasks"]
    assert [one["task_id"] for one in claimed] == [task]


def test_a_released_command_has_no_more_rights_than_its_releaser(lh: Lh) -> None:
    """Forged: a queued registry command that claims an operator of all workspaces spawned it."""
    allow(lh)
    lh("tool.task_spawn", tool="vcs.notes.commit", args={"content": "x"})
    forge(
        lh,
        "UPDATE tool_tasks SET role = 4, owner = 'operator', "
        'spec = REPLACE(spec, \'"workspaces":["acme"]\', \'"workspaces":null\') WHERE ws = :ws',
    )
    copied(lh)
    manager = Outsider(lh, "TOK-7", Role.MANAGER, workspaces=("copy",))
    manager("tool.task_release", task_id="PROC-001", workspace="copy")
    look = Query("look", *["SELECT owner, role, spec FROM tool_tasks WHERE ws = :ws"] * 2)
    row = lh.house.db.read("copy", lambda tx: tx.one(look), call_of(lh.house))
    assert row is not None
    assert (row["owner"], row["role"]) == ("TOK-7", int(Role.MANAGER))
    assert msgspec.json.decode(row["spec"])["by"]["workspaces"] == ["copy"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_process_that_had_a_host_gets_no_second_one(lh: Lh, begun: bool) -> None:
    """A claimed task is started by whoever speaks for its host; the forger may name yours."""
    runner = Runner(lh)
    task = spawned(lh)
    runner.start(task) if begun else runner.claim()
    copied(lh)
    assert lh("tool.host_list", workspace="copy")["hosts"] == []
    held = lh("tool.task_held", workspace="copy", runner_id="r9", host_id=HOST)
    assert held["tasks"] == []
    shown = lh("tool.task_status", task_id=task, workspace="copy")["task"]
    assert shown["cause"] == "host_lost"
    is_sound(lh)


def _queued(lh: Lh) -> None:
    lh("jobs.create", title="Q", prompt="P")


def _later(lh: Lh) -> None:
    _queued(lh)
    later = lh.clock.now_ms() + 60_000
    forge(lh, f"UPDATE jobs SET not_before_ms = {later} WHERE ws = :ws")


def _claimed(lh: Lh) -> None:
    _queued(lh)
    lh("jobs.claim", job="JOB-001", runner_id="r1")


def _lapsed(lh: Lh) -> None:
    _claimed(lh)
    lh.clock.advance(10 * 60_000)


def _with_changes(lh: Lh) -> None:
    _queued(lh)
    forge(lh, "UPDATE jobs SET changes = 'pending' WHERE ws = :ws")


def _running_with_changes(lh: Lh) -> None:
    """No runner leaves such a row: changes wait only once the work is done."""
    _claimed(lh)
    forge(lh, "UPDATE jobs SET changes = 'pending', claim_expires_at_ms = 1 WHERE ws = :ws")


def _with_files(lh: Lh) -> None:
    """Someone holds its files: a claim by name would put it off for a minute, and no longer."""
    lh("jobs.create", title="Q", prompt="P", paths=["src/a.py"])


MADE = [_queued, _later, _claimed, _lapsed, _with_changes, _running_with_changes, _with_files]


@pytest.mark.parametrize("made", MADE)
def test_a_job_of_an_export_is_nobodys_to_run(lh: Lh, made: Callable[[Lh], None]) -> None:
    made(lh)
    copied(lh)
    if made is _with_files:
        reserve(lh, workspace="copy")
    for _ in range(3 if made is not _with_files else 1):
        for args in ({}, {"job": "JOB-001"}):
            claim = {"workspace": "copy", "runner_id": "r2", "allow_stale": True, **args}
            answer = lh.house.call("jobs.claim", claim).envelope
            assert not answer["success"] or answer["result"]["job"] is None
        lh.clock.advance(24 * 3_600_000)
        lh("jobs.claim", workspace="copy", runner_id="r2")
    if made not in (_with_changes, _running_with_changes):
        assert lh.house.call("jobs.requeue", {"job": "JOB-001", "workspace": "copy"}, AGENT).code
        assert lh("jobs.open", job="JOB-001", workspace="copy")["job"]["held"]
        lh("jobs.requeue", job="JOB-001", workspace="copy")
        assert lh("jobs.claim", workspace="copy", runner_id="r2")["job"]["id"] == "JOB-001"
        is_sound(lh)


def test_a_claim_in_an_export_makes_no_token_valid(lh: Lh) -> None:
    """The agent of a live claim is let in by its digest: a forger could name their own."""
    _queued(lh)
    digest = hashlib.sha256(b"the forger's token").hexdigest()
    lh("jobs.claim", job="JOB-001", runner_id="r1", agent_digest=digest)
    session = '{"session":{"id":"evil","written_by":"operator"},"slice":2}'
    forge(
        lh, f"UPDATE jobs SET claim_expires_at_ms = {2**52}, runtime = '{session}' WHERE ws = :ws"
    )
    copied(lh)
    look = Query("look", *["SELECT claim_owner, claim_agent, runtime FROM jobs WHERE ws = :ws"] * 2)
    row = lh.house.db.read("copy", lambda tx: tx.one(look), call_of(lh.house))
    assert row == {"claim_owner": "", "claim_agent": None, "runtime": '{"slice":2}'}


def test_an_identity_in_an_export_cannot_act_and_holds_no_file(lh: Lh) -> None:
    me = reserve(lh)
    copied(lh)
    error = lh.refused("agents.heartbeat", **me, workspace="copy")
    assert error["code"] == "AGENT_TOKEN_REQUIRED"
    assert lh("agents.status", workspace="copy")["reservations"] == []
    is_sound(lh)


def test_an_answer_kept_in_an_export_answers_nobody(lh: Lh) -> None:
    lh("jobs.create", title="A", prompt="P", idempotency_key="k1")
    copied(lh)
    again = lh("jobs.create", title="B", prompt="P", idempotency_key="k1", workspace="copy")
    assert again["job"]["title"] == "B"


def test_runners_of_an_export_take_no_work_and_hold_no_name(lh: Lh) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle")
    forge(lh, f"UPDATE runner_leases SET owner = 'x', lease_expires_at_ms = {2**52} WHERE ws = :ws")
    copied(lh)
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle", workspace="copy")


def test_with_run_queued_work_goes_on_but_no_claim_does(lh: Lh) -> None:
    _claimed(lh)
    lh("tool.policy_allow", tool="bash")
    task = spawned(lh)
    assert [one.what for one in copied(lh, run_queued=True).held] == []
    assert lh("jobs.claim", workspace="copy", runner_id="r2")["job"]["id"] == "JOB-001"
    assert lh("tool.task_status", task_id=task, workspace="copy")["task"]["held"] is None
    assert lh("tool.policy_show", workspace="copy")["count"] == 1


def test_the_command_line_says_what_it_held(lh: Lh, tmp_path: Path) -> None:
    from longhouse.surfaces.cli.upkeep import held_lines

    _queued(lh)
    spawned(lh, "evil \x1b[31m")
    lines = list(held_lines(copied(lh).held, " --workspace copy"))
    assert lines[0] == "jobs held: JOB-001 (Q)"
    assert "\x1b" not in lines[1]
    assert lines[1].startswith("processes held: PROC-001 (evil")
    assert lines[-1].endswith("longhouse release --all --workspace copy")
