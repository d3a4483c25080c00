"""The command line, run in this process, in a separate repository."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from longhouse.client import launch, locate
from longhouse.config import load
from longhouse.config.projects import id_file
from longhouse.config.stores import Homes
from longhouse.surfaces.cli import main


class Ran(NamedTuple):
    """The outcome of one command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value


class Shell:
    """Runs command lines at the root of a repository, as a user would."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    @property
    def dir(self) -> Path:
        """The store's folder, or where the first write will make it."""
        return load(cwd=self.root).dir

    def forget_store(self) -> None:
        """Leave no trace of a store, as in a repository that never had one."""
        project = load(cwd=self.root).place.project
        assert project is not None
        with Homes.of().need_index().change() as known:
            del known[project.id]
        id_file(self.root / ".git").unlink()
        shutil.rmtree(project.store)

    def __call__(self, *argv: str, stdin: str | None = None) -> Ran:
        with pytest.MonkeyPatch.context() as patch:
            if stdin is not None:
                patch.setattr("sys.stdin", io.StringIO(stdin))
            code = main(list(argv))
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, and an environment without Longhouse variables."""
    import os

    root = tmp_path / "acme"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    for name in [name for name in os.environ if name.startswith("LONGHOUSE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LONGHOUSE_RUNNER_AUTOSTART", "0")
    return root


@pytest.fixture
def has_store() -> bool:
    """Whether to create a store first, as `longhouse init` does; a read creates none."""
    return True


@pytest.fixture
def sh(repository: Path, capsys: pytest.CaptureFixture[str], has_store: bool) -> Iterator[Shell]:
    shell = Shell(repository, capsys)
    if has_store:
        load(cwd=repository).make_dir()
    yield shell
    running = locate.recorded(shell.dir)
    if running is not None:
        launch.stop(running, force=True)
