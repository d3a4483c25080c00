"""Which executor runs a job: the one rule that server and runner share."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.delegation import PROFILES, best_way, ways_to_run

ALL = {"acme.shell": PROFILES, "claude_code": PROFILES, "codex": PROFILES}


def chosen(offered: dict[str, Any], *, prefer: list[str] | None = None, **asked: Any) -> Any:
    ways = ways_to_run(offered, **asked)
    return best_way(ways, profile=asked.get("profile", "fast"), prefer=prefer or ())


@pytest.mark.parametrize(
    "asked, wanted",
    [
        ({}, ("codex", "fast")),
        ({"profile": "deep"}, ("claude_code", "deep")),
        ({"profile": "audit"}, ("claude_code", "audit")),
        ({"executor": "acme.shell"}, ("acme.shell", "fast")),
        ({"executor": "other.one"}, None),
        ({"forbid": ["codex"]}, ("claude_code", "fast")),
        ({"forbid": ["codex", "claude_code"]}, ("acme.shell", "fast")),
        ({"forbid": list(ALL)}, None),
        ({"prefer": ["acme.shell", "codex"]}, ("acme.shell", "fast")),
        ({"prefer": ["gone", "claude_code"]}, ("claude_code", "fast")),
        ({"least": "deep"}, ("codex", "deep")),
        ({"least": "fast", "profile": "deep"}, ("claude_code", "deep")),
        ({"profile": "odd"}, None),
    ],
)
def test_one_rule_decides_which_executor_runs_a_job(asked: dict[str, Any], wanted: Any) -> None:
    assert chosen(ALL, **asked) == wanted
    assert chosen(dict(reversed(ALL.items())), **asked) == wanted


def test_an_executor_runs_only_in_profiles_that_it_offers() -> None:
    offered = {"codex": ("fast",), "claude_code": ("fast", "audit")}
    assert chosen(offered, profile="deep") is None
    assert chosen(offered, least="deep") == ("claude_code", "audit")
