"""Turns a claimed task into a request to the host: policy, command line, environment.

The server has decided when the task was claimed. The runner's own policy can only narrow that: its
profile, if one was set for it, and its `run_only`, which no server can extend. Secrets are read
here, by name, and are never written to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from longhouse.config import environment_with, is_other_repository
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest, PolicyRule, decide
from longhouse.kernel.tool_tasks import is_programs_tool

__all__ = ["NotStarted", "RunnerPolicy", "decision_frame", "request_for"]

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
_TOOLS = ("bash", "exec", "env")
_OWN = "run_only"
"""What a decision by the runner's own rules is named after."""


class NotStarted(Exception):
    """The task cannot be started here; the text says why, and `cause` is the frame's cause."""

    def __init__(self, why: str, cause: str) -> None:
        super().__init__(why)
        self.cause = cause


class RunnerPolicy(NamedTuple):
    """What a runner's own settings say about background processes.

    Without a `profile` the server's applies. If there are `rules`, one of them must allow whatever
    the server allowed.
    """

    profile: str | None = None
    rules: tuple[PolicyRule, ...] = ()

    @classmethod
    def of(cls, profile: str | None, run_only: str | None) -> Self:
        """The policy of a runner whose `run_only` is a list such as `bash make *; env CI`."""
        rules = []
        for number, line in enumerate(filter(str.strip, (run_only or "").split(";")), 1):
            tool, *words = line.split()
            if tool not in _TOOLS:
                raise InvalidInput(
                    f"run_only: {line.strip()[:80]!r} starts with none of {', '.join(_TOOLS)}",
                    recovery="write a tool and a pattern, such as 'bash make *; exec echo *'",
                )
            rule = f"{_OWN}.{number}"
            pattern = " ".join(words) or None
            rules.append(PolicyRule(id=rule, tool=tool, pattern=pattern, pty=True))
        return cls(profile, tuple(rules))

    def decide(self, work: Mapping[str, Any]) -> PolicyDecision:
        """The decision about a claimed task, given the rules by which the server allowed it."""
        rules = [msgspec.convert(rule, PolicyRule) for rule in work["rules"]]
        env = {
            one["name"]: one["value"] if one["source"] is None else {"from": f"env:{one['source']}"}
            for one in work["env"]
        }
        asked = PolicyRequest(work["tool"], {**work["args"], "env": env}, work["execution_mode"])
        decision = decide(self.profile_for(work), rules, asked)
        if decision.allowed and self.rules:
            return decide(_OWN, self.rules, asked)
        return decision

    def profile_for(self, work: Mapping[str, Any]) -> str:
        return self.profile or str(work.get("profile", "safe"))  # an older server does not say


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
    if is_other_repository(root, root / (work["cwd"] or ".")):
        raise NotStarted(
            f"cwd {work['cwd']!r} belongs to another repository than {root}", "foreign_folder"
        )
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
