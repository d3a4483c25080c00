"""A runner's claim on one job: every write under its fence, and how the claim can end.

A refusal because the claim does not hold is `ClaimLost`: from then on nothing is reported under it.
Refs that open nothing are taken out and named in the message, so that no report is lost for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.executors.base import Usage
from longhouse.runner.plane import Plane
from longhouse.runner.slice_proof import bounded, without

__all__ = ["OVER", "Claim", "ClaimLost", "ProofMissing"]

MESSAGE_CHARS = 4_000
SUMMARY_CHARS = 8_000
REASON_CHARS = 400
KIND_CHARS = 32
_OURS = frozenset(
    {
        "created",
        "claimed",
        "reclaimed",
        "released",
        "retrying",
        "completed",
        "failed",
        "canceled",
        "requeued",
        "manager",
        "blocked",
        "waiting",
        "ready",
        "heartbeat",
    }
)
"""Kinds that an agent's events must not have: the server's own, and the runner's heartbeat."""


OVER = {"over": True}
"""The notes of a claim that ended the job are kept to be read, but not gone on with: a job that is
run again has its time, its rounds and a session of its own."""


class ClaimLost(Exception):
    """The job is another's, or has ended."""


class ProofMissing(Exception):
    """The server does not take DONE without a ref that opens something."""


class Claim(NamedTuple):
    """The fence of one claimed job."""

    plane: Plane
    job: str
    runner_id: str
    revision: int
    lease_ms: int
    renewed: Callable[[float], None] = lambda _asked_at: None
    """Told after each report, with the time when it was sent: from then the lease counts."""

    def heartbeat(self) -> None:
        """Renew the lease; one try."""
        self._fenced(
            self.plane.once,
            "jobs.report",
            kind="heartbeat",
            message="alive",
            lease_ttl_ms=self.lease_ms,
        )

    def report(
        self,
        kind: str,
        message: str,
        *,
        refs: list[str] | None = None,
        percent: int | None = None,
        usage: Usage | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        kept = bounded(refs or [])
        more: dict[str, Any] = {"lease_ttl_ms": self.lease_ms}
        if percent is not None:
            more["percent"] = min(max(percent, 0), 100)
        if usage is not None and any(usage):
            more["usage"] = usage._asdict()
        if meta:
            more["meta"] = meta
        while True:
            try:
                self._fenced(
                    self.plane.write,
                    "jobs.report",
                    kind=_kind(kind),
                    refs=kept,
                    message=_clip(message, MESSAGE_CHARS),
                    **more,
                )
            except LonghouseError as error:
                if error.code != "UNKNOWN_ID" or not kept:
                    raise
                bad = [ref for ref in kept if ref not in without(kept, error.message)]
                message = f"{message} [opens nothing: {', '.join(bad)}]"
                kept = without(kept, error.message)
            else:
                return

    def complete(
        self, status: str, summary: str, refs: list[str], *, proof: list[str] | None = None
    ) -> None:
        """End the job; ProofMissing when of the refs that prove it none opens."""
        kept = bounded(refs)
        while True:
            try:
                self._fenced(
                    self.plane.write,
                    "jobs.complete",
                    status=status,
                    refs=kept,
                    meta=OVER,
                    summary=_clip(summary, SUMMARY_CHARS),
                )
            except LonghouseError as error:
                if error.code == "PROOF_REQUIRED":
                    raise ProofMissing(error.message) from error
                if error.code != "UNKNOWN_ID" or not kept:
                    raise
                kept = without(kept, error.message)
                if proof and not set(proof) & set(kept):
                    raise ProofMissing(error.message) from error
            else:
                return

    def release(self, reason: str, *, decline: bool = False) -> None:
        self._fenced(
            self.plane.write, "jobs.release", reason=_clip(reason, REASON_CHARS), decline=decline
        )

    def _fenced(self, call: Callable[..., Any], cmd: str, /, **args: Any) -> None:
        asked_at = time.monotonic()
        try:
            call(cmd, job=self.job, runner_id=self.runner_id, claim_revision=self.revision, **args)
        except LonghouseError as error:
            if error.code == "CONFLICT":
                raise ClaimLost(error.message) from error
            raise
        if cmd == "jobs.report":
            self.renewed(asked_at)


def _kind(kind: str) -> str:
    """An agent may call its events what it likes; the server takes plain words of its own kind."""
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in kind.lower())
    word = word.strip("_")[:KIND_CHARS]
    return word if word and word[0].isalpha() and word not in _OURS else "progress"


def _clip(text: str, chars: int) -> str:
    """What an agent printed, as the server takes it: no NUL, no half characters, not too long."""
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return text if len(text) <= chars else text[: chars - 1] + "…"
