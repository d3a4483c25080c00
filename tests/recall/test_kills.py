"""Real processes rebuild the index and are killed; it is mended while a server runs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.kernel.clock import RandomIds, SystemClock
from longhouse.store.recall.checks import differences
from longhouse.store.recall.folding import fold
from longhouse.store.recall.index import sql
from longhouse.store.recall.rebuilding import progress, start
from longhouse.store.tx import Call
from tests.kit import Lh
from tests.memory.kit import note, write
from tests.recall.test_rebuilding import complaints
from tests.surfaces.serving import ROOT, Served

NOTES, KILLS = 120, 4


def stepped(settings: Settings, db: str, kill_after: int | None) -> bool:
    """Run a process that goes on with the rebuild; returns whether it came to the end."""
    argv = [sys.executable, "-m", "tests.recall.stepper", str(settings.dir), db]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    done = False
    for number, line in enumerate(process.stdout, 1):
        done = done or line.strip() == "True"
        if number == kill_after:
            process.send_signal(signal.SIGKILL)
    process.wait(60)
    process.stdout.close()
    assert process.returncode in (0, -signal.SIGKILL)
    return done


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_rebuild_survives_kills_of_everyone_who_does_it(
    lh: Lh, settings: Settings, db_url: str | None, at_once: int
) -> None:
    seqs = [note(lh, f"heron number {n} stands in the reeds") for n in range(NOTES)]
    write(lh, fold)
    write(lh, start)
    chance = random.Random(at_once)
    rounds = [[chance.randint(1, 3) for _ in range(at_once)] for _ in range(KILLS // at_once + 1)]
    with ThreadPoolExecutor(at_once + 1) as pool:
        for kills in rounds:
            running = [pool.submit(stepped, settings, db_url or "-", kill) for kill in kills]
            seqs.append(note(lh, "heron that came while the index was built"))
            ended = [one.result() for one in running]
        assert not all(ended)
        last = [pool.submit(stepped, settings, db_url or "-", None) for _ in range(at_once)]
        assert all(one.result() for one in last)
    assert write(lh, progress) is None
    assert complaints(lh) == []
    found = lh(
        "docs.search", text="heron", order="newest", limit=200, max_chars=80_000,
        budget_profile="audit",
    )["hits"]  # fmt: skip
    assert [hit["seq"] for hit in found] == sorted(seqs, reverse=True)


def longhouse(folder: Path, *argv: str, db: str | None) -> subprocess.CompletedProcess[str]:
    where = ["--dir", str(folder), *(["--db", db] if db else [])]
    return subprocess.run(
        [sys.executable, "-m", "longhouse", *argv, *where],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )


def test_a_wrong_index_is_named_and_mended_while_the_server_runs(
    tmp_path: Path, db_url: str | None
) -> None:
    flags: dict[str, Any] = {"db": db_url} if db_url else {}
    server = Served(tmp_path, **flags)
    try:
        for number in range(30):
            server("vcs.notes.commit", content=f"heron number {number} stands in the reeds")
        damaged(server, db_url)
        assert server("docs.search", text="heron")["hits"] == []
        said = longhouse(server.dir, "verify", db=db_url)
        assert said.returncode != 0, said
        assert "search index" in said.stdout + said.stderr, said
        mended = longhouse(server.dir, "reindex", db=db_url)
        assert mended.returncode == 0, mended
        found = server("docs.search", text="heron", limit=50, max_chars=20_000)["hits"]
        assert len(found) == 30
        assert longhouse(server.dir, "verify", db=db_url).returncode == 0
        seq = server("vcs.notes.commit", content="a heron flew in")["entry"]["seq"]
        assert server("docs.search", text="heron flew")["hits"][0]["seq"] == seq
    finally:
        server.stop()


def damaged(server: Served, db_url: str | None) -> None:
    """Empty the index from another process's connection, as a fault of the disk would."""
    from longhouse.config import load
    from longhouse.house import House

    settings = load(
        {"dir": str(server.dir), "workspace": "acme", "db": db_url}, environ={}, cwd=server.dir
    )
    with House(settings) as house:
        call = Call(now_ms=SystemClock().now_ms(), ids=RandomIds(), facts=house.facts)
        for query in (sql.blocks_clear, sql.fresh_clear):
            house.db.write("acme", lambda tx, query=query: tx.run(query), call)
        assert house.db.read("acme", lambda tx: list(differences(tx)), call)
