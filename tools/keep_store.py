"""Saves stores of the current schema for the upgrade tests: `python -m tools.keep_store`.

One for each database, with rows of every room: what the rooms' test worlds build, and what every
write command creates from its example. A saved store never changes, and neither do the migrations
that made it (`migrations.json` has their digests): save new ones with each migration.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.store import migrate
from longhouse.store.artifacts import artifacts_of
from longhouse.store.queries import Query
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep import back_up
from longhouse.store.upkeep.tables import workspace_tables
from tests.contracts.world import build_world, example_args, prepare
from tests.kit import CountedIds, Lh, ManualClock
from tests.processes.kit import Runner, allow
from tools.postgres import programs

FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "stores"
WORKSPACE = "acme"
START_S = 60
RAW = (
    "INSERT INTO standings (ws, who, focus, updated_at_ms) VALUES (:ws, 'x', 'TASK-001', 1)",
    "INSERT INTO tracked (ws, bead_id, updated_at_ms, told) VALUES (:ws, 'bd-1', 1, '{}')",
)
"""Rows that need a connection, or another tracker."""
CALL = Call(ids=CountedIds(), now_ms=ManualClock().now_ms())
STEP = {"title": "Look", "success_criteria": ["seen"], "tests": ["make test"]}
_UNPORTABLE = re.compile(r"^(?:SET |\\|SELECT pg_catalog\.set_config).*\n", re.MULTILINE)


def main(folder: Path = FOLDER) -> int:
    target = folder / f"v{migrate.newest():04d}.tar.xz"
    if target.exists():
        print(f"{target.name} already exists; delete it first if it was never released")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    if changed := thawed(folder):
        print(
            f"{', '.join(changed)} made a store that is kept: restore it, and add the next number"
        )
        return 1
    made = {target: kept_store()}
    if pg_dump := shutil.which("pg_dump", path=f"{programs()}:{os.environ.get('PATH', '')}"):
        with postgres() as url:
            made[target.with_name(f"p{target.name[1:]}")] = kept_postgres(url, pg_dump)
    else:
        print("pg_dump is not installed: no store of PostgreSQL is kept")
    for path, data in made.items():
        path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
        print(f"{path.name}: {path.stat().st_size} bytes")
    (folder / "migrations.json").write_text(json.dumps(digests(), indent=1) + "\n")
    return 0


def digests() -> dict[str, str]:
    """The digest of every migration, by the name of its file."""
    sources = sorted(migrate._sources().items())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for _, path in sources}


def thawed(folder: Path = FOLDER) -> list[str]:
    """The migrations that have changed since they made a kept store."""
    file = folder / "migrations.json"
    frozen: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    now = digests()
    return [name for name, digest in frozen.items() if now.get(name) != digest]


def kept_store() -> bytes:
    """A tar of a backup with the row count of each of its tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with _house(root) as house:
            live(house)
            now_ms = house.dispatcher.clock.now_ms()
            call = Call(now_ms=now_ms, ids=CountedIds(), facts=house.facts)
            back_up(house.db, artifacts_of(house), house.registry, root / "backup", call)
            counts = house.db.read(WORKSPACE, count_rows, call)
        (root / "backup" / "rows.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
        return _tar(root / "backup")


def kept_postgres(url: str, pg_dump: str) -> bytes:
    """The same of a store on PostgreSQL: the database as statements that any client can run."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with _house(root, db=url) as house:
            live(house)
            now_ms = house.dispatcher.clock.now_ms()
            call = Call(now_ms=now_ms, ids=CountedIds(), facts=house.facts)
            counts = house.db.read(WORKSPACE, count_rows, call)
        options = ("--schema=longhouse", "--inserts", "--no-owner", "--no-privileges")
        dumped = subprocess.run(
            [pg_dump, *options, url], capture_output=True, text=True, check=True
        )
        kept = root / "kept"
        kept.mkdir()
        (kept / "store.sql").write_text(_UNPORTABLE.sub("", dumped.stdout))
        (kept / "rows.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
        return _tar(kept)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a new database on a server of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        owner = str(os.getpid())
        server = subprocess.Popen([sys.executable, "-m", "tools.postgres", folder, owner])
        try:
            url, ends = Path(folder) / "url", time.monotonic() + START_S
            while not url.exists():
                if server.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError("PostgreSQL did not start")
                time.sleep(0.05)
            yield url.read_text()
        finally:
            server.terminate()
            server.wait()


def _house(root: Path, **flags: Any) -> House:
    flags = {"dir": str(root / "store"), "workspace": WORKSPACE, **flags}
    return House(
        load(flags, environ={"HOME": str(root)}, cwd=root), clock=ManualClock(), ids=CountedIds()
    )


def live(house: House) -> None:
    """Build the rooms' worlds, then call every write command with its example.

    Many examples need a world of their own: those are refused here, and leave nothing.
    """
    lh = Lh(house, ManualClock())
    build_world(lh)
    for command in house.registry:
        if command.writes and command.needs_workspace and command.role < Role.OPERATOR:
            with suppress(AssertionError, LookupError):
                prepare(lh, command.cmd)
            with suppress(AssertionError, LookupError):
                house.call(command.cmd, example_args(lh, command))
    _hold(lh)


def _hold(lh: Lh) -> None:
    """What the examples undo again, or cannot make in one world."""
    who = {}
    for name in ("calm-badger", "lone-finch"):
        token = lh("agents.register", name=name)["agent_token"]
        who[name] = {"agent": name, "agent_token": token}
    lh("agents.reserve", **who["calm-badger"], scope="kept/*", bead_id="TASK-001")
    lh.refused("agents.reserve", **who["lone-finch"], scope="kept/a.py", bead_id="TASK-001")
    allow(lh)
    task = Runner(lh, "keeper", "host-kept").start(execution_mode="pty")
    lh("tool.task_write_stdin", task_id=task, chunk_b64="a2VwdA==")
    for text in RAW:
        lh.house.db.write(WORKSPACE, partial(Tx.run, query=Query("raw", text, text)), CALL)
    lh("tool.policy_allow", tool="bash", pattern="make *")
    lh("tool.wakeup_add", name="tests", ending="failure", agent="calm-badger")
    made = [lh("tasks.bootstrap", plan_title=n, task_title=n, steps=[STEP]) for n in ("a", "b")]
    tasks = [one["task"]["id"] for one in made]
    lh("tasks.step.lease.claim", task=tasks[0], path="s:0", agent_id="calm-badger")
    lh("tasks.edit", task=tasks[1], depends_on=[tasks[0]])
    first = lh("jobs.create", title="Kept", prompt="p", idempotency_key="kept")["job"]["id"]
    lh("jobs.create", title="Kept after", prompt="p", after=[first])
    claim = lh("jobs.claim", job=first, runner_id="keeper")["job"]
    fence = {"job": first, "runner_id": "keeper", "claim_revision": claim["revision"]}
    lh("jobs.report", **fence, message="half", usage={"input_tokens": 7, "output_tokens": 5})
    note = lh("vcs.notes.commit", content="kept")["ref"]
    lh("think.card", card={"type": "evidence", "title": "Kept", "text": f"see {note}"})


def count_rows(tx: Tx) -> dict[str, int]:
    return {table.name: sum(1 for _ in table.rows(tx)) for table in workspace_tables(tx)}


def _tar(folder: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, str(path.relative_to(folder)), recursive=False, filter=_bare)
    return out.getvalue()


def _bare(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info


if __name__ == "__main__":
    sys.exit(main())
