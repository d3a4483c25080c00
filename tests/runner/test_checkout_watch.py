"""What counts as a change in a checkout where people and agents work for hours."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.runner import changed_files
from longhouse.runner.changed_files import CheckoutWatch
from longhouse.runner.git import FAILED
from tests.runner.test_worktrees import checkout, git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return checkout(tmp_path / "project", "a.txt", "b.txt", "c.txt")


def paths(watch: CheckoutWatch, before: changed_files.CheckoutLook) -> list[str]:
    _, found = watch.look(before)
    return [one.removeprefix("./") for one in found["paths"]] if found else []


@pytest.fixture
def watch(repo: Path) -> CheckoutWatch:
    return CheckoutWatch(repo, repo / ".store")


def test_edited_staged_removed_renamed_and_new_files_count(
    repo: Path, watch: CheckoutWatch
) -> None:
    (repo / "before.txt").write_text("x")
    before, nothing = watch.look()
    assert nothing is None
    assert paths(watch, before) == []
    (repo / "a.txt").write_text("two")
    git(repo, "add", "a.txt")
    git(repo, "mv", "b.txt", "moved.txt")
    (repo / "c.txt").unlink()
    (repo / "new").mkdir()
    (repo / "new" / "d.txt").write_text("x")
    (repo / "x.log").write_text("ignored")
    (repo / ".store").mkdir()
    (repo / ".store" / "db").write_text("the store itself")
    assert paths(watch, before) == ["a.txt", "b.txt", "c.txt", "moved.txt", "new/d.txt"]


def test_what_was_committed_since_the_last_look_counts(repo: Path, watch: CheckoutWatch) -> None:
    before, _ = watch.look()
    (repo / "a.txt").write_text("two")
    git(repo, "commit", "-qam", "second")
    (repo / "é\n.txt").write_text("x")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "third")
    assert paths(watch, before) == ["a.txt", "é\ufffd.txt"]


def test_what_git_brings_from_elsewhere_is_nobodys_change(
    repo: Path, watch: CheckoutWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull, a merge, and a switch to another branch."""
    with monkeypatch.context() as long_ago:
        long_ago.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
        git(repo, "switch", "-qc", "theirs")
        (repo / "a.txt").write_text("theirs")
        git(repo, "commit", "-qam", "theirs")
        git(repo, "switch", "-q", "main")
        (repo / "b.txt").write_text("mine")
        git(repo, "commit", "-qam", "mine")
    before, _ = watch.look()
    git(repo, "merge", "-q", "--no-edit", "theirs")
    assert paths(watch, before) == []
    git(repo, "switch", "-q", "theirs")
    assert paths(watch, before) == []


def test_a_linked_worktree_is_looked_at_by_itself(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    watch = CheckoutWatch(tmp_path / "linked", repo / ".store")
    before, _ = watch.look()
    (repo / "a.txt").write_text("in the main one")
    (tmp_path / "linked" / "b.txt").write_text("here")
    assert paths(watch, before) == ["b.txt"]


def test_files_that_are_too_many_to_be_read_are_counted(
    repo: Path, watch: CheckoutWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_files, "MOST_FILES", 2)
    for name in ("1", "2", "3"):
        (repo / name).write_text("x")
    before, _ = watch.look()
    (repo / "2").write_text("yy")
    (repo / "3").write_text("yy")
    assert watch.look(before)[1] == {"paths": ["./2"], "more": 1}
    (repo / "0").write_text("new, and now one more of the others is not read")
    assert watch.look(before)[1] == {"paths": ["./0"], "more": 2}


def test_a_checkout_with_the_persons_own_folder_in_it_is_not_looked_at(
    repo: Path, watch: CheckoutWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write there could make git run a program."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repo / "config"))
    with pytest.raises(FAILED):
        watch.look()
    assert list((repo / "config" / "longhouse" / "git").iterdir()) == []
