"""Records dispatches in a Longhouse store: `recorder=StoreRecorder(longhouse.connect())`.

A dispatch that cannot be recorded does not start. After that, the child's work matters more than
its record: an ending that cannot be written is logged and retried with every heartbeat, and if the
program dies, its records read as interrupted once their lease has expired.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from inspect import iscoroutinefunction
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from longhouse.kernel.errors import LonghouseError
from longhouse.ledger.types import (
    FinishSubagent,
    Params,
    RenewSubagents,
    StartSubagent,
    SubagentUsage,
    ToolCount,
)
from longhouse.subagents.errors import SnapshotSerializationError
from longhouse.subagents.records import DispatchFinished, DispatchStarted
from longhouse.subagents.snapshots import Snapshot

if TYPE_CHECKING:
    from longhouse.client import Client

__all__ = ["StoreRecorder"]

logger = logging.getLogger(__name__)

LEASE_S: Final = 60.0
NAME_CHARS: Final = 1_000
LABEL_CHARS: Final = 160
MESSAGE_CHARS: Final = 4_000
MOST: Final = 500
BATCH: Final = 500
SNAPSHOT_BYTES: Final = 700_000
"""Together, these limits keep every call well below the server's maximum request size."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

Written = tuple[str | None, str | None]
"""The digest of a state, and its text if it is kept; both None if it cannot be serialized."""


class StoreRecorder:
    """Records dispatches through a client; one recorder may serve many sessions and threads.

    While a dispatch runs, a thread renews its lease three times per `lease_s` (1 to 300 seconds).
    `keep_snapshots` stores each child's initial state, to be read with `Snapshot.from_json`;
    without it, only the digest is kept.
    """

    def __init__(
        self, client: Client, *, lease_s: float = LEASE_S, keep_snapshots: bool = False
    ) -> None:
        if not 1 <= lease_s <= 300:
            raise ValueError(f"lease_s must be 1 to 300 seconds; got {lease_s!r}")
        if iscoroutinefunction(type(client).__call__):  # it would silently record nothing
            raise TypeError("StoreRecorder takes longhouse.connect(), not connect_async()")
        self._client = client
        self._lease_s = lease_s
        self._keep_snapshots = keep_snapshots
        self._changed = threading.Condition()
        self._running: set[str] = set()
        self._unsent: list[FinishSubagent] = []
        self._heart: threading.Thread | None = None
        self._writing = threading.Lock()
        self._written: tuple[Snapshot, Written] | None = None

    def started(self, start: DispatchStarted, /) -> None:
        digest, text = self._state(start.snapshot)
        self._client(
            StartSubagent(
                dispatch_id=start.dispatch_id,
                parent_id=start.parent_id,
                session_id=None if start.session_id is None else _text(start.session_id),
                depth=start.depth,
                params=_params(start),
                snapshot_digest=digest,
                snapshot=text,
                lease_ttl_ms=self._lease_ms,
            ),
            idempotency_key=f"subagent-start-{start.dispatch_id}",
        )
        with self._changed:
            self._running.add(start.dispatch_id)
            if self._heart is None:
                self._heart = threading.Thread(
                    target=self._keep_beating, name="longhouse-recorder", daemon=True
                )
                self._heart.start()

    def finished(self, finish: DispatchFinished, /) -> None:
        ending = _ending(finish)
        try:
            self._finish(ending)
        except LonghouseError as error:
            if error.retryable:
                with self._changed:
                    self._unsent.append(ending)
            raise
        finally:
            with self._changed:
                self._running.discard(finish.dispatch_id)
                if not self._running:
                    self._written = None
                self._changed.notify_all()

    def beat(self) -> None:
        """Renew the lease of all running dispatches, and retry endings that failed to write."""
        with self._changed:
            running, unsent = iter(sorted(self._running)), list(self._unsent)
        try:
            while batch := list(islice(running, BATCH)):
                self._client(RenewSubagents(dispatch_ids=batch, lease_ttl_ms=self._lease_ms))
            for ending in unsent:
                self._finish_at_last(ending)
        except Exception as error:  # the next beat tries again
            logger.warning("dispatch records could not be updated: %s", error)

    def close(self) -> None:
        """Retry failed endings one last time; leases are no longer renewed."""
        with self._changed:
            self._running.clear()
        self.beat()
        with self._changed:
            self._unsent.clear()
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _lease_ms(self) -> int:
        return round(self._lease_s * 1000)

    def _keep_beating(self) -> None:
        while True:
            with self._changed:
                if self._changed.wait_for(self._is_idle, timeout=self._lease_s / 3):
                    self._heart = None
                    return
            self.beat()

    def _is_idle(self) -> bool:
        return not self._running and not self._unsent

    def _finish(self, ending: FinishSubagent) -> None:
        self._client(ending, idempotency_key=f"subagent-finish-{ending.dispatch_id}")

    def _finish_at_last(self, ending: FinishSubagent) -> None:
        try:
            self._finish(ending)
        except LonghouseError as error:
            if error.retryable:
                raise
            logger.warning("the end of dispatch %s was refused: %s", ending.dispatch_id, error)
        with self._changed:
            if ending in self._unsent:
                self._unsent.remove(ending)
            self._changed.notify_all()

    def _state(self, snapshot: Snapshot | None) -> Written:
        """Serialize a snapshot once: dispatches of one turn share it, and the others wait."""
        if snapshot is None:
            return None, None
        with self._writing:
            kept = self._written
            if kept is None or kept[0] is not snapshot:
                kept = self._written = (snapshot, self._write(snapshot))
            return kept[1]

    def _write(self, snapshot: Snapshot) -> Written:
        try:
            digest = snapshot.digest()
            text = snapshot.to_json() if self._keep_snapshots else None
        except SnapshotSerializationError as error:
            logger.warning("a child's initial state could not be recorded: %s", error)
            return None, None
        if text is not None and (size := len(json.dumps(text))) > SNAPSHOT_BYTES:
            logger.warning("a child's initial state is too large to keep: %d bytes", size)
            text = None
        return digest, text


