"""The role that each command requires: a table that changes on purpose, never by accident.

VIEWER reads, AGENT works, MANAGER leads (steers and requeues the jobs of all), OPERATOR decides
who may call. An agent answers and cancels only the jobs that it created (tests/jobs). A command in
none of the sets reads and requires VIEWER.
"""

from __future__ import annotations

import pytest

from longhouse.dispatch import Caller
from longhouse.house import registry
from longhouse.kernel.registry import Role
from tests.kit import Lh

LEADS = {"jobs.requeue", "jobs.update", "tool.task_release"}
DECIDES = {
    "system.token.create",
    "system.token.list",
    "system.token.revoke",
    "tool.policy_allow",
    "tool.policy_withdraw",
    "tool.wakeup_add",
    "tool.wakeup_remove",
    "workspace.bind",
    "workspace.unbind",
}
WORKS = {
    "agents.ack",
    "agents.adopt",
    "agents.blocked",
    "agents.changed",
    "agents.dismiss",
    "agents.handoff",
    "agents.heartbeat",
    "agents.items.sync",
    "agents.read",
    "agents.register",
    "agents.release",
    "agents.renew",
    "agents.reserve",
    "agents.retire",
    "agents.send",
    "docs.artifact.add",
    "docs.artifact.join",
    "docs.merge",
    "docs.transcripts.digest",
    "docs.transcripts.open",
    "docs.transcripts.search",
    "graph.apply",
    "graph.conflict.resolve",
    "graph.merge",
    "jobs.account",
    "jobs.apply",
    "jobs.cancel",
    "jobs.claim",
    "jobs.complete",
    "jobs.create",
    "jobs.message",
    "jobs.release",
    "jobs.question",
    "jobs.report",
    "jobs.runner.heartbeat",
    "jobs.runner.start",
    "jobs.subagent.finish",
    "jobs.subagent.renew",
    "jobs.subagent.start",
    "system.init",
    "tasks.batch",
    "tasks.block",
    "tasks.bootstrap",
    "tasks.complete",
    "tasks.contract",
    "tasks.define",
    "tasks.delete",
    "tasks.done",
    "tasks.edit",
    "tasks.evidence.capture",
    "tasks.focus.clear",
    "tasks.focus.set",
    "tasks.macro.close.step",
    "tasks.macro.create.done",
    "tasks.macro.delegate",
    "tasks.macro.fanout.jobs",
    "tasks.macro.finish",
    "tasks.macro.merge.report",
    "tasks.macro.start",
    "tasks.note",
    "tasks.patch",
    "tasks.plan",
    "tasks.plan.create",
    "tasks.plan.decompose",
    "tasks.progress",
    "tasks.scaffold",
    "tasks.step.close",
    "tasks.step.lease.claim",
    "tasks.step.lease.release",
    "tasks.step.lease.renew",
    "tasks.verify",
    "think.add.decision",
    "think.add.evidence",
    "think.add.frame",
    "think.add.hypothesis",
    "think.add.knowledge",
    "think.add.note",
    "think.add.question",
    "think.add.test",
    "think.add.update",
    "think.anchor.bootstrap",
    "think.anchor.merge",
    "think.anchor.rename",
    "think.card",
    "think.context.pack.export",
    "think.idea.branch.create",
    "think.idea.branch.merge",
    "think.knowledge.upsert",
    "think.link",
    "think.macro.anchor.note",
    "think.nominal.merge",
    "think.pin",
    "think.publish",
    "think.reasoning.pipeline",
    "think.set.status",
    "think.subgoal.close",
    "think.subgoal.open",
    "think.trace.sequential.step",
    "think.trace.step",
    "vcs.branch.create",
    "vcs.branch.delete",
    "vcs.branch.rename",
    "vcs.checkout",
    "vcs.commit",
    "vcs.notes.commit",
    "vcs.reset",
    "vcs.tag.create",
    "vcs.tag.delete",
    "tool.output_raw",
    "tool.output_store",
    "tool.recording_import",
    "tool.output_append",
    "tool.task_append",
    "tool.task_append_many",
    "tool.task_cancel",
    "tool.task_claim",
    "tool.task_held",
    "tool.task_resize",
    "tool.task_signal",
    "tool.task_spawn",
    "tool.task_write_stdin",
}


def _table() -> dict[str, Role]:
    roles = dict.fromkeys(WORKS, Role.AGENT)
    roles |= dict.fromkeys(LEADS, Role.MANAGER) | dict.fromkeys(DECIDES, Role.OPERATOR)
    return roles


def test_every_command_needs_the_role_that_the_table_says() -> None:
    commands = registry().commands
    wrong = {
        cmd: command.role.name
        for cmd, command in commands.items()
        if command.role != _table().get(cmd, Role.VIEWER)
    }
    assert wrong == {}
    assert set(_table()) <= set(commands)
    assert {cmd for cmd, c in commands.items() if c.writes_role is not Role.AGENT} == set()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.MANAGER])
def test_who_has_less_than_the_table_says_is_refused_before_anything_is_read(
    lh: Lh, role: Role
) -> None:
    for cmd, needed in _table().items():
        if needed > role:
            answer = lh.house.call(cmd, {"nonsense": 1}, Caller(role))
            assert answer.code == "FORBIDDEN", cmd
            assert f"--role {needed.name.lower()}" in answer.envelope["error"]["recovery"]


def test_a_reply_on_the_radar_is_a_managers(lh: Lh) -> None:
    job = lh("jobs.create", title="Job", prompt="Do it")["job"]["id"]
    reply = {"reply_job": job, "reply_message": "Go on."}
    assert lh.house.call("jobs.radar", {}, Caller(Role.AGENT)).success
    assert lh.house.call("jobs.radar", reply, Caller(Role.AGENT)).code == "FORBIDDEN"
    assert lh.house.call("jobs.radar", reply, Caller(Role.MANAGER)).success


def test_an_agents_token_moves_only_the_agents_own_focus(lh: Lh) -> None:
    shared, own = (
        lh("tasks.plan.create", title=title, kind="task")["id"] for title in ("Shared", "Own")
    )
    lh("tasks.focus.set", task=shared)
    ada = Caller(Role.AGENT, agent="ada")
    assert lh.house.call("tasks.focus.set", {"task": own}, ada).success
    assert lh.house.call("tasks.focus.get", {}, ada).envelope["result"]["focus"] == own
    assert lh("tasks.focus.get")["focus"] == shared
