"""What background processes may do: a pure decision from a profile, rules and a request.

`safe` permits only what a rule allows; `full-auto` permits everything that no rule denies. A deny
rule always wins. The server decides when a task is requested and again when its turn comes, and the
runner before starting it, each with its own profile, both with this function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from longhouse.kernel.shell_words import simple_commands
from longhouse.kernel.tool_tasks import Mode, is_programs_tool
from longhouse.kernel.values import Value

__all__ = ["PolicyDecision", "PolicyRequest", "PolicyRule", "decide", "env_source"]

_SOURCE: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]{0,127})\Z")

_OURS: Final = "LONGHOUSE_"
"""The prefix of the variables that hold Longhouse's own settings, including its token."""


class PolicyRule(Value, frozen=True, kw_only=True):
    """One rule. `tool` is `bash`, `exec`, `env`, or a command of the registry (`jobs.*`).

    `pattern` selects command lines or, for `env`, names of variables; without it the rule covers
    all. A rule for `bash` also covers `exec`, which takes the same words without a shell.
    """

    id: str
    effect: Literal["allow", "deny"] = "allow"
    tool: str
    pattern: str | None = None
    pty: bool = False
    justification: str | None = None


class PolicyRequest(NamedTuple):
    """A request to start a tool."""

    tool: str
    args: Mapping[str, Any]
    mode: Mode = "pipes"


class PolicyDecision(NamedTuple):
    """Whether it may start, the rule that decided, and why; `rules` lists every rule used.

    `variable` is the one that a rule would have to allow.
    """

    allowed: bool
    rule: str
    why: str
    rules: tuple[str, ...] = ()
    variable: str | None = None


def decide(profile: str, rules: Sequence[PolicyRule], asked: PolicyRequest) -> PolicyDecision:
    """Decide about one request."""
    if is_programs_tool(asked.tool):
        return _program(profile, rules, asked)
    denied = _first(rules, "deny", lambda rule: _names(rule, asked.tool))
    if denied:
        return PolicyDecision(False, denied.id, f"{denied.id} denies {asked.tool}")
    allowed = _first(rules, "allow", lambda rule: _names(rule, asked.tool))
    if allowed:
        return PolicyDecision(True, allowed.id, f"{allowed.id} allows {asked.tool}", (allowed.id,))
    return _by_profile(profile, f"no rule allows the command {asked.tool}")


def env_source(value: Any) -> str | None:
    """The variable that an `env` value refers to; None if it is a literal or malformed."""
    if isinstance(value, Mapping) and set(value) == {"from"} and isinstance(value["from"], str):
        found = _SOURCE.match(value["from"])
        return found[1] if found else None
    return None


def _program(profile: str, rules: Sequence[PolicyRule], asked: PolicyRequest) -> PolicyDecision:
    commands = _commands(asked)
    used: list[str] = []
    if commands is None:
        if any(rule.effect == "deny" and _covers(rule, asked.tool) for rule in rules):
            return PolicyDecision(
                False,
                f"{profile}.unreadable",
                "a rule denies some commands, and this line contains "
                "more than simple commands, so it cannot be checked",
            )
        if profile != "full-auto":
            return PolicyDecision(
                False,
                f"{profile}.unreadable",
                "the line contains more than simple commands, which no rule can allow",
            )
    for words in commands or ():
        denied = _first(rules, "deny", lambda rule, w=words: _admits(rule, asked.tool, w))
        if denied:
            return PolicyDecision(False, denied.id, f"{denied.id} denies {' '.join(words)[:80]!r}")
        allowed = _first(
            rules,
            "allow",
            lambda rule, w=words: (
                _admits(rule, asked.tool, w) and (asked.mode == "pipes" or rule.pty)
            ),
        )
        if allowed:
            used.append(allowed.id)
        elif profile != "full-auto":
            pty = " in a terminal" if asked.mode == "pty" else ""
            return _by_profile(profile, f"no rule allows {' '.join(words)[:80]!r}{pty}")
    return _environment(profile, rules, asked, used)


def _environment(
    profile: str, rules: Sequence[PolicyRule], asked: PolicyRequest, used: list[str]
) -> PolicyDecision:
    """Check `env`, since a variable can turn a program into a different one.

    Each variable needs a rule, except a literal under `full-auto`.
    """
    env = asked.args.get("env")
    for name, value in env.items() if isinstance(env, Mapping) else ():
        source = env_source(value)
        wanted = ([name] if profile != "full-auto" else []) + ([source] if source else [])
        for variable in filter(None, (name, source)):
            denied = _first(rules, "deny", lambda rule, v=variable: _admits(rule, "env", [v]))
            if denied:
                return PolicyDecision(
                    False, denied.id, f"{denied.id} denies the variable {variable}"
                )
        if source and source.startswith(_OURS):
            why = f"{source} is the runner's own variable, which no program may receive"
            return PolicyDecision(False, f"{profile}.env", why)
        for variable in wanted:
            allowed = _first(rules, "allow", lambda rule, v=variable: _admits(rule, "env", [v]))
            if allowed is None:
                why = f"no rule allows the variable {variable[:80]}"
                return PolicyDecision(False, f"{profile}.env", why, variable=variable)
            used.append(allowed.id)
    if used:
        rules_used = tuple(dict.fromkeys(used))
        return PolicyDecision(True, rules_used[0], f"{', '.join(rules_used)} allows it", rules_used)
    return _by_profile(profile, "no rule allows it")


def _by_profile(profile: str, why: str) -> PolicyDecision:
    if profile == "full-auto":
        return PolicyDecision(True, "full-auto.default", "full-auto allows what no rule denies")
    return PolicyDecision(False, f"{profile}.default", why)


def _commands(asked: PolicyRequest) -> list[list[str]] | None:
    if asked.tool == "exec":
        argv = asked.args.get("argv")
        return [[str(word) for word in argv]] if isinstance(argv, list | tuple) and argv else None
    return simple_commands(str(asked.args.get("command", "")))


def _first(rules: Iterable[PolicyRule], effect: str, holds: Any) -> PolicyRule | None:
    return next((rule for rule in rules if rule.effect == effect and holds(rule)), None)


def _covers(rule: PolicyRule, tool: str) -> bool:
    return rule.tool == tool or (rule.tool == "bash" and tool == "exec")


def _names(rule: PolicyRule, tool: str) -> bool:
    return bool(_word(rule.tool).match(tool))


def _admits(rule: PolicyRule, tool: str, words: Sequence[str]) -> bool:
    """Whether the rule matches this command, word by word; a final `*` matches any remaining words.

    An allow rule never leads out of a folder: its `*` does not match `.`, `..` or an empty name.
    """
    if not _covers(rule, tool):
        return False
    if rule.pattern is None:
        return True
    pattern = rule.pattern.split()
    if pattern and pattern[-1] == "*":
        pattern.pop()
        words = words[: len(pattern)] if len(words) >= len(pattern) else ()
        if not words and pattern:
            return False
    return len(words) == len(pattern) and all(
        one == "*"
        or (_word(one).match(word) and (rule.effect == "deny" or not _wanders(one, word)))
        for one, word in zip(pattern, words, strict=True)
    )


def _wanders(pattern: str, word: str) -> bool:
    names = zip(pattern.split("/"), word.split("/"), strict=True)
    return any("*" in meant and name in ("", ".", "..") for meant, name in names)


@lru_cache(maxsize=1024)
def _word(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression; `*` matches anything except a slash."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.compile(r"[^/]*".join(parts) + r"\Z", re.DOTALL)
