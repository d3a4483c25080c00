"""The first start on a full disk says that, whichever file it could not make."""

from __future__ import annotations

import errno
import os
import selectors
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from longhouse.client import launch
from longhouse.kernel.errors import StoreUnusable
from longhouse.surfaces.bridge.loop import Search
from longhouse.surfaces.bridge.requests import ServedClient
from tests.surfaces.cli.conftest import Shell

MISLEADING = ("permission", "writable", "defect")
MOST = 60


class FullDisk:
    """Takes so many new files and folders, and no more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._open, self._mkdir = os.open, os.mkdir

    def _take(self, path: Any) -> None:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def open(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_CREAT and not os.path.lexists(path):
            self._take(path)
        return self._open(path, flags, *more, **named)

    def mkdir(self, path: Any, *more: Any, **named: Any) -> None:
        if not os.path.lexists(path):
            self._take(path)
        self._mkdir(path, *more, **named)


@pytest.fixture
def fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[int], Shell]:
    """A repository and a home that Longhouse has never seen."""

    def make(number: int) -> Shell:
        root, home = tmp_path / f"r{number}", tmp_path / f"h{number}"
        (root / ".git").mkdir(parents=True)
        home.mkdir()
        monkeypatch.chdir(root)
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(home))
        return Shell(root, capsys)

    return make


def test_a_disk_that_is_full_at_the_first_start_is_named_at_every_door(
    fresh: Callable[[int], Shell], monkeypatch: pytest.MonkeyPatch
) -> None:
    doors = 0
    for room in range(MOST):
        shell, disk = fresh(room), FullDisk(room)
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", disk.open)
            patch.setattr(os, "mkdir", disk.mkdir)
            ran = shell("init")
        if disk.room >= 0:
            break
        doors += 1
        said = (ran.out + ran.err).lower()
        assert not any(word in said for word in MISLEADING), said
        assert ran.code == 0 or "disk is full" in said or "no space left" in said, said
    assert doors > 2
    assert ran.code == 0, ran


@pytest.mark.parametrize("error", [apsw.FullError, apsw.CantOpenError])
def test_a_database_that_finds_no_space_at_the_first_start_says_so(
    fresh: Callable[[int], Shell], monkeypatch: pytest.MonkeyPatch, error: type[apsw.Error]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error("database or disk is full")

    monkeypatch.setattr("longhouse.store.sqlite.apsw.Connection", refuse)
    monkeypatch.setattr("longhouse.store.sqlite._is_full", lambda _: True)
    ran = fresh(0)("init")
    assert ran.code != 0
    assert "the disk is full" in ran.err
    assert "free up space" in ran.err
    assert not any(word in ran.err for word in MISLEADING)


@pytest.mark.parametrize(
    "free, read_only, said",
    [
        (0, False, "the disk is full; free some space: a full disk stops every write"),
        (12, False, "the disk is almost full (12 MB left); free some space"),
        (9000, True, "the disk is read-only; make it writable: nothing can be written"),
        (9000, False, None),
    ],
)
def test_status_and_doctor_tell_of_the_disk_before_a_write_is_refused(
    fresh: Callable[[int], Shell],
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    read_only: bool,
    said: str | None,
) -> None:
    shell = fresh(0)
    shell("init")
    fields = {"f_bavail": free, "f_frsize": 1024**2, "f_flag": os.ST_RDONLY * read_only}
    monkeypatch.setattr(os, "statvfs", lambda _: type("Disk", (), fields))
    told = [line for line in shell("status").out.splitlines() if line.startswith("  disk")]
    assert bool(told) == bool(said)
    if said:
        assert said in told[0]
    assert ("disk is" in shell("doctor").out) == bool(said)


def test_a_read_only_disk_is_called_so_by_the_folder_and_by_the_bridge() -> None:
    refused = OSError(errno.EROFS, os.strerror(errno.EROFS), "/disk/server.rests")
    said = StoreUnusable.folder("/disk/store", refused)
    assert said.message == "the disk is read-only: /disk/store cannot be written"

    def refuse(*_: Any, **__: Any) -> None:
        raise refused

    nobody: Any = None
    with selectors.DefaultSelector() as selector:
        search = Search(nobody, selector, ServedClient("other"))
        search._seeker = SimpleNamespace(seek=refuse)
        search.start(None)
        assert selector.select(60)
        found = search.finish()
    assert isinstance(found, StoreUnusable)
    assert found.message == "the disk is read-only: /disk/server.rests cannot be written"
    assert found.recovery == "make the disk writable, or choose a store elsewhere with --dir"


def test_a_server_that_could_not_even_say_why_it_ended_met_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / launch.LAST_WORDS).write_bytes(b"")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    said = launch._why(tmp_path)
    assert said.message == f"the disk is full: {tmp_path} cannot be written"
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1))
    assert "did not start" in launch._why(tmp_path).message
