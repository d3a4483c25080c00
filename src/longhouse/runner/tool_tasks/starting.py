"""Turns a claimed task into a request to the host: policy, command line, environment.

The runner decides by its own profile whether to start a program; of the server's decision, only the
rules count. Secrets are read here, by name, and are never written to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from longhouse.config import environment_with
from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest, PolicyRule, decide
from longhouse.kernel.tool_tasks import is_programs_tool

__all__ = ["NotStarted", "decision_frame", "decision_of", "request_for"]

KEPT = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "SSH_AUTH_SOCK",
        "TERM",
        "TMPDIR",
        "TZ",
    }
    | {"USER", "XDG_RUNTIME_DIR"}
)
"""Variables of the runner that every program gets, besides all that begin with `LC_`."""


class NotStarted(Exception):
    """The task cannot be started here; the text says why, and `cause` is the frame's cause."""

    def __init__(self, why: str, cause: str) -> None:
        super().__init__(why)
        self.cause = cause


def decision_of(profile: str, work: Mapping[str, Any]) -> PolicyDecision:
    """The decision of this runner's policy, given the rules that travel with the task."""
    rules = [msgspec.convert(rule, PolicyRule) for rule in work["rules"]]
    env = {
        one["name"]: one["value"] if one["source"] is None else {"from": f"env:{one['source']}"}
        for one in work["env"]
    }
    args = {**work["args"], "env": env}
    return decide(profile, rules, PolicyRequest(work["tool"], args, work["execution_mode"]))


def decision_frame(profile: str, decision: PolicyDecision) -> dict[str, Any]:
    return {
        "type": "tool_policy_decided",
        "decision": "allow" if decision.allowed else "deny",
        "rule": decision.rule,
        "profile": profile,
        "reason": decision.why,
    }


def request_for(work: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The host's `spawn` request for a task."""
    args = work["args"]
    if not is_programs_tool(work["tool"]):
        raise NotStarted(f"{work['tool']} is a command; hosts run programs", "unsupported_tool")
    argv = args["argv"] if work["tool"] == "exec" else ["bash", "-c", args["command"]]
    return {
        "task": work["task_id"],
        "made": work.get("made_ms"),  # a server of an older version does not say
        "argv": argv,
        "env": _environment(work["env"]),
        "root": str(root),
        "cwd": work["cwd"],
        "mode": work["execution_mode"],
        "cap_bytes": work["artifact_max_bytes"],
        "timeout_ms": work["timeout_ms"],
        "idle_timeout_ms": work["idle_timeout_ms"],
        "grace_ms": work["grace_ms"],
        "max_processes": work["max_processes"],
        "rows": work["rows"],
        "cols": work["cols"],
    }


def _environment(asked: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A few of the runner's variables, and those the task asks for."""
    own = environment_with({})
    kept = {name: own[name] for name in own if name in KEPT or name.startswith("LC_")}
    for one in asked:
        name, source = one["name"], one["source"]
        if source is None:
            kept[name] = one["value"]
        elif source in own:
            kept[name] = own[source]
        else:
            raise NotStarted(
                f"env.{name}: the runner's environment has no {source}; "
                "set it there and restart the runner",
                "missing_variable",
            )
    return kept
