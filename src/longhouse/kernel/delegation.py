"""The parts of the job protocol shared by the server and the runner.

Limits and patterns for what a runner sends, the event kinds that only the server writes, and the
rule that chooses an executor. Constants and pure functions only, because every process that touches
jobs imports this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta

__all__ = [
    "ARTIFACTS",
    "EXECUTORS",
    "JOB_ID",
    "MAX_CHANGED",
    "MAX_MESSAGE",
    "MAX_PATH",
    "MAX_REASON",
    "MAX_REF",
    "MAX_REFS",
    "MAX_SUMMARY",
    "MODEL_NAME",
    "PROFILES",
    "REPORT_KIND",
    "RESERVED_KINDS",
    "RUNNER_ID",
    "SKILL_PROFILES",
    "Artifact",
    "Profile",
    "ProjectId",
    "Projects",
    "SkillProfile",
    "best_way",
    "executor_rank",
    "ways_to_run",
]

Profile = Literal["fast", "deep", "audit"]
Artifact = Literal["report", "diff", "patch", "bench", "docs_update"]
SkillProfile = Literal["daily", "strict", "research", "teamlead"]

PROFILES: Final[tuple[Profile, ...]] = ("fast", "deep", "audit")
"""From the least to the most thorough."""
ARTIFACTS: Final[tuple[Artifact, ...]] = ("report", "diff", "patch", "bench", "docs_update")
EXECUTORS: Final = ("codex", "claude_code")
"""The built-in executors; the name of a plug-in contains a dot."""
SKILL_PROFILES: Final[tuple[SkillProfile, ...]] = ("daily", "strict", "research", "teamlead")

JOB_ID: Final = r"\AJOB-(?:[0-9]{3}|[1-9][0-9]{3,14})\Z"
RUNNER_ID: Final = r"\A[A-Za-z0-9][A-Za-z0-9._:/+-]{0,127}\Z"
MODEL_NAME: Final = r"\A[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}\Z"
"""The name is passed on a command line, so it cannot look like a flag or contain spaces."""
ProjectId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z", examples=["0" * 32])]
Projects = Annotated[list[ProjectId], Meta(max_length=64)]
"""The projects of a runner's root, one of which must be bound to the workspace."""
REPORT_KIND: Final = r"\A[a-z][a-z0-9_]{0,31}\Z"

MAX_CHANGED: Final = 200
"""The maximum number of changed files that a slice's report names."""
MAX_PATH: Final = 1024
MAX_REFS: Final = 32
MAX_REF: Final = 256
MAX_MESSAGE: Final = 4_000
MAX_REASON: Final = 400
MAX_SUMMARY: Final = 8_000

RESERVED_KINDS: Final = frozenset(
    {
        "blocked",
        "canceled",
        "changes_wait",
        "claimed",
        "completed",
        "created",
        "failed",
        "held",
        "incursion",
        "manager",
        "ready",
        "reclaimed",
        "refused",
        "released",
        "requeued",
        "retrying",
        "slice_recovered",
        "updated",
        "waiting",
        "woken",
    }
)
"""Kinds that only the server writes, so that no report can pose as a decision or a transition."""

_DEFAULT = {"fast": "codex", "deep": "claude_code", "audit": "claude_code"}


def ways_to_run(
    offered: Mapping[str, Collection[str]],
    *,
    executor: str = "auto",
    profile: str = "fast",
    least: str | None = None,
    forbid: Collection[str] = (),
) -> list[tuple[str, str]]:
    """The offered executors that may run the job, each with the profile it would use.

    The profile is the requested one or, if that is below `least`, the lowest offered profile that
    is not.
    """
    names = (name for name in offered if executor in ("auto", name) and name not in forbid)
    return [(name, fit) for name in names if (fit := _profile(offered[name], profile, least))]


def executor_rank(executor: str, profile: str) -> tuple[bool, bool, str]:
    """The sort key that decides between executors a job has no preference among; lowest wins.

    Codex for `fast`, Claude Code for work that needs more thought. Plug-ins come last: one may
    treat the prompt as anything, even a script.
    """
    return executor != _DEFAULT.get(profile), executor not in EXECUTORS, executor


def best_way(
    ways: Iterable[tuple[str, str]], *, profile: str = "fast", prefer: Iterable[str] = ()
) -> tuple[str, str] | None:
    """The executor and profile that a runner uses: the job's preference first, then by rank."""
    places = {name: place for place, name in reversed(list(enumerate(prefer)))}
    return min(
        ways,
        key=lambda way: (places.get(way[0], len(places)), executor_rank(way[0], profile)),
        default=None,
    )


def _profile(offered: Collection[str], asked: str, least: str | None) -> str | None:
    order = list[str](PROFILES)
    if asked not in order:
        return None
    if least not in order or order.index(asked) >= order.index(least):
        return asked if asked in offered else None
    return next((name for name in order[order.index(least) :] if name in offered), None)
