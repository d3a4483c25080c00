"""Policy is a pure decision from the profile, the rules and the request."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest, PolicyRule, decide

MAKE = PolicyRule(id="RULE-001", tool="bash", pattern="make *")
ECHO = PolicyRule(id="RULE-002", tool="bash", pattern="echo *")


def bash(line: str, mode: Any = "pipes", **more: Any) -> PolicyRequest:
    return PolicyRequest("bash", {"command": line, **more}, mode)


@pytest.mark.proves("TTA-038")
def test_safe_admits_only_what_a_rule_allows() -> None:
    assert decide("safe", [], bash("make test")) == PolicyDecision(
        False, "safe.default", "no rule allows 'make test'"
    )
    decision = decide("safe", [MAKE], bash("make test"))
    assert (decision.allowed, decision.rule) == (True, "RULE-001")
    for other in (bash("cmake test"), bash("rm x"), PolicyRequest("jobs.list", {})):
        assert decide("safe", [MAKE], other).rule == "safe.default"


@pytest.mark.parametrize(
    "line", ["echo a; rm x", "echo a && rm x", "echo a | sh", "echo $(rm x)", "echo a\nrm x"]
)
def test_a_rule_does_not_admit_what_is_smuggled_behind_it(line: str) -> None:
    assert not decide("safe", [ECHO], bash(line)).allowed


def test_every_simple_command_of_a_line_needs_a_rule() -> None:
    decision = decide("safe", [MAKE, ECHO], bash("make && echo done"))
    assert (decision.allowed, decision.rules) == (True, ("RULE-001", "RULE-002"))


def test_a_star_inside_a_word_does_not_lead_out_of_a_folder() -> None:
    rule = PolicyRule(id="R", tool="exec", pattern="cat docs/*")
    assert decide("safe", [rule], PolicyRequest("exec", {"argv": ["cat", "docs/a.md"]})).allowed
    away = PolicyRequest("exec", {"argv": ["cat", "docs/../../etc/passwd"]})
    assert not decide("safe", [rule], away).allowed


@pytest.mark.proves("TTA-038")
def test_a_rule_for_bash_holds_for_exec_but_not_the_other_way_round() -> None:
    argv = PolicyRequest("exec", {"argv": ["make", "a; rm x"]})
    assert decide("safe", [MAKE], argv).allowed
    only = PolicyRule(id="R", tool="exec", pattern="make *")
    assert not decide("safe", [only], bash("make test")).allowed


@pytest.mark.proves("TTA-039", "TTA-041")
def test_terminals_need_a_rule_that_says_so_in_safe_and_none_in_full_auto() -> None:
    pty = PolicyRule(id="R", tool="bash", pattern="make *", pty=True, justification="menu")
    assert not decide("safe", [MAKE], bash("make menu", "pty")).allowed
    assert decide("safe", [pty], bash("make menu", "pty")).allowed
    assert decide("full-auto", [], bash("make menu", "pty")).allowed


@pytest.mark.proves("TTA-040")
def test_full_auto_admits_all_but_what_a_rule_forbids() -> None:
    deny = PolicyRule(id="R", effect="deny", tool="bash", pattern="rm *")
    assert decide("full-auto", [], bash("rm x")).allowed
    assert not decide("full-auto", [deny], bash("ls; rm x")).allowed
    assert not decide("full-auto", [deny], bash("$(echo rm) x")).allowed
    assert decide("full-auto", [deny], bash("ls")).allowed


def test_what_a_rule_forbids_is_forbidden_however_its_path_is_written() -> None:
    deny = PolicyRule(id="R", effect="deny", tool="bash", pattern="rm docs/*")
    for path in ("docs/a.md", "docs/..", "docs/."):
        assert not decide("full-auto", [deny], bash(f"rm {path}")).allowed
    assert decide("full-auto", [deny], bash("rm a.md")).allowed


def test_variables_are_allowed_by_name_and_sources_always_need_a_rule() -> None:
    env = PolicyRule(id="RULE-009", tool="env", pattern="GITHUB_*")
    asked = bash("make test", env={"GITHUB_TOKEN": {"from": "env:GITHUB_TOKEN"}})
    assert not decide("safe", [MAKE], asked).allowed
    assert not decide("full-auto", [], asked).allowed
    assert decide("safe", [MAKE, env], asked).allowed
    assert not decide("safe", [MAKE, env], bash("make", env={"LD_PRELOAD": "x.so"})).allowed
    assert decide("full-auto", [], bash("make", env={"CI": "1"})).allowed
    taken = bash("make", env={"GITHUB_X": {"from": "env:AWS_SECRET"}})
    assert not decide("safe", [MAKE, env], taken).allowed


def test_commands_of_the_registry_are_allowed_by_their_names() -> None:
    jobs = PolicyRule(id="R", tool="jobs.*")
    assert decide("safe", [jobs], PolicyRequest("jobs.list", {})).allowed
    assert not decide("safe", [jobs], PolicyRequest("tasks.done", {})).allowed
    assert not decide("safe", [MAKE], PolicyRequest("jobs.list", {})).allowed


@pytest.mark.parametrize("profile", ["safe", "full-auto"])
def test_a_rule_that_forbids_a_variable_wins_over_one_that_allows_it(profile: str) -> None:
    allowed = PolicyRule(id="RULE-003", tool="env", pattern="*")
    denied = PolicyRule(id="RULE-004", tool="env", pattern="LD_*", effect="deny")
    asked = bash("make test", env={"LD_PRELOAD": "x.so"})
    assert decide(profile, [MAKE, allowed], asked).allowed
    decision = decide(profile, [MAKE, allowed, denied], asked)
    assert (decision.allowed, decision.rule) == (False, "RULE-004")
    assert "LD_PRELOAD" in decision.why
