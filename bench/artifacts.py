"""Reading 64 KiB from a 1 GiB artifact, compared with a bare pread of the same file.

All contestants read the same random offsets of one cached file. The store call is the one a room
makes once it has found the artifact. Reading the range as text, and finding a line far into the
file, are measured as well.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench._harness import interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Call, Tx

SIZE = 1 << 30
RANGE = 64 << 10
READS = 500


def stream() -> Iterator[bytes]:
    line = b"%07d the quick brown fox jumps over the lazy dog, again and again\n"
    block = b"".join(line % n for n in range((1 << 20) // 70))
    written = 0
    while written < SIZE:
        part = block[: SIZE - written]
        yield part
        written += len(part)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"dir": folder, "workspace": "acme"}, environ={}, cwd=Path(folder))
        with House(settings) as house:
            measure(house)


def measure(house: House) -> None:
    keeper = artifacts_of(house)
    clock, ids = house.dispatcher.clock, house.dispatcher.ids
    blob = keeper.stage(stream(), now_ms=clock.now_ms())
    call = Call(now_ms=clock.now_ms(), ids=ids, facts=house.facts)

    def record(tx: Tx) -> tuple[object, int]:
        return keeper.record(tx, blob, name="big", media_type="text/plain")[0], tx.ws

    house.db.write("acme", record, call)
    artifact, ws = house.db.read("acme", lambda tx: (keeper.find(tx, blob.digest), tx.ws), call)
    path = keeper.path / "blobs" / blob.digest[:2] / blob.digest
    fd = os.open(path, os.O_RDONLY)
    rng = random.Random(7)
    offsets = [rng.randrange(0, SIZE - RANGE) for _ in range(READS)]

    def loop(read: Callable[[int], object]) -> Callable[[], None]:
        def run() -> None:
            for offset in offsets:
                read(offset)

        return run

    figures = interleave(
        {
            "pread": timed(loop(lambda offset: os.pread(fd, RANGE, offset))),
            "store": timed(loop(lambda offset: keeper.read(artifact, ws, offset, RANGE))),
            "text": timed(loop(lambda offset: keeper.view(artifact, ws).text(offset, RANGE))),
        }
    )
    os.close(fd)
    report("artifact-range", figures.ratio("store", "pread"), "<=2.0", figures)
    report("artifact-range-text", figures.ratio("text", "pread"), "<=4.0", figures)
    first = timed(lambda: keeper.view(artifact, ws).lines(10_000_000, 10, RANGE))()
    again = timed(lambda: keeper.view(artifact, ws).lines(9_999_000, 10, RANGE))()
    print(f"# line 10,000,000: first read {first:.3f} s, second {again:.5f} s")


if __name__ == "__main__":
    main()
