"""`tool.policy_*`: shows, tests, adds and withdraws the rules for background processes."""

from __future__ import annotations

import msgspec

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Role
from longhouse.kernel.tool_policy import PolicyRequest, PolicyRule
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.room import room, sql
from longhouse.processes.rules import decided, rules_of, taken_back
from longhouse.processes.spec import refuse_secret, without_secrets
from longhouse.processes.types.policy import (
    AllowTool,
    PolicyShown,
    PolicyTested,
    RuleMade,
    ShowPolicy,
    TryPolicy,
    WithdrawRule,
)
from longhouse.processes.waking import POLICY
from longhouse.store.tx import Tx

__all__ = ["allow", "show_policy", "try_policy", "withdraw"]


@room.command(
    "tool.policy_show",
    also="tool.policy tool.rules tool.policy_list",
    example=ShowPolicy(),
    trim=[Pop("rules", leave=1)],
)
def show_policy(tx: Tx, req: ShowPolicy) -> PolicyShown:
    """Show the policy profile and the rules in force."""
    facts, rules = tx.facts.of(ProcessFacts), rules_of(tx)
    return PolicyShown(
        profile=facts.profile, max_running=facts.max_running, rules=rules, count=len(rules)
    )


@room.command(
    "tool.policy_test",
    also="tool.policy_check",
    example=TryPolicy(tool="bash", args={"command": "make test"}),
)
def try_policy(tx: Tx, req: TryPolicy) -> PolicyTested:
    """Ask what the policy decides about a tool call; nothing is started or recorded."""
    decision = decided(tx, PolicyRequest(req.tool, req.args, req.execution_mode))
    return PolicyTested(
        decision="allow" if decision.allowed else "deny",
        rule=decision.rule,
        profile=tx.facts.of(ProcessFacts).profile,
        why=decision.why,
    )


@room.command(
    "tool.policy_allow",
    also="tool.allow tool.policy_add tool.policy_deny",
    role=Role.OPERATOR,
    writes=True,
    example=AllowTool(tool="bash", pattern="make *"),
)
def allow(tx: Tx, req: AllowTool) -> RuleMade:
    """Add a rule for what background processes may do; operators only."""
    if req.pty and req.effect == "allow" and req.justification is None:
        raise InvalidInput(
            "justification: a rule that allows terminals must say why; "
            "fix: justification=interactive installer",
            recovery="programs in a terminal can hide prompts, so the reason is recorded",
        )
    if req.pattern is not None and not req.pattern.split():
        raise InvalidInput("pattern: expected words; fix: pattern=make *")
    if req.pattern is not None and req.tool not in ("bash", "exec", "env"):
        raise InvalidInput(
            f"pattern: a rule for {req.tool} has no pattern; fix: leave pattern out",
            recovery="a registry command is allowed by its name alone",
        )
    refuse_secret("pattern", req.pattern)
    n = tx.count("tool_rules")
    rule = PolicyRule(
        id=f"RULE-{n:03d}",
        effect=req.effect,
        tool=req.tool,
        pattern=req.pattern,
        pty=req.pty,
        justification=without_secrets(req.justification),
    )
    seq = tx.append(POLICY, rule.id, req.effect, msgspec.to_builtins(rule))
    tx.run(sql.rule_add, n=n, rule=msgspec.json.encode(rule).decode(), seq=seq)
    return RuleMade(rule=rule, profile=tx.facts.of(ProcessFacts).profile, in_force=True)


@room.command(
    "tool.policy_withdraw",
    also="tool.policy_remove tool.policy_delete",
    role=Role.OPERATOR,
    writes=True,
    example=WithdrawRule(rule="RULE-001"),
)
def withdraw(tx: Tx, req: WithdrawRule) -> RuleMade:
    """Withdraw a rule: from now on it neither allows nor denies anything."""
    row = taken_back(tx, sql.rule_withdraw, req.rule, ShowPolicy())
    rule = msgspec.json.decode(row["rule"], type=PolicyRule)
    return RuleMade(rule=rule, profile=tx.facts.of(ProcessFacts).profile, in_force=False)
