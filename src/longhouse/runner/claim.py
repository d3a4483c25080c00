"""A runner's claim on one job: fenced writes, and how the claim can end.

A refusal because the claim no longer holds raises `ClaimLost`; after that nothing is reported.
Refs that open nothing are removed and named in the message, so that they do not block a report.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from longhouse.executors import TokenUsage
from longhouse.kernel.delegation import (
    MAX_MESSAGE,
    MAX_REASON,
    MAX_SUMMARY,
    REPORT_KIND,
    RESERVED_KINDS,
)
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.redact import redact_text
from longhouse.kernel.trim import clip_text
from longhouse.runner.plane import Plane
from longhouse.runner.slice_proof import bounded, unknown_refs

__all__ = ["OVER", "Claim", "ClaimLost", "ProofMissing", "new_agent_token", "usage_told"]

OVER = {"over": True}
"""Marks the runtime notes of a finished job. They stay readable, but are not continued: a job that
runs again starts with its full time, all its proof rounds and a new session."""


class ClaimLost(Exception):
    """Another runner holds the job, or it has finished."""


class ProofMissing(Exception):
    """The server refused DONE: no ref that proves it opens."""


def new_agent_token() -> tuple[str, str]:
    """A token for the agent of one claim, and the digest that identifies it in the claim."""
    token = f"lh_{os.urandom(32).hex()}"
    return token, hashlib.sha256(token.encode()).hexdigest()


class Claim(NamedTuple):
    """The fence of one claimed job."""

    plane: Plane
    job: str
    runner_id: str
    revision: int
    lease_ms: int
    renewed: Callable[[float], None] = lambda _asked_at: None
    """Called after each report with the time it was sent, from which the lease counts."""

    def heartbeat(self) -> None:
        """Renew the lease; a single attempt."""
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
        usage: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
        changed: dict[str, Any] | None = None,
    ) -> None:
        """Report an event; refs that open nothing are left out, and the message says so."""
        kept = bounded(refs or [])
        more: dict[str, Any] = {"lease_ttl_ms": self.lease_ms}
        if percent is not None:
            more["percent"] = min(max(percent, 0), 100)
        if usage:
            more["usage"] = usage
        if meta:
            more["meta"] = meta
        if changed:
            more["changed"] = changed
        while True:
            try:
                self._fenced(
                    self.plane.write,
                    "jobs.report",
                    kind=_kind(kind),
                    refs=kept,
                    message=_clip(message, MAX_MESSAGE),
                    **more,
                )
            except LonghouseError as error:
                if error.code != "UNKNOWN_ID" or not kept:
                    raise
                unknown = unknown_refs(kept, error)
                message = f"{message} [opens nothing: {', '.join(unknown)}]"
                kept = [ref for ref in kept if ref not in unknown]
            else:
                return

    def complete(
        self,
        status: str,
        summary: str,
        refs: list[str],
        *,
        proof: list[str] | None = None,
        changes: str | None = None,
    ) -> None:
        """Complete the job; raises ProofMissing if none of its proof opens.

        `changes` says why the worktree's changes have not been applied yet.
        """
        kept = bounded(refs)
        more = {"changes": _clip(changes, MAX_MESSAGE)} if changes else {}
        while True:
            try:
                self._fenced(
                    self.plane.write,
                    "jobs.complete",
                    status=status,
                    refs=kept,
                    meta=OVER,
                    summary=_clip(summary, MAX_SUMMARY),
                    **more,
                )
            except LonghouseError as error:
                if error.code == "PROOF_REQUIRED":
                    raise ProofMissing(error.message) from error
                if error.code != "UNKNOWN_ID" or not kept:
                    raise
                unknown = unknown_refs(kept, error)
                kept = [ref for ref in kept if ref not in unknown]
                if proof and not set(proof) & set(kept):
                    raise ProofMissing(error.message) from error
            else:
                return

    def release(self, reason: str, *, decline: bool = False) -> None:
        """Give the job back; with `decline`, this runner is not offered it again."""
        self._fenced(
            self.plane.write, "jobs.release", reason=_clip(reason, MAX_REASON), decline=decline
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


def usage_told(used: TokenUsage, agent: str, *, began: bool) -> dict[str, Any] | None:
    """A slice's usage as it is reported: what an agent does not report is unknown, never zero.

    `began` says whether the agent printed anything at all.
    """
    if not any(used):
        return {"cost_usd": "unknown", "agent": agent} if began else None
    told = {name: count for name, count in used._asdict().items() if count or name != "cost_usd"}
    return {**told, "agent": agent}


def _kind(kind: str) -> str:
    """The kind of an agent's event, or `progress` if the server would refuse it.

    Agents may not send `heartbeat`, since the server records no event for one.
    """
    word = re.sub(r"[^a-z0-9_]", "_", kind.lower()).strip("_")[:32]
    taken = word in RESERVED_KINDS or word == "heartbeat"
    return word if re.match(REPORT_KIND, word) and not taken else "progress"


def _clip(text: str, chars: int) -> str:
    """Agent output in a form the server accepts: no NUL, no lone surrogates, not too long.

    Secrets are redacted before cutting, since the server could not recognize half a token.
    """
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return text if len(text) <= chars else clip_text(redact_text(text), chars)
