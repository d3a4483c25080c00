"""The policy rules of a workspace, as data, and what they decide about a task."""

from __future__ import annotations

import msgspec

from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest, PolicyRule, decide
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.room import sql
from longhouse.store.tx import Tx

__all__ = ["decided", "decision_payload", "rules_of"]


def rules_of(tx: Tx) -> list[PolicyRule]:
    """Those that hold, oldest first."""
    rows = tx.all(sql.rules_in_force)
    return [msgspec.json.decode(row["rule"], type=PolicyRule) for row in rows]


def decided(tx: Tx, asked: PolicyRequest) -> PolicyDecision:
    """What policy says now."""
    profile: str = tx.facts.of(ProcessFacts).profile
    return decide(profile, rules_of(tx), asked)


def decision_payload(tx: Tx, decision: PolicyDecision) -> dict[str, str]:
    """What is recorded about a decision of the server."""
    return {
        "decision": "allow" if decision.allowed else "deny",
        "rule": decision.rule,
        "profile": tx.facts.of(ProcessFacts).profile,
        "why": decision.why,
        "by": "server",
    }
