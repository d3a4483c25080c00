"""A machine of its own for each test: a home directory, and folders for projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.config import Settings, load
from longhouse.config.projects import Index
from longhouse.config.stores import Homes


class Machine:
    """A home directory and folders for projects."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "home"
        self.home.mkdir(exist_ok=True)

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home)}

    @property
    def index(self) -> Index:
        return Homes.of(self.environ).need_index()

    def repository(self, name: str = "acme") -> Path:
        root = self.base / name
        (root / ".git").mkdir(parents=True)
        return root

    def worktree(self, root: Path, name: str) -> Path:
        linked = self.base / name
        own = root / ".git" / "worktrees" / Path(name).name
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{linked / '.git'}\n")
        linked.mkdir()
        (linked / ".git").write_text(f"gitdir: {own}\n")
        return linked

    def load(self, cwd: Path, flags: dict[str, str] | None = None, **environ: str) -> Settings:
        return load(flags, environ=self.environ | environ, cwd=cwd)

    def make(self, cwd: Path, flags: dict[str, str] | None = None, **environ: str) -> Settings:
        """A store that holds something."""
        settings = self.load(cwd, flags, **environ)
        settings.make_dir()
        Path(settings.db).write_text("rows")
        return self.load(cwd, flags, **environ)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
