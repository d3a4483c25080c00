"""What background processes may do: a pure decision from a profile, rules and what is asked for.

`safe` admits only what a rule allows, `full-auto` all but what a rule forbids; a rule that forbids
always wins. The server decides when a task is asked for and the runner again before it starts one,
each by its own profile, both with this function.
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
"""How the variables begin that hold the house's own settings, its token among them."""


class PolicyRule(Value, frozen=True, kw_only=True):
    """One rule. `tool` is `bash`, `exec`, `env`, or a command of the registry (`jobs.*`).

    `pattern` says which command lines, or which names of variables; without one, all.
    A rule for `bash` holds for `exec` as well, whose words need no shell.
    """

    id: str
    effect: Literal["allow", "deny"] = "allow"
    tool: str
    pattern: str | None = None
    pty: bool = False
    justification: str | None = None


class PolicyRequest(NamedTuple):
    """What somebody wants to start."""

    tool: str
    args: Mapping[str, Any]
    mode: Mode = "pipes"


class PolicyDecision(NamedTuple):
    """Whether it may, by which rule, and why; `rules` are all that it took."""

    allowed: bool
    rule: str
    why: str
    rules: tuple[str, ...] = ()


def decide(profile: str, rules: Sequence[PolicyRule], asked: PolicyRequest) -> PolicyDecision:
    """The decision about one call of a tool."""
    if is_programs_tool(asked.tool):
        return _program(profile, rules, asked)
    denied = _first(rules, "deny", lambda rule: _names(rule, asked.tool))
    if denied:
        return PolicyDecision(False, denied.id, f"{denied.id} forbids {asked.tool}")
    allowed = _first(rules, "allow", lambda rule: _names(rule, asked.tool))
    if allowed:
        return PolicyDecision(True, allowed.id, f"{allowed.id} allows {asked.tool}", (allowed.id,))
    return _by_profile(profile, f"no rule allows the command {asked.tool}")


def env_source(value: Any) -> str | None:
    """The variable that a value of `env` is taken from; None if it is a literal or wrong."""
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
                "a rule forbids some commands, and this line holds "
                "more than simple commands, so it cannot be compared",
            )
        if profile != "full-auto":
            return PolicyDecision(
                False,
                f"{profile}.unreadable",
                "the line holds more than simple commands, which no rule can allow",
            )
    for words in commands or ():
        denied = _first(rules, "deny", lambda rule, w=words: _admits(rule, asked.tool, w))
        if denied:
            return PolicyDecision(False, denied.id, f"{denied.id} forbids {' '.join(words)[:80]!r}")
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
    """Variables can turn any program into another: each needs a rule, or full-auto a literal."""
    env = asked.args.get("env")
    for name, value in env.items() if isinstance(env, Mapping) else ():
        source = env_source(value)
        wanted = ([name] if profile != "full-auto" else []) + ([source] if source else [])
        for variable in filter(None, (name, source)):
            denied = _first(rules, "deny", lambda rule, v=variable: _admits(rule, "env", [v]))
            if denied:
                return PolicyDecision(
                    False, denied.id, f"{denied.id} forbids the variable {variable}"
                )
        if source and source.startswith(_OURS):
            why = f"{source} is the runner's own, which no program is handed"
            return PolicyDecision(False, f"{profile}.env", why)
        for variable in wanted:
            allowed = _first(rules, "allow", lambda rule, v=variable: _admits(rule, "env", [v]))
            if allowed is None:
                return PolicyDecision(
                    False, f"{profile}.env", f"no rule allows the variable {variable[:80]}"
                )
            used.append(allowed.id)
    if used:
        rules_used = tuple(dict.fromkeys(used))
        return PolicyDecision(True, rules_used[0], f"{', '.join(rules_used)} allows it", rules_used)
    return _by_profile(profile, "no rule allows it")


def _by_profile(profile: str, why: str) -> PolicyDecision:
    if profile == "full-auto":
        return PolicyDecision(True, "full-auto.default", "full-auto allows what no rule forbids")
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
    """Whether the rule is about this command: word by word, a last `*` standing for any rest.

    What is allowed leads out of no folder: no name that a `*` stands for is `.` or `..` or empty.
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
    """`*` inside a word stands for anything but a slash."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.compile(r"[^/]*".join(parts) + r"\Z", re.DOTALL)