def _params(start: DispatchStarted) -> Params:
    asked = start.params
    return Params(
        mode=asked.mode,
        prompt_ns=_text(asked.prompt_ns),
        prompt_key=_text(asked.prompt_key),
        instructions=_text(asked.instructions, 2_000),
        expected_artifacts=_labels(asked.expected_artifacts),
        plan_step_id=None if asked.plan_step_id is None else _text(asked.plan_step_id),
    )


def _ending(finish: DispatchFinished) -> FinishSubagent:
    return FinishSubagent(
        dispatch_id=finish.dispatch_id,
        outcome=finish.outcome.value,
        message=_text(finish.message, MESSAGE_CHARS),
        tools=[
            ToolCount(name=_text(name, LABEL_CHARS), calls=calls)
            for name, calls in finish.tools[:MOST]
        ],
        usage=SubagentUsage(
            turns=finish.usage.turns, tokens=finish.usage.tokens, children=finish.usage.children
        ),
        artifacts=_labels(finish.artifacts),
        missing_artifacts=_labels(finish.missing_artifacts),
        error_type=None if finish.error_type is None else _text(finish.error_type),
    )


def _labels(labels: Iterable[str]) -> list[str]:
    """At most MOST labels; if there are more, the last one says how many."""
    kept = [_text(label, LABEL_CHARS) for label in labels]
    more = len(kept) - MOST
    return kept if more <= 0 else [*kept[: MOST - 1], f"[{more + 1} more]"]


def _text(text: str, chars: int = NAME_CHARS) -> str:
    """Text that a store accepts: no lone surrogates, no control characters, limited length."""
    clean = _CONTROL.sub("?", text.encode("utf-8", "replace").decode())
    return clean if len(clean) <= chars else f"{clean[: chars - 1]}…"
