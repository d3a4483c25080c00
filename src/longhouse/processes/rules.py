"""The policy rules of a workspace, and their decisions about tasks."""

from __future__ import annotations

import msgspec

from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest, PolicyRule, decide
from longhouse.kernel.values import Json, Request
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.frames import status_payload
from longhouse.processes.records import Process
from longhouse.processes.room import sql
from longhouse.processes.waking import POLICY
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx

__all__ = ["decided", "decision_payload", "rules_of", "still_allowed", "taken_back"]


def rules_of(tx: Tx) -> list[PolicyRule]:
    """The rules in force, oldest first."""
    rows = tx.all(sql.rules_in_force)
    return [msgspec.json.decode(row["rule"], type=PolicyRule) for row in rows]


def taken_back(tx: Tx, withdraw: Query, rule: str, listed: Request) -> Row:
    """Withdraw a rule and return it; `listed` is the command that lists the rules in force."""
    row = tx.one(withdraw, n=int(rule.rpartition("-")[2]), seq=tx.last_seq() + 1)
    if row is None:
        raise UnknownId(
            f"rule: no {rule} is in force",
            recovery=f"list the rules with {tx.facts.registry.of(listed).cmd}",
            suggest=[Suggestion(listed, "see which rules are in force")],
        )
    tx.append(POLICY, rule, "withdrawn", {})
    return row


def decided(tx: Tx, asked: PolicyRequest) -> PolicyDecision:
    """The decision of the current policy."""
    profile: str = tx.facts.of(ProcessFacts).profile
    return decide(profile, rules_of(tx), asked)


def decision_payload(tx: Tx, decision: PolicyDecision) -> dict[str, str]:
    """The payload that records a decision of the server."""
    return {
        "decision": "allow" if decision.allowed else "deny",
        "rule": decision.rule,
        "profile": tx.facts.of(ProcessFacts).profile,
        "why": decision.why,
        "by": "server",
    }


def still_allowed(tx: Tx, process: Process, tool: str) -> list[Json] | None:
    """The rules that allow the start now, since they may have changed; None if it is refused."""
    rules = rules_of(tx)
    profile: str = tx.facts.of(ProcessFacts).profile
    asked = PolicyRequest(tool, process.spec.args, process.state.mode)
    decision = decide(profile, rules, asked)
    if not decision.allowed:
        ended = {"status": "failed", "ended_at_ms": tx.now_ms, "cause": "policy_denied"}
        why = f"{decision.rule}: {decision.why}"
        process.write(
            tx,
            [
                ("tool_policy_decided", decision_payload(tx, decision)),
                ("tool_task_status", status_payload(**ended, error=why)),
            ],
        )
        return None
    return [msgspec.to_builtins(rule) for rule in rules if rule.id in decision.rules]
