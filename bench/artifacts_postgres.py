"""Artifacts in PostgreSQL, compared with artifacts of the same store in a folder.

- A range: `docs.artifact.show` of 64 KiB at random places of a 256 MiB artifact, as a caller asks.
- A gibibyte of output: what a runner sends, a megabyte at a time, from the first to the seal.
- A gibibyte stored at once, and the same range without a call, are printed for comparison.
"""

from __future__ import annotations

import base64
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench._harness import Figures, interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Call, Tx
from tools.postgres import Postgres

SIZE = 256 << 20
RANGE = 64 << 10
READS = 60
OUTPUT = 1 << 30
PART = 1_000_000
UNCUT = {"argv": ["true"], "artifact_max_bytes": 2 << 30}
LINE = b"%07d the quick brown fox jumps over the lazy dog, again and again\n"
BLOCK = b"".join(LINE % n for n in range((1 << 20) // 70))


def stream(size: int) -> Iterator[bytes]:
    for at in range(0, size, len(BLOCK)):
        yield BLOCK[: size - at]


def main() -> None:
    server = Postgres()
    try:
        with tempfile.TemporaryDirectory() as base:
            houses = {}
            for name in ("folder", "database"):
                settings = load(
                    {"dir": f"{base}/{name}", "workspace": name, "db": server.url()},
                    environ={"LONGHOUSE_ARTIFACT_QUOTA_MB": "100000"},
                    cwd=Path(base),
                )
                kept = Path(base, "artifacts") if name == "folder" else None
                houses[name] = House(settings._replace(artifacts=kept))
            ranges({name: Reader(house, name) for name, house in houses.items()})
            outputs(houses)
            for house in houses.values():
                house.close()
    finally:
        server.stop()


class Reader:
    """Reads ranges of one large artifact."""

    def __init__(self, house: House, workspace: str) -> None:
        self.house, self.workspace = house, workspace
        keeper = artifacts_of(house)
        blob = keeper.stage(stream(SIZE), now_ms=house.dispatcher.clock.now_ms())
        call = Call(now_ms=None, ids=house.dispatcher.ids, facts=house.facts)

        def record(tx: Tx) -> Any:
            return keeper.record(tx, blob, name="big", media_type="text/plain")[0]

        self.artifact = house.db.write(workspace, record, call)
        rng = random.Random(7)
        self.offsets = [rng.randrange(0, SIZE - RANGE) for _ in range(READS)]

    def shown(self) -> None:
        for offset in self.offsets:
            args = {"id": self.artifact.handle, "offset_bytes": offset, "bytes": RANGE}
            answer = self.house.call("docs.artifact.show", {**args, "workspace": self.workspace})
            assert answer.success, answer.envelope

    def bare(self) -> None:
        keeper = artifacts_of(self.house)
        for offset in self.offsets:
            assert len(keeper.read(self.artifact, 0, offset, RANGE)) == RANGE


def ranges(readers: dict[str, Reader]) -> None:
    figures = interleave({name: timed(reader.shown) for name, reader in readers.items()})
    report("artifact-range-in-database", figures.ratio("database", "folder"), "<=2.0", figures)
    bare = interleave({name: timed(reader.bare) for name, reader in readers.items()})
    for name in readers:
        print(f"# a bare range, {name}: {bare.median(name) / READS * 1e6:.0f} us")


def outputs(houses: dict[str, House]) -> None:
    turns = {name: _turn(house, name) for name, house in houses.items()}
    raw: dict[str, tuple[float, ...]] = dict.fromkeys(houses, ())
    once: dict[str, float] = {}
    for _ in range(2):
        for name, turn in turns.items():
            raw[name] += (turn(),)
    for name, house in houses.items():
        keeper = artifacts_of(house)
        now = house.dispatcher.clock.now_ms()
        seed = os.urandom(16)
        once[name] = timed(lambda k=keeper, n=now, s=seed: k.stage(_salted(s), now_ms=n))()  # type: ignore[misc]
    figures = Figures(raw)
    report("output-gib-in-database", figures.ratio("folder", "database"), ">=0.33", figures)
    for name, took in once.items():
        print(f"# a GiB at once, {name}: {(OUTPUT >> 20) / took:.0f} MiB/s")


def _salted(seed: bytes) -> Iterator[bytes]:
    yield seed
    yield from stream(OUTPUT)


def _turn(house: House, workspace: str) -> Callable[[], float]:
    def call(cmd: str, **args: Any) -> dict[str, Any]:
        answer = house.call(cmd, {**args, "workspace": workspace})
        assert answer.success, answer.envelope
        return dict(answer.envelope["result"])

    call("tool.policy_allow", tool="exec")
    host = {"runner_id": "r1", "host_id": f"host-{workspace}"}
    fence = {"runner_id": "r1", "revision": call("tool.task_held", **host)["revision"]}

    def output() -> None:
        task = call("tool.task_spawn", tool="exec", args=UNCUT)
        send = {"task_id": task["task_id"], "stream": "stdout", **fence}
        call("tool.task_claim", revision=fence["revision"], limit=1, **host)
        call("tool.output_append", offset_bytes=0, **send)
        coded = base64.b64encode((BLOCK * 2)[:PART]).decode()
        at = 0
        while at < OUTPUT:
            at = call("tool.output_append", offset_bytes=at, content_b64=coded, **send)[
                "next_offset"
            ]
        assert "artifact" in call("tool.output_append", offset_bytes=at, eof=True, **send)

    return timed(output)


if __name__ == "__main__":
    main()
