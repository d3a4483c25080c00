"""What a hostile work tree, an archive or an agent may put in the way of finding a store."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from longhouse.config import UntrustedStore
from longhouse.config.projects import git_id
from tests.config.conftest import Machine


@pytest.mark.parametrize("pointer", ["gitdir: {victim}/.git", "gitdir: {victim}/.git/worktrees/x"])
def test_no_pointer_in_a_work_tree_leads_to_another_projects_store(
    machine: Machine, pointer: str
) -> None:
    victim, forged = machine.repository(), machine.base / "forged"
    made = machine.make(victim)
    own = victim / ".git" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{machine.base / 'elsewhere' / '.git'}\n")
    forged.mkdir()
    (forged / ".git").write_text(pointer.format(victim=victim))
    found = machine.load(forged)
    assert (found.dir != made.dir, found.project_root) == (True, forged)
    (forged / ".git").unlink()
    (forged / ".git").mkdir()
    (forged / ".git" / "commondir").write_text(f"{victim / '.git'}\n")
    assert machine.load(forged).dir != made.dir


def test_a_submodule_and_a_separate_git_directory_are_projects_of_their_own(
    machine: Machine,
) -> None:
    root = machine.repository()
    module, sub = root / ".git" / "modules" / "sub", root / "sub"
    module.mkdir(parents=True)
    sub.mkdir()
    (module / "config").write_text("[core]\n\tworktree = ../../../sub\n")
    (sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert machine.make(sub).dir != machine.make(root).dir
    assert git_id(module) is not None
    aside, tree = machine.base / "aside", machine.base / "tree"
    aside.mkdir()
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {aside}\n")
    machine.make(tree)
    assert git_id(aside) is not None


def test_what_is_no_plain_file_in_a_git_directory_stops_nothing(machine: Machine) -> None:
    folder = machine.base / "odd"
    folder.mkdir()
    os.mkfifo(folder / ".git")
    machine.load(folder)
    (folder / ".git").unlink()
    (folder / ".git").write_bytes(b"gitdir: \xff\xfe\0")
    machine.load(folder)


def test_a_tracked_record_decides_nothing(machine: Machine) -> None:
    root = machine.repository()
    (root / "store").mkdir(mode=0o700)
    said = {"id": "0" * 32, "root": "/", "store": "/x", "workspace": "theirs", "cache": "/"}
    (root / "store" / "project.json").write_text(json.dumps(said))
    found = machine.load(root, {"dir": str(root / "store")})
    assert (found.project_root, found.workspace) == (root, "acme")
    assert found.cache.is_relative_to(machine.home)
    (root / ".git" / "index").write_bytes(b"DIRC....store/project.json\0")
    with pytest.raises(UntrustedStore, match="git tracks"):
        found.make_dir()


def test_an_empty_folder_in_a_work_tree_may_be_named_again_and_again(machine: Machine) -> None:
    root = machine.repository()
    (root / "store").mkdir(mode=0o700)
    flags = {"dir": str(root / "store")}
    machine.make(root, flags)
    machine.load(root, flags).make_dir()


def test_a_copied_store_has_a_cache_of_its_own(machine: Machine) -> None:
    root = machine.repository()
    made = machine.make(root, {"dir": str(machine.base / "one")})
    shutil.copytree(made.dir, machine.base / "two")
    assert machine.load(root, {"dir": str(machine.base / "two")}).cache != made.cache
