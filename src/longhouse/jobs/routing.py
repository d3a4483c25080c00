"""Which runners may run a job: pure and deterministic, whatever the order of the runners.

    filter   capabilities, forbid, min_profile, expected artifacts, runners that declined it
    rank     place in prefer, then availability, then queue length
    tie      runner id, then the usual executor for such a job (kernel/delegation.py)

A `Need` is stored as text in the job's `route`, so jobs that are equivalent to every runner share
one queue, and a claim reads one job per queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longhouse.kernel.delegation import (
    EXECUTORS,
    PROFILES,
    Artifact,
    Profile,
    executor_rank,
    ways_to_run,
)
from longhouse.kernel.values import Value

__all__ = [
    "PROFILES",
    "Artifact",
    "Choice",
    "Executor",
    "ExecutorOrAuto",
    "Need",
    "Offer",
    "Policy",
    "Profile",
    "RunnerCandidate",
    "can_run",
    "choose",
    "lacks",
    "refusal",
    "unoffered",
]

_PLUGGED_IN = r"[a-z][a-z0-9_-]{0,31}(?:\.[a-z0-9][a-z0-9_-]{0,31}){1,3}"
"""A plug-in's name has a dot (`acme.shell`), so a misspelled built-in is never mistaken for one."""


def _named(*words: str) -> Any:
    either = "|".join([*words, _PLUGGED_IN])
    return Meta(
        pattern=rf"\A(?:{either})\Z",
        title=f"{', '.join(words)} or a plug-in like acme.shell",
        examples=[words[0]],
    )


Executor = Annotated[str, _named(*EXECUTORS)]
ExecutorOrAuto = Annotated[str, _named(*EXECUTORS, "auto")]
"""The name of an executor, or `auto`."""


