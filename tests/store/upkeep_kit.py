"""Shared by the tests of backup, export and verify: a house with some data of every kind."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from longhouse.config import load
from longhouse.house import House
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.types import Artifact
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep import Imported, export_workspace, import_workspace
from longhouse.store.upkeep.printed import outputs_of
from tests.kit import CountedIds, Lh, ManualClock


def call_of(house: House) -> Call:
    now = house.dispatcher.clock.now_ms()
    return Call(now_ms=now, ids=CountedIds(), facts=house.facts)


def fill(lh: Lh, workspace: str = "acme") -> None:
    """Notes on two documents, jobs in several states, artifacts sealed and growing."""
    for n in range(5):
        lh("vcs.notes.commit", content=f"note {n} é😀", title=f"T{n}", workspace=workspace)
    job = lh("jobs.create", title="Look", prompt="At it.", workspace=workspace)["job"]["id"]
    claim = lh("jobs.claim", job=job, runner_id="r1", workspace=workspace)["job"]
    lh(
        "jobs.complete",
        job=job,
        runner_id="r1",
        claim_revision=claim["revision"],
        status="DONE",
        summary="ok",
        workspace=workspace,
    )
    lh("jobs.create", title="Next", prompt="Then.", idempotency_key="k1", workspace=workspace)
    for n in range(3):
        lh("docs.artifact.add", name=f"a{n}", content=f"artifact {n}\n" * 50, workspace=workspace)
    grow(lh, workspace, b"still going\n" * 20_000, cap=100_000)


def grow(lh: Lh, workspace: str, data: bytes, *, cap: int | None = None) -> Artifact:
    keeper = artifacts_of(lh.house)

    def begin(tx: Tx) -> tuple[Artifact, int]:
        return keeper.begin(tx, name="stdout", cap=cap), tx.ws

    begun, ws = lh.house.db.write(workspace, begin, call_of(lh.house))
    keeper.log(begun, ws, cap=cap).append(data)
    return begun


def exported(house: House, workspace: str = "acme", **more: Any) -> bytes:
    file = io.BytesIO()
    outputs = outputs_of(house.registry)
    export_workspace(
        house.db, artifacts_of(house), workspace, file, call_of(house), outputs=outputs, **more
    )
    return file.getvalue()


def imported(
    house: House,
    data: bytes,
    name: str | None = None,
    *,
    disarm: bool = False,
    run_queued: bool = False,
) -> Imported:
    """Import as it was, to compare bytes; with `disarm`, as `longhouse import` does."""
    return import_workspace(
        house.db,
        artifacts_of(house),
        io.BytesIO(data),
        call_of(house),
        name=name,
        rebuild=house.registry.rebuilders,
        arrive=house.registry.arrivers if disarm else (),
        outputs=outputs_of(house.registry),
        run_queued=run_queued,
    )


def other_house(folder: Path, **flags: Any) -> House:
    """A house on a store of its own, always on SQLite."""
    settings = load(
        {"dir": str(folder), "workspace": "acme", **flags}, environ={}, cwd=folder.parent
    )
    return House(settings, clock=ManualClock(), ids=CountedIds())
