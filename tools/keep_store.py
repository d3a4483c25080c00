"""Saves a store of the current schema for the upgrade tests: `python -m tools.keep_store`.

The store holds what every write command creates from its example, so new rooms are included
automatically. A saved store never changes: save a new one before each release that adds a
migration.
"""

from __future__ import annotations

import io
import json
import lzma
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.store import migrate
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep import back_up
from longhouse.store.upkeep.tables import workspace_tables
from tests.kit import CountedIds, ManualClock

FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "stores"
WORKSPACE = "acme"


def main(folder: Path = FOLDER) -> int:
    target = folder / f"v{migrate.newest():04d}.tar.xz"
    if target.exists():
        print(f"{target.name} already exists; delete it first if it was never released")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    target.write_bytes(lzma.compress(kept_store()))
    print(f"{target}: {target.stat().st_size} bytes")
    return 0


def kept_store() -> bytes:
    """A tar of a backup with the row count of each of its tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = load({"dir": str(root / "store"), "workspace": WORKSPACE}, environ={}, cwd=root)
        with House(settings, clock=ManualClock(), ids=CountedIds()) as house:
            live(house)
            call = Call(now_ms=house.dispatcher.clock.now_ms(), ids=CountedIds())
            back_up(house.db, artifacts_of(house), house.registry, root / "backup", call)
            counts = house.db.read(WORKSPACE, count_rows, call)
        (root / "backup" / "rows.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for path in sorted((root / "backup").rglob("*")):
                tar.add(path, str(path.relative_to(root / "backup")), recursive=False, filter=_bare)
        return out.getvalue()


def live(house: House) -> None:
    """Call every write command with its example, twice: more of them succeed the second time."""
    for _ in range(2):
        for command in house.registry:
            if command.writes and command.needs_workspace and command.role < Role.OPERATOR:
                args: dict[str, Any] = msgspec.to_builtins(command.example)
                house.call(command.cmd, args)


def count_rows(tx: Tx) -> dict[str, int]:
    return {table.name: sum(1 for _ in table.rows(tx)) for table in workspace_tables(tx)}


def _bare(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info


if __name__ == "__main__":
    sys.exit(main())
