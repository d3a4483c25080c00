"""An agent wants a file that it must not hand out stored as an artifact, which everybody can read.

It names the file as a result of its job: directly, through links of every kind, or by a path that
changes while it is looked at.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.executors.inside import NotTaken, open_inside
from tests.runner.kit import Rig

SECRET = "lh_0123456789abcdef0123456789abcdef"


@pytest.fixture
def rig(make_rig) -> Rig:  # type: ignore[no-untyped-def]
    rig: Rig = make_rig()
    root = rig.context.root
    store = root / ".longhouse"
    for folder in (store, root / ".git", root / "sub" / ".GIT"):
        folder.mkdir(parents=True)
        (folder / "token").write_text(SECRET)
    (rig.base / "outside").write_text(SECRET)
    rig.context = rig.context._replace(home=store)
    return rig


ATTACKS = {
    ".longhouse/token": "is in the store's folder",
    ".git/token": "is in a git directory",
    "sub/.GIT/token": "is in a git directory",
    "../outside": "is outside repo",
    "sub/../../outside": "is outside repo",
    "link": "goes through a symbolic link",
    "folder/token": "goes through a symbolic link",
    "inside/token": "goes through a symbolic link",
    "hard": "has more than one hard link",
    "pipe": "is not a regular file",
    "/etc/passwd": "is outside repo",
    "a\0b": "is not a valid path",
}


@pytest.mark.parametrize("path", ATTACKS, ids=repr)
def test_a_file_that_is_not_the_agents_own_is_not_taken(rig: Rig, path: str) -> None:
    ref = rig.note()
    plant = (
        "os.symlink('../outside', 'link'); os.symlink('.longhouse', 'folder'); "
        "os.symlink('.git', 'inside'); os.link('.longhouse/token', 'hard'); os.mkfifo('pipe')"
    )
    made = [{"kind": "report", "path": path}]
    job = rig.run(f"{plant}; done({ref!r}, artifacts={made!r})")

    assert rig.status(job) == "DONE"
    (told,) = rig.messages(job, "artifacts")
    assert told.startswith("no report: ")
    assert ATTACKS[path] in told
    names = [a["name"] for a in rig("docs.artifact.list", owner=job)["artifacts"]]
    assert names == [f"{job}-slice-1.jsonl"]


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that a check by name loses: the folder is swapped between look and open."""
    import os

    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "file").write_text(folder.name)
    real = os.open

    def swapping(path: object, flags: int, *args: object, **more: object) -> int:
        opened = real(path, flags, *args, **more)  # type: ignore[arg-type]
        if path == "sub" and not (root / "sub").is_symlink():
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to(outside)
        return opened

    monkeypatch.setattr(os, "open", swapping)
    with os.fdopen(open_inside(root, "sub/file")) as file:
        assert file.read() == "sub"
    with pytest.raises(NotTaken, match="symbolic link"):
        open_inside(root, "sub/file")
