"""An agent wants a folder to count as a project that it is not, so that its work is done there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from longhouse.config.projects import id_file
from longhouse.config.roots import OwnProject, project_ids
from tests.config.conftest import Machine
from tests.kit import Lh


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def listed(machine: Machine, name: str) -> tuple[Path, str]:
    """A repository that this user's index lists, and its id."""
    root = machine.repository(name)
    project = machine.make(root).place.project
    assert project is not None
    assert project_ids(root, None, machine.index) == {project.id}
    return root, project.id


def found_for(machine: Machine, project: str) -> Path | None:
    """Where a runner for a workspace that is bound to this project would be started."""
    return OwnProject("0" * 32, machine.base, (), frozenset(), machine.index).root_of([project])


@pytest.mark.parametrize("how", ["cloned anew", "another id", "no id", "a linked git directory"])
def test_another_repository_in_the_place_of_a_project_is_not_that_project(
    machine: Machine, how: str
) -> None:
    root, project = listed(machine, "beta")
    assert found_for(machine, project) == root
    if how == "cloned anew":
        shutil.rmtree(root)
        (root / ".git").mkdir(parents=True)
    elif how == "another id":
        id_file(root / ".git").write_text("0b" * 16 + "\n")
    elif how == "no id":
        id_file(root / ".git").unlink()
    else:
        other, _ = listed(machine, "other")
        shutil.rmtree(root)
        root.mkdir()
        (root / ".git").symlink_to(other / ".git")
    assert project not in project_ids(root, None, machine.index)
    assert found_for(machine, project) is None


@pytest.mark.parametrize("how", ["a copied id", "a copy of the repository"])
def test_a_copied_id_makes_no_second_project(machine: Machine, how: str) -> None:
    root, project = listed(machine, "beta")
    thief = machine.base / "thief"
    if how == "a copied id":
        (thief / ".git").mkdir(parents=True)
        shutil.copy(id_file(root / ".git"), id_file(thief / ".git"))
        id_file(thief / ".git").chmod(0o600)
    else:
        shutil.copytree(root, thief)
    assert project_ids(thief, None, machine.index) == frozenset()
    assert found_for(machine, project) == root


def test_a_repository_inside_a_folder_that_is_a_project_is_not_that_project(
    machine: Machine,
) -> None:
    folder = machine.base / "papers"
    folder.mkdir()
    project = machine.make(folder).place.project
    assert project is not None
    (folder / "drafts").mkdir()
    assert project_ids(folder / "drafts", None, machine.index) == {project.id}
    assert project_ids(machine.repository("papers/repo"), None, machine.index) == frozenset()


def test_what_a_bind_says_of_the_own_project_is_not_believed(lh: Lh) -> None:
    """The root is for people to read: where this server's own project is, the server knows."""
    lh("vcs.notes.commit", content="ours")
    own = lh.house.facts.own
    assert own is not None
    lh("workspace.bind", workspace="beta", project=own.id, root="/home/ann/harmless")
    before = lh("status")["seq"]
    again = lh("workspace.bind", workspace="beta", project=own.id, root="/home/ann/harmless")
    assert [one["root"] for one in again["projects"]] == [str(own.root)]
    assert not again["changed"]
    assert lh("status")["seq"] == before, "what changes nothing is not logged"
