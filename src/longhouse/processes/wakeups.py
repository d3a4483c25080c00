"""`tool.wakeup_*`: the operator's rules for who is notified when a task ends."""

from __future__ import annotations

import msgspec

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Role
from longhouse.processes.room import room, sql
from longhouse.processes.rules import taken_back
from longhouse.processes.spec import refuse_secret, without_secrets
from longhouse.processes.types.wakeups import (
    AddWakeup,
    ListWakeups,
    RemoveWakeup,
    WakeupMade,
    WakeupRule,
    WakeupRules,
)
from longhouse.processes.waking import POLICY, wakeups_of, way_to
from longhouse.store.tx import Tx

__all__ = ["add_wakeup", "list_wakeups", "remove_wakeup"]


@room.command(
    "tool.wakeup_add",
    also="tool.wake tool.wakeup tool.notify",
    role=Role.OPERATOR,
    writes=True,
    example=AddWakeup(name="tests", ending="failure", agent="amber-otter"),
)
def add_wakeup(tx: Tx, req: AddWakeup) -> WakeupMade:
    """Notify an agent or a job when matching tasks end; operators only."""
    if (req.agent is None) == (req.job is None):
        raise InvalidInput(
            "agent: name who to notify, an agent or a job",
            recovery="pass either agent or job",
        )
    refuse_secret("name", req.name)
    refuse_secret("tool", req.tool)
    n = tx.count("tool_wakeups")
    rule = WakeupRule(
        id=f"WAKE-{n:03d}",
        name=req.name,
        tool=req.tool,
        ending=req.ending,
        agent=req.agent,
        job=req.job,
        message=without_secrets(req.message),
    )
    told, who = way_to(tx, rule)
    told.check(tx, who)
    seq = tx.append(POLICY, rule.id, "wakeup", msgspec.to_builtins(rule))
    tx.run(sql.wakeup_add, n=n, rule=msgspec.json.encode(rule).decode(), seq=seq)
    return WakeupMade(rule=rule, in_force=True)


@room.command(
    "tool.wakeup_list",
    also="tool.wakeups",
    example=ListWakeups(),
    trim=[Pop("rules", leave=1)],
)
def list_wakeups(tx: Tx, req: ListWakeups) -> WakeupRules:
    """Show the rules for who is notified when tasks end."""
    rules = wakeups_of(tx)
    return WakeupRules(rules=rules, count=len(rules))


@room.command(
    "tool.wakeup_remove",
    also="tool.wakeup_withdraw tool.wakeup_delete",
    role=Role.OPERATOR,
    writes=True,
    example=RemoveWakeup(rule="WAKE-001"),
)
def remove_wakeup(tx: Tx, req: RemoveWakeup) -> WakeupMade:
    """Withdraw a wake-up rule: from now on it notifies no one."""
    row = taken_back(tx, sql.wakeup_withdraw, req.rule, ListWakeups())
    return WakeupMade(rule=msgspec.json.decode(row["rule"], type=WakeupRule), in_force=False)
