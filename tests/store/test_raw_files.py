"""Nothing opens the files of a store beside SQLite: closing one drops SQLite's locks on it.

POSIX releases a process's locks on a file when the process closes any descriptor of it. A backup,
a digest or a header check that opened `longhouse.db` itself would let two writers in at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WATCHED = """
import os, sys
raw, store = [], os.path.realpath(sys.argv[1])
in_use = [os.path.join(store, 'longhouse.db' + end) for end in ('', '-wal', '-shm', '-journal')]
from longhouse.store.sqlite import SqliteEngine
begin, end, open_now = SqliteEngine.__init__, SqliteEngine.close, []
def opened(self, path, **more):
    begin(self, path, **more)
    open_now.append(os.path.realpath(path))
def closed(self):
    end(self)
    open_now.remove(os.path.realpath(self.path))
SqliteEngine.__init__, SqliteEngine.close = opened, closed
def hook(event, args):
    if event in ('open', 'sqlite3.connect') and isinstance(args[0], (str, bytes, os.PathLike)):
        path = os.path.realpath(os.fsdecode(args[0]))
        base = path
        for suffix in ('-wal', '-shm', '-journal'):
            base = base.removesuffix(suffix)
        if base in open_now:
            raw.append((event, path))
sys.addaudithook(hook)
"""


def watched(store: Path, code: str) -> str:
    """Run code in a process of its own that notes every raw opening of a store in use."""
    env = {
        **os.environ,
        "XDG_CONFIG_HOME": f"{store}-config",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{WATCHED}\n{code}\nprint(raw)", str(store)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


EVERYTHING = """
import io
from pathlib import Path
from longhouse.store.artifacts import artifacts_of
from longhouse.store.upkeep import back_up, restore, verify, repair
from tests.kit import Lh, ManualClock
from tests.store.upkeep_kit import call_of, exported, fill, imported, other_house
folder = Path(store)
house = other_house(folder)
fill(Lh(house, ManualClock()))
call, keeper = call_of(house), artifacts_of(house)
back_up(house.db, keeper, house.registry, folder.with_name('backup'), call)
to = folder.with_name('restored')
restore(folder.with_name('backup'), to / 'longhouse.db', to / 'artifacts', house.registry, call)
imported(house, exported(house), name='copy', disarm=True)
verify(house.db, keeper, house.registry, call, full=True)
repair(house.db, keeper, house.registry, call, folder.with_name('backup'))
house.db.engine.tidy()
with house.maintenance(lambda name, error: print(name, error)) as loops:
    loops.step(0)
house.db.wakeups
again = other_house(folder)
again.close()
"""

SERVING = """
from longhouse.surfaces.cli import main
os.makedirs(store, mode=0o700)
for line in (['note', 'one'], ['status'], ['doctor'], ['backup', store + '-backup'],
             ['verify', '--full'], ['export', store + '.tar'], ['artifact', 'list']):
    assert main([*line, '--dir', store, '--workspace', 'acme']) in (0, None, 1), line
"""


def test_no_upkeep_opens_the_files_of_a_store_in_use(tmp_path: Path) -> None:
    assert watched(tmp_path / "store", EVERYTHING) == "[]"


def test_no_command_opens_the_files_of_a_store_in_use(tmp_path: Path) -> None:
    assert watched(tmp_path / "store", SERVING) == "[]"


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_the_watch_sees_a_raw_opening(tmp_path: Path, end: str) -> None:
    code = f"{EVERYTHING}\nopen(store + '/longhouse.db{end}', 'rb').close()"
    assert f"longhouse.db{end}')]" in watched(tmp_path / "store", code)