class Policy(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `executor=auto` is routed: executors to prefer, to forbid, and the minimum profile."""

    prefer: Annotated[list[Executor], Meta(max_length=8)] = []
    forbid: Annotated[list[Executor], Meta(max_length=8)] = []
    min_profile: Profile | None = None


class Need(Value, frozen=True, kw_only=True):
    """What a job requires of its runner."""

    executor: str = "auto"
    profile: Profile = "fast"
    policy: Policy | None = None
    artifacts: tuple[Artifact, ...] = ()
    declined: tuple[str, ...] = ()
    paths: bool = False
    """Whether the job has paths; the spec lists them."""

    @property
    def is_open(self) -> bool:
        """Whether a runner that advertises nothing may take it."""
        return self.executor == "auto" and self.policy is None

    @property
    def prefer(self) -> list[str]:
        return self.policy.prefer if self.policy else []

    def route(self) -> str:
        return msgspec.json.encode(self).decode()

    @staticmethod
    @lru_cache(maxsize=1024)
    def from_route(route: str) -> Need:
        return msgspec.json.decode(route, type=Need)

    def declined_by(self, runner: RunnerCandidate) -> Need:
        declined = tuple(sorted({*self.declined, runner.as_it_is}))
        return msgspec.structs.replace(self, declined=declined)

    def afresh(self) -> Need:
        return msgspec.structs.replace(self, declined=())


class Offer(Value, frozen=True, kw_only=True):
    """What a runner advertises; omitted profiles or artifacts mean no restriction.

    `available` is false for an executor whose program is not on the runner's machine.
    """

    executors: tuple[str, ...] = ()
    available: dict[str, bool] | None = None
    profiles: tuple[str, ...] | dict[str, tuple[str, ...]] | None = None
    supports_artifacts: tuple[str, ...] | None = None
    max_parallel: int | None = None
    sandbox_policy: str | None = None

    @property
    def ready(self) -> tuple[str, ...]:
        """The executors that can run a job now."""
        lacking = self.available or {}
        return tuple(name for name in self.executors if lacking.get(name, True))

    @property
    def takes_jobs(self) -> bool:
        """Whether it can run any job; a runner that advertises nothing may take some."""
        return bool(self.ready or not self.executors)

    def profiles_of(self, executor: str) -> tuple[str, ...]:
        if isinstance(self.profiles, dict):
            return tuple(self.profiles.get(executor, ()))
        return PROFILES if self.profiles is None else self.profiles


class RunnerCandidate(Value, frozen=True, kw_only=True):
    """A runner that is online, with what it advertises and how busy it is."""

    runner_id: str
    offer: Offer
    running: int = 0
    since_ms: int = 0

    @property
    def as_it_is(self) -> str:
        """Its id until it restarts or changes its offer, which is how long a decline counts."""
        return f"{self.runner_id}#{self.since_ms}"

    @property
    def available(self) -> bool:
        return self.running < (self.offer.max_parallel or 1)


class Choice(Value, frozen=True, kw_only=True):
    """A runner, and how it would run the job."""

    runner_id: str
    executor: str
    profile: str


def choose(need: Need, candidates: Iterable[RunnerCandidate]) -> Choice | None:
    """The runner that should take the job, if any can."""
    ranked = [
        (
            (_preference(need, executor), not c.available, c.running, c.runner_id),
            executor_rank(executor, need.profile),
            profile,
        )
        for c in candidates
        for executor, profile in _ways(need, c)
    ]
    if not ranked:
        return None
    (*_, runner_id), (*_, executor), profile = min(ranked)
    return Choice(runner_id=runner_id, executor=executor, profile=profile)


def refusal(
    need: Need, runner: RunnerCandidate, others: Iterable[RunnerCandidate] = ()
) -> str | None:
    """Why this runner may not take the job now; None if it may.

    Among equally preferred runners, the first to claim wins; a less preferred one leaves the job to
    those that are available.
    """
    if runner.as_it_is in need.declined:
        return f"{runner.runner_id} declined it"
    if not runner.offer.executors:
        return None if need.is_open else "it needs a runner that advertises its executors"
    ways = _ways(need, runner)
    if not ways:
        return f"{runner.runner_id} {lacks(need, runner.offer)}"
    if not need.prefer:
        return None
    mine = min(_preference(need, executor) for executor, _ in ways)
    for other in others:
        if other.runner_id == runner.runner_id or not other.available:
            continue
        theirs = min((_preference(need, ex) for ex, _ in _ways(need, other)), default=mine)
        if theirs < mine:
            return f"it prefers {need.prefer[theirs]} and {other.runner_id} is available"
    return None


def can_run(need: Need, runner: RunnerCandidate) -> bool:
    """Whether the runner has what the job needs, busy or not."""
    if not runner.offer.executors:
        return need.is_open and runner.as_it_is not in need.declined
    return bool(_ways(need, runner))


def unoffered(need: Need, candidates: Sequence[RunnerCandidate]) -> str | None:
    """Why a job for one executor must wait for a new runner; None if a runner offers it.

    Any runner may have Codex and Claude Code, so for those the answer is None while no runner is
    online.
    """
    offered = sorted({executor for c in candidates for executor in c.offer.ready})
    if need.executor in offered or (need.executor in EXECUTORS and not candidates):
        return None
    have = f"they offer {', '.join(offered) or 'none by name'}" if candidates else "none is online"
    return f"no online runner offers {need.executor}; {have}"


def _ways(need: Need, candidate: RunnerCandidate) -> list[tuple[str, str]]:
    """The executors with which the candidate could run the job, each with its profile."""
    offer = candidate.offer
    if candidate.as_it_is in need.declined:
        return []
    if offer.supports_artifacts is not None and set(need.artifacts) - set(offer.supports_artifacts):
        return []
    policy = need.policy or Policy()
    return ways_to_run(
        {executor: offer.profiles_of(executor) for executor in offer.ready},
        executor=need.executor,
        profile=need.profile,
        least=policy.min_profile,
        forbid=policy.forbid,
    )


def _preference(need: Need, executor: str) -> int:
    for place, preferred in enumerate(need.prefer):
        if preferred == executor:
            return place
    return len(need.prefer)


def lacks(need: Need, offer: Offer) -> str:
    """What the offer lacks, worded so that a person can act on it."""
    if not offer.executors:
        return "advertises no executors"
    missing = set(need.artifacts) - set(offer.supports_artifacts or ())
    if offer.supports_artifacts is not None and missing:
        return f"does not produce {', '.join(sorted(missing))}"
    if not offer.ready:
        return "has no agent"
    policy = need.policy or Policy()
    least = f", at least {policy.min_profile}" if policy.min_profile else ""
    never = f", never {' or '.join(policy.forbid)}" if policy.forbid else ""
    return (
        f"offers {', '.join(offer.ready)}; the job asks for {need.executor} "
        f"with profile {need.profile}{least}{never}"
    )
