"""Where a project's store is: outside the work tree, found again wherever the project goes."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longhouse.config import OldStore, load
from longhouse.config.projects import git_id, id_file, record_of
from longhouse.kernel.errors import Conflict, InvalidInput, StoreOutOfReach, StoreUnusable
from longhouse.kernel.private_files import write_private
from tests.config.conftest import Machine


def test_a_store_is_in_the_users_data_folder_and_named_after_the_repository(
    machine: Machine,
) -> None:
    root = machine.repository()
    (root / "src" / "deep").mkdir(parents=True)
    settings = machine.make(root / "src" / "deep")
    assert settings.dir.parent == machine.home / ".local" / "share" / "longhouse"
    assert settings.dir.name.startswith("acme-")
    assert (settings.workspace, settings.project_root) == ("acme", root)
    assert settings.cache.parent == machine.home / ".cache" / "longhouse"
    assert settings.dir.stat().st_mode & 0o777 == 0o700
    assert machine.load(root).dir == machine.load(root / "src").dir == settings.dir
    assert {path.name for path in root.iterdir()} == {".git", "src"}


def test_finding_a_store_makes_none(machine: Machine) -> None:
    root = machine.repository()
    settings = machine.load(root)
    assert not settings.is_there
    assert list(machine.home.iterdir()) == []
    assert list((root / ".git").iterdir()) == []


def test_xdg_places_new_stores_but_does_not_lose_old_ones(machine: Machine) -> None:
    root, other = machine.repository(), machine.repository("other")
    elsewhere = str(machine.base / "data")
    placed = machine.make(root, XDG_DATA_HOME=elsewhere)
    assert placed.dir.is_relative_to(elsewhere)
    assert machine.load(root).dir == placed.dir
    assert not machine.make(other).dir.is_relative_to(elsewhere)


def test_all_worktrees_of_a_repository_share_one_store(machine: Machine) -> None:
    root = machine.repository()
    linked = machine.worktree(root, "feature")
    made = machine.make(linked)
    assert (made.project_root, made.workspace) == (root, "acme")
    assert machine.load(root).dir == made.dir


def test_worktrees_of_a_bare_repository_share_one_store(machine: Machine) -> None:
    bare = machine.base / "acme.git"
    linked = []
    for name in ("one", "two"):
        own = bare / "worktrees" / name
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{machine.base / name / '.git'}\n")
        folder = machine.base / name
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {own}\n")
        linked.append(folder)
    assert machine.make(linked[0]).dir == machine.load(linked[1]).dir


def test_a_renamed_repository_keeps_store_and_workspace_and_says_so(machine: Machine) -> None:
    root = machine.repository()
    before = machine.make(root)
    root.rename(machine.base / "renamed")
    after = machine.load(machine.base / "renamed")
    assert (after.dir, after.workspace) == (before.dir, "acme")
    assert after.project_root == machine.base / "renamed"
    assert "moved from" in after.place.notices[0]
    assert machine.load(machine.base / "renamed").place.notices == ()
    record = record_of(after.dir)
    assert record is not None
    assert record.root == machine.base / "renamed"


def test_a_copy_of_a_repository_gets_a_store_of_its_own(machine: Machine) -> None:
    root = machine.repository()
    before = machine.make(root)
    shutil.copytree(root, machine.base / "copy")
    found = machine.load(machine.base / "copy")
    assert found.dir != before.dir
    assert not found.is_there
    assert "copy of" in found.place.notices[0]
    made = machine.make(machine.base / "copy")
    assert made.dir == found.dir
    assert git_id(machine.base / "copy" / ".git") != git_id(root / ".git")
    assert machine.load(root).dir == before.dir


def test_an_id_that_the_index_does_not_know_is_worth_nothing(machine: Machine) -> None:
    """An archive may bring a git directory with any id in it."""
    root = machine.repository()
    made = machine.make(root)
    forged = machine.repository("forged")
    for text in ("0" * 32, "../../etc", "", "\x00"):
        id_file(forged / ".git").write_text(text)
        assert machine.load(forged).dir != made.dir
        assert not machine.load(forged).is_there


def test_a_repository_cloned_anew_is_told_of_the_old_store(machine: Machine) -> None:
    root = machine.repository()
    before = machine.make(root)
    shutil.rmtree(root)
    machine.repository()
    found = machine.load(root)
    assert found.dir != before.dir
    assert str(before.dir) in found.place.notices[0]
    assert "project adopt" in found.place.notices[0]


def test_a_lost_index_is_made_again_from_both_ends(machine: Machine) -> None:
    root = machine.repository()
    before = machine.make(root)
    machine.index.path.unlink()
    after = machine.load(root)
    assert (after.dir, after.is_there) == (before.dir, True)
    assert "lost" in after.place.notices[0]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": [{}]}', '{"projects": 7}'])
def test_a_damaged_index_is_refused_by_name_and_nothing_is_made(
    machine: Machine, text: str
) -> None:
    root = machine.repository()
    machine.make(root)
    machine.index.path.write_text(text)
    with pytest.raises(StoreUnusable, match=r"projects\.json.*damaged"):
        machine.load(root)


def test_a_store_that_is_gone_is_not_replaced_by_an_empty_one_in_silence(machine: Machine) -> None:
    root = machine.repository()
    shutil.rmtree(machine.make(root).dir)
    with pytest.raises(StoreUnusable, match="is gone") as caught:
        machine.load(root).make_dir()
    assert "project forget" in str(caught.value.recovery)


def test_many_processes_that_start_at_once_make_one_store(machine: Machine) -> None:
    root = machine.repository()

    def start(_: int) -> Path:
        settings = machine.load(root)
        settings.make_dir()
        return settings.dir

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(24)))) == 1
    assert len(machine.index.projects()) == 1


@pytest.mark.parametrize("step", ["project.json", "longhouse-project", "projects.json"])
def test_whoever_is_killed_while_making_a_store_leaves_one_that_the_next_takes_over(
    machine: Machine, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine.repository()
    real = write_private

    def dies(path: Path, content: bytes) -> None:
        if path.name.startswith(step):
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr("longhouse.config.projects.write_private", dies)
    with pytest.raises(KeyboardInterrupt):
        machine.load(root).make_dir()
    monkeypatch.undo()
    machine.make(root)
    assert len(list((machine.home / ".local/share/longhouse").iterdir())) == 1
    assert machine.load(root).is_there


@pytest.mark.parametrize(
    "environ, why",
    [
        ({"HOME": ""}, "no home directory"),
        ({"HOME": "relative"}, "no home directory"),
    ],
)
def test_without_a_home_a_store_must_be_named(
    machine: Machine, environ: dict[str, str], why: str
) -> None:
    root = machine.repository()
    with pytest.raises(StoreUnusable, match=why) as caught:
        load({}, environ=environ, cwd=root)
    assert "--dir" in str(caught.value.recovery)
    assert load({"dir": str(machine.base / "mine")}, environ=environ, cwd=root).dir.name == "mine"


def test_ci_must_name_a_store(machine: Machine) -> None:
    root = machine.repository()
    with pytest.raises(StoreUnusable, match="CI is set") as caught:
        machine.load(root, CI="true").make_dir()
    assert "--dir" in str(caught.value.recovery)
    machine.make(root, CI="false")
    assert machine.load(root, CI="true").is_there  # an existing one is no fallback


def test_a_store_is_not_made_on_a_network_file_system(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine.repository()
    for kind in ("nfs", "nfs4", "cifs", "fuse.sshfs"):
        monkeypatch.setattr("longhouse.config.stores._file_system", lambda _, kind=kind: kind)
        with pytest.raises(StoreUnusable, match=f"network file system \\({kind}\\)"):
            machine.load(root).make_dir()
    assert list(machine.home.iterdir()) == []


def test_a_home_that_cannot_be_written_is_refused_by_name(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine.repository()

    def refuses(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuses)
    with pytest.raises(StoreUnusable, match="Read-only file system") as caught:
        machine.load(root).make_dir()
    assert "--dir" in str(caught.value.recovery)


def test_a_home_that_is_the_work_tree_itself_is_no_place_for_its_store(machine: Machine) -> None:
    (machine.home / ".git").mkdir()
    with pytest.raises(StoreUnusable, match="where agents could change it"):
        machine.load(machine.home).make_dir()


def test_outside_git_the_nearest_project_around_a_folder_counts(machine: Machine) -> None:
    outer, inner = machine.base / "notes", machine.base / "notes" / "deep" / "deeper"
    inner.mkdir(parents=True)
    assert machine.load(inner).is_by_chance
    made = machine.make(outer)
    assert machine.load(inner).dir == made.dir
    assert machine.load(machine.base).is_by_chance


def test_names_outside_ascii_stay_distinct(machine: Machine) -> None:
    names = {
        machine.load(machine.repository(name)).workspace for name in ("проект", "프로젝트", "é")
    }
    assert len(names) == 3
    assert all(name.isascii() for name in names)


def test_a_named_store_knows_whose_it_is(machine: Machine) -> None:
    root, other = machine.repository(), machine.repository("other")
    flags = {"dir": str(machine.base / "store")}
    made = machine.make(root, flags)
    assert made.project_root == root
    elsewhere = machine.load(other, flags)
    assert elsewhere.project_root == root
    assert (elsewhere.workspace, elsewhere.project_guard) == ("other", None)
    assert "belongs to" in elsewhere.place.notices[0]
    outside = machine.load(machine.base, flags)
    assert (outside.project_root, outside.workspace) == (root, "acme")


def test_two_repositories_of_one_name_do_not_share_a_named_store_by_accident(
    machine: Machine,
) -> None:
    flags = {"dir": str(machine.base / "store")}
    machine.make(machine.repository(), flags)
    (machine.base / "b").mkdir()
    twin = machine.repository("b/acme")
    with pytest.raises(Conflict, match="has the same name") as caught:
        machine.load(twin, flags)
    assert "--workspace" in str(caught.value.recovery)


def test_a_named_store_inside_a_work_tree_needs_the_mark_of_this_machine(machine: Machine) -> None:
    root = machine.repository()
    flags = {"dir": str(root / "store")}
    assert machine.make(root, flags).place.old is None
    assert (root / "store" / ".gitignore").read_text() == "*\n"
    # The same bytes, as an archive or an agent would leave them.
    shutil.copytree(root / "store", root / "forged")
    with pytest.raises(OldStore, match="not been adopted"):
        machine.load(root, {"dir": str(root / "forged")}).make_dir()
    (root / "store" / "project.json").unlink()
    with pytest.raises(OldStore):
        machine.load(root, flags).make_dir()


def test_what_is_pulled_into_the_tree_later_is_ignored(machine: Machine) -> None:
    root = machine.repository()
    made = machine.make(root)
    (root / ".longhouse").mkdir()
    (root / ".longhouse" / "longhouse.db").write_text("hostile")
    found = machine.load(root)
    assert (found.dir, found.place.old) == (made.dir, None)


def test_an_old_store_in_the_tree_is_not_used_until_it_is_adopted(machine: Machine) -> None:
    root = machine.repository()
    (root / ".longhouse").mkdir(mode=0o700)
    (root / ".longhouse" / "longhouse.db").write_text("rows")
    settings = machine.load(root)
    assert settings.place.old == root / ".longhouse"
    with pytest.raises(OldStore) as caught:
        settings.make_dir()
    assert "longhouse up" in str(caught.value.recovery)
    assert not settings.dir.exists()


def test_the_trees_file_may_set_limits_and_nothing_else(machine: Machine) -> None:
    root = machine.repository()
    (root / ".longhouse").mkdir()
    file = root / ".longhouse" / "config.toml"
    file.write_text("jobs_max_running = 3\n[runner]\nmax_slices = 5\n")
    assert machine.load(root).jobs_max_running == 3
    for name in ('toolset = "core"', "processes_keep_days = 1", 'items = "beads"'):
        file.write_text(name)
        with pytest.raises(InvalidInput, match="this file is inside the repository"):
            machine.load(root)


def test_the_tree_names_a_workspace_only_if_the_person_bound_it(machine: Machine) -> None:
    root = machine.repository()
    made = machine.make(root)
    (root / ".longhouse").mkdir()
    (root / ".longhouse" / "config.toml").write_text('workspace = "theirs"\n')
    with pytest.raises(InvalidInput, match="not bound") as caught:
        machine.load(root)
    assert "longhouse project bind theirs" in str(caught.value.recovery)
    project = made.place.project
    assert project is not None
    with machine.index.change() as known:
        known[project.id] = project._replace(workspaces=("theirs",))
    assert machine.load(root).workspace == "theirs"


def test_the_trees_file_is_not_read_through_a_link(machine: Machine) -> None:
    root = machine.repository()
    (root / ".longhouse").mkdir()
    (root / ".longhouse" / "config.toml").symlink_to("/dev/zero")
    machine.load(root)
    shutil.rmtree(root / ".longhouse")
    (machine.base / "aside").mkdir()
    (machine.base / "aside" / "config.toml").write_text("whatever = 1")
    (root / ".longhouse").symlink_to(machine.base / "aside")
    machine.load(root)


@pytest.mark.parametrize("key", ["", ".longhouse"])
def test_an_entry_for_the_repository_applies_wherever_the_store_is(
    machine: Machine, key: str
) -> None:
    root = machine.repository()
    mine = machine.home / ".config" / "longhouse" / "config.toml"
    mine.parent.mkdir(parents=True)
    url = "postgresql://db.example/house"
    mine.write_text(f'[stores."{root / key}"]\ndb = "{url}"\n')
    assert machine.load(root).db == url
    machine.load(root).make_dir()
    root.rename(machine.base / "renamed")
    assert machine.load(machine.base / "renamed").db == url


def test_the_index_is_private(machine: Machine) -> None:
    machine.make(machine.repository())
    assert machine.index.path.stat().st_mode & 0o777 == 0o600
    listed = json.loads(machine.index.path.read_text())["projects"]
    assert [one["workspace"] for one in listed] == ["acme"]
    assert os.access(machine.index.path.parent, os.W_OK)


def test_from_inside_a_sandbox_the_store_is_out_of_reach_and_the_tools_are_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine.repository()
    machine.make(root)
    real = os.open

    def read_only(path: object, flags: int, *rest: object, **more: object) -> int:
        if str(path).startswith(str(machine.home)) and flags & os.O_CREAT:
            raise OSError(30, "Read-only file system")
        return real(path, flags, *rest, **more)  # type: ignore[arg-type]

    inside = machine.load(root, CODEX_SANDBOX_NETWORK_DISABLED="1")
    inside.place.require()
    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(StoreOutOfReach) as caught:
        inside.place.require()
    assert "MCP client" in str(caught.value.recovery)
    machine.load(root).place.require()
