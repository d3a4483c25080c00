"""Where control groups can be created, in a fake cgroup tree that looks like the kernel's.

A folder stands for the mounted file system; what the real kernel does with a group is shown by
tests/runner/host/test_groups.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.supervisor import groups, guard
from longhouse.supervisor.groups import ControlGroups

Tree = Callable[..., Path]

ODD = [
    "22 1 0:21 / /tmp rw - tmpfs  rw",
    r"23 1 0:22 / /mnt/c rw - 9p drvfs rw,aname=drvfs;path=C:\Program Files;uid=1000",
    "24 1 0:23 / /mnt/a\fb\u2028c rw - ext4 /dev/sda1 rw",
    "25 1 0:24 / /mnt/\udcff rw - ext4 /dev/sda2 rw",
]
"""Mounts that are none of ours: without a source, with words more, with any bytes in a path."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A tree of groups with this process in one of them, in the form `ControlGroups.find` reads."""
    monkeypatch.setattr(groups, "_SYSTEMD", tmp_path / "no systemd")

    def build(
        own: str,
        *folders: str,
        kind: str = "cgroup2",
        hands_on: str = "pids",
        source: str = "cgroup",
    ) -> Path:
        mounted, about = tmp_path / "tree", tmp_path / "about"
        about.mkdir()
        for folder in ("", *folders):
            path = mounted / folder.lstrip("/")
            path.mkdir(parents=True, exist_ok=True)
            (path / "cgroup.procs").touch()
            if kind == "cgroup2":
                (path / "cgroup.subtree_control").write_text(hands_on)
        (mounted / own.lstrip("/") / "cgroup.procs").write_text(f"{os.getpid()}\n")
        controllers = "" if kind == "cgroup2" else "pids"
        (about / "cgroup").write_text(f"3:cpu,cpuacct:/other\n0:{controllers}:{own}\n")
        lines = [
            "21 1 0:20 / /proc rw,nosuid - proc proc rw",
            *ODD,
            f"31 23 0:28 / {mounted} rw,relatime shared:9 - {kind} {source} rw,pids",
        ]
        (about / "mountinfo").write_text("\n".join(lines), errors="surrogateescape")
        return about

    return build


def base_of(about: Path) -> str | None:
    found = ControlGroups.find(about)
    return None if found is None else "/" + str(found.base).partition("/tree/")[2]


def test_groups_are_made_below_the_one_that_was_delegated(fake: Tree) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse", kind="cgroup")
    assert base_of(about) == "/unit/longhouse"


@pytest.mark.parametrize("hands_on", ["", "pids"])
def test_a_group_that_has_processes_of_its_own_is_not_divided_but_the_one_around_it_is(
    fake: Tree, hands_on: str
) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse", hands_on=hands_on)
    assert base_of(about) == "/unit"
    tree = about.parent / "tree/unit"
    assert (tree / "cgroup.subtree_control").read_text() == (hands_on or "+pids")
    assert (tree / "longhouse/cgroup.subtree_control").read_text() == hands_on


def test_a_group_that_was_handed_no_controller_cannot_be_divided(
    fake: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse", hands_on="")

    def refused(path: Path, data: str, **more: str) -> int:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(Path, "write_text", refused)
    assert ControlGroups.find(about) is None


@pytest.mark.parametrize("source", ["", "two words"])
def test_the_tree_is_found_whatever_its_mount_is_called(fake: Tree, source: str) -> None:
    about = fake("/unit/longhouse", "/unit", "/unit/longhouse", source=source)
    assert base_of(about) == "/unit"


def test_the_root_of_the_tree_is_nobodys_to_divide(fake: Tree) -> None:
    assert ControlGroups.find(fake("/")) is None


def test_only_the_group_itself_is_divided_where_the_one_around_it_is_the_root(fake: Tree) -> None:
    assert base_of(fake("/unit", "/unit", kind="cgroup")) == "/unit"


def test_what_systemd_has_not_delegated_is_left_alone(
    fake: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = fake("/user.slice/app.scope", "/user.slice", "/user.slice/app.scope")
    monkeypatch.setattr(groups, "_SYSTEMD", tmp_path)
    assert ControlGroups.find(about) is None

    def marked(path: Path, name: str) -> bytes:
        if path.name == "user.slice" and name == "user.delegate":
            return b"1"
        raise OSError(61, "No data available")

    monkeypatch.setattr(os, "getxattr", marked)
    assert base_of(about) == "/user.slice"


def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    assert ControlGroups.find(tmp_path) is None
    (tmp_path / "cgroup").write_text("0::/unit\n")
    (tmp_path / "mountinfo").write_text("21 1 0:20 / /proc rw - proc proc rw\n")
    assert ControlGroups.find(tmp_path) is None


def test_a_group_has_its_limit_before_anybody_is_in_it(tmp_path: Path) -> None:
    group = ControlGroups(tmp_path).make("PROC-001", 64)
    assert group is not None
    assert (group.path / "pids.max").read_text() == "64"
    assert (group.pids(), group.was_full) == (set(), False)
    group.add(4711)
    (group.path / "pids.events").write_text("max 3\n")
    assert (group.pids(), group.was_full) == ({4711}, True)


def test_where_the_kernel_makes_no_group_its_owner_is_told(tmp_path: Path) -> None:
    assert ControlGroups(tmp_path / "gone").make("PROC-001", 64) is None


def test_empty_groups_of_owners_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    me = guard.process(os.getpid())
    assert me is not None
    mine = f"longhouse.{os.getpid()}.{me[3]}.PROC-001"
    for name in (mine, "longhouse.1.0.PROC-001", "longhouse.1.0.PROC-002", "somebody.else"):
        (tmp_path / name).mkdir()
    (tmp_path / "longhouse.1.0.PROC-002" / "cgroup.procs").touch()  # as if a process were in it
    ControlGroups(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {mine, "longhouse.1.0.PROC-002", "somebody.else"}
