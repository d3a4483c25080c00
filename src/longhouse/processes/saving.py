"""What processes printed, for backups, exports and imports.

Only output that a host keeps in a folder on this machine is listed here; the rest is in artifacts,
which are saved anyway. Output that a record cites is never left out. A running task is saved as the
part that it has printed so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhouse.processes.cancelling import OPS
from longhouse.processes.output import file_of, kept_of
from longhouse.processes.records import Process, number_of, ref_of
from longhouse.processes.retention import cited_tasks
from longhouse.processes.room import room, sql
from longhouse.store.artifacts import Artifacts
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.growing import Gap
from longhouse.store.tx import Tx
from longhouse.store.upkeep.printed import OUTPUTS, Printed, SavedOutput

__all__ = ["ProcessOutput"]

_PAGE = 200


@room.provides(OUTPUTS)
class ProcessOutput:
    """The output of processes, as the store's upkeep sees it."""

    def listed(self, tx: Tx, most: int | None) -> Iterator[Printed]:
        """Every stream that printed something; of a task over `most` bytes only that it did."""
        cited: set[str] | None = None
        after = 0
        while rows := tx.all(sql.tasks_printed, after=after, limit=_PAGE):
            after = rows[-1]["n"]
            for row in rows:
                process = Process.from_row(row)
                total = sum(one.bytes for one in process.state.streams.values())
                left_out = None
                if most is not None and total > most:
                    cited = cited_tasks(tx) if cited is None else cited
                    if process.task_id not in cited:
                        left_out = f"--max-output {most >> 20}"
                yield from self._streams(tx, process, left_out)

    def receive(self, tx: Tx, keeper: Artifacts, saved: Sequence[tuple[SavedOutput, Blob]]) -> None:
        """Keep imported output as artifacts, where every server of the store can read it."""
        begun = []
        for one, blob in saved:
            artifact = keeper.begin(
                tx,
                name=f"{one.task} {one.stream}",
                owner=one.task,
                cap=None,
                expires_at_ms=tx.now_ms,  # it is held until retention releases it
            )
            n = number_of(one.task)
            tx.run(sql.log_begun, n=n, stream=one.stream, handle=artifact.handle)
            begun.append((artifact.handle, one, blob))
        for handle, one, blob in begun:
            gap = None if one.gap_at is None else Gap(one.gap_at, one.gap_bytes, 0)
            keeper.seal(tx, handle, blob, one.bytes, gap)

    def missing(self, tx: Tx, task: str, why: str) -> None:
        """Record that a task's output did not come along, so that its readers learn why."""
        n = number_of(task)
        if tx.one(sql.output_removed, n=n, now=tx.now_ms, why=why) is not None:
            tx.append(OPS, ref_of(n), "output_removed", {"why": why, "bytes": 0})

    def _streams(self, tx: Tx, process: Process, left_out: str | None) -> Iterator[Printed]:
        for stream, known in process.state.streams.items():
            if not known.bytes:
                continue
            seal = known.seal
            view = file_of(tx, process, stream, seal.bytes_total if seal else None)
            if view is None and kept_of(tx, process, stream) is not None:
                continue
            digest = seal.stored_sha256 if seal else None
            yield Printed(process.task_id, stream, view, digest, left_out)
