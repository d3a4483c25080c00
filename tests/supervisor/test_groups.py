"""Where control groups can be made: in a faked cgroup tree, as the kernel shows the real one.

A folder stands for the mounted file system; what the real kernel does with a group is shown by
tests/runner/host/test_groups.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.supervisor import groups, guard
from longhouse.supervisor.groups import Groups

Tree = Callable[..., Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A tree of groups with this process in one of them; what `Groups.find` is to be told."""
    monkeypatch.setattr(groups, "_SYSTEMD", tmp_path / "no systemd")

    def build(own: str, *folders: str, kind: str = "cgroup2", hands_on: str = "pids") -> Path:
        mounted, about = tmp_path / "tree", tmp_path / "about"
        about.mkdir()
        for folder in ("", *folders):
            path = mounted / folder.lstrip("/")
            path.mkdir(parents=True, exist_ok=True)
            (path / "cgroup.procs").touch()
            if kind == "cgroup2":
                (path / "cgroup.subtree_control").write_text(hands_on)
        controllers = "" if kind == "cgroup2" else "pids"
        (about / "cgroup").write_text(f"3:cpu,cpuacct:/other\n0:{controllers}:{own}\n")
        lines = [
            "21 1 0:20 / /proc rw,nosuid - proc proc rw",
            f"31 23 0:28 / {mounted} rw,relatime shared:9 - {kind} {kind} rw,pids",
        ]
        (about / "mountinfo").write_text("\n".join(lines))
        return about

    return build


def base_of(about: Path) -> str | None:
    found = Groups.find(about)
    return None if found is None else "/" + str(found.base).partition("/tree/")[2]


def test_groups_are_made_below_the_one_that_was_delegated(fake: Tree) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse")
    assert base_of(about) == "/unit/longhouse"


def test_a_group_that_has_processes_of_its_own_cannot_be_divided_but_the_one_around_it_can(
    fake: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse", hands_on="")
    write_text = Path.write_text

    def busy(path: Path, data: str, **more: str) -> int:
        if path.parent.name == "longhouse":
            raise OSError(16, "Device or resource busy")
        return write_text(path, data, **more)

    monkeypatch.setattr(Path, "write_text", busy)
    assert base_of(about) == "/unit"
    assert (about.parent / "tree/unit/cgroup.subtree_control").read_text() == "+pids"


def test_the_root_of_the_tree_is_nobodys_to_divide(fake: Tree) -> None:
    assert Groups.find(fake("/")) is None


def test_only_the_group_itself_is_divided_where_the_one_around_it_is_the_root(fake: Tree) -> None:
    assert base_of(fake("/unit", "/unit", kind="cgroup")) == "/unit"


def test_what_systemd_has_not_delegated_is_left_alone(
    fake: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = fake("/user.slice/app.scope", "/user.slice", "/user.slice/app.scope")
    monkeypatch.setattr(groups, "_SYSTEMD", tmp_path)
    assert Groups.find(about) is None

    def marked(path: Path, name: str) -> bytes:
        if path.name == "app.scope" and name == "user.delegate":
            return b"1"
        raise OSError(61, "No data available")

    monkeypatch.setattr(os, "getxattr", marked)
    assert base_of(about) == "/user.slice/app.scope"


def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    assert Groups.find(tmp_path) is None
    (tmp_path / "cgroup").write_text("0::/unit\n")
    (tmp_path / "mountinfo").write_text("21 1 0:20 / /proc rw - proc proc rw\n")
    assert Groups.find(tmp_path) is None


def test_a_group_has_its_limit_before_anybody_is_in_it(tmp_path: Path) -> None:
    group = Groups(tmp_path).make("PROC-001", 64)
    assert group is not None
    assert (group.path / "pids.max").read_text() == "64"
    assert (group.pids(), group.was_full) == (set(), False)
    group.add(4711)
    (group.path / "pids.events").write_text("max 3\n")
    assert (group.pids(), group.was_full) == ({4711}, True)


def test_where_the_kernel_makes_no_group_its_owner_is_told(tmp_path: Path) -> None:
    assert Groups(tmp_path / "gone").make("PROC-001", 64) is None


def test_empty_groups_of_owners_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    me = guard.process(os.getpid())
    assert me is not None
    mine = f"longhouse.{os.getpid()}.{me[3]}.PROC-001"
    for name in (mine, "longhouse.1.0.PROC-001", "longhouse.1.0.PROC-002", "somebody.else"):
        (tmp_path / name).mkdir()
    (tmp_path / "longhouse.1.0.PROC-002" / "cgroup.procs").touch()  # as if a process were in it
    Groups(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {mine, "longhouse.1.0.PROC-002", "somebody.else"}
