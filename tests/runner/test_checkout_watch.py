"""What counts as a change in a checkout where people and agents work for hours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longhouse.git import changed_files
from longhouse.git.changed_files import CheckoutWatch
from longhouse.git.repository import FAILED, Repository, beside, folder_of_ours
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


def test_a_repository_without_a_commit_is_watched_like_any_other(tmp_path: Path) -> None:
    repo = tmp_path / "empty"
    repo.mkdir()
    git(repo, "init", "-q")
    watch = CheckoutWatch(repo, repo / ".store")
    before, nothing = watch.look()
    assert nothing is None
    (repo / "a.txt").write_text("one")
    assert paths(watch, before) == ["a.txt"]
    before, _ = watch.look()
    git(repo, "add", "a.txt")
    git(repo, "commit", "-qm", "first")
    (repo / "a.txt").write_text("two")
    assert paths(watch, before) == ["a.txt"]


def test_what_was_committed_since_the_last_look_counts(repo: Path, watch: CheckoutWatch) -> None:
    before, _ = watch.look()
    (repo / "a.txt").write_text("two")
    git(repo, "commit", "-qam", "second")
    (repo / "é\n.txt").write_text("x")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "third")
    assert paths(watch, before) == ["a.txt", "é\ufffd.txt"]


@pytest.fixture
def theirs(repo: Path) -> str:
    """A branch with someone else's new commit, and a branch with our own."""
    git(repo, "switch", "-qc", "theirs")
    (repo / "a.txt").write_text("theirs")
    git(repo, "commit", "-qam", "theirs")
    git(repo, "switch", "-q", "main")
    (repo / "b.txt").write_text("mine")
    git(repo, "commit", "-qam", "mine")
    return "theirs"


@pytest.mark.parametrize(
    "words",
    [
        "merge --no-edit",
        "merge --ff-only",
        "pull --no-rebase --no-edit .",
        "pull --rebase .",
        "rebase",
        "cherry-pick",
        "switch",
        "reset --hard",
    ],
)
def test_what_git_brings_from_elsewhere_is_nobodys_change(
    repo: Path, watch: CheckoutWatch, theirs: str, words: str
) -> None:
    if "--ff-only" in words:
        git(repo, "reset", "-q", "--hard", "HEAD~1")
    before, _ = watch.look()
    git(repo, *words.split(), theirs)
    now, found = watch.look(before)
    assert found is None
    (repo / "c.txt").write_text("two")
    git(repo, "commit", "-qam", "here, after that")
    assert paths(watch, now) == ["c.txt"]


def test_while_git_merges_nothing_is_compared_and_later_only_what_was_done_here(
    repo: Path, watch: CheckoutWatch, theirs: str
) -> None:
    before, _ = watch.look()
    git(repo, "merge", "-q", "--no-commit", theirs)
    (repo / "c.txt").write_text("edited meanwhile")
    assert watch.look(before) == (before, None)
    git(repo, "commit", "-qm", "merged")
    assert paths(watch, before) == ["c.txt"]


def test_what_a_pull_brings_while_git_is_asked_is_nobodys_change(
    repo: Path, watch: CheckoutWatch, theirs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = watch.look()

    def late(git_dir: Path, folder: Path) -> Repository:
        """A merge happens between reading HEAD and reading the index."""
        made = beside(git_dir, folder)
        git(repo, "merge", "-q", "--no-edit", theirs)
        (made.git_dir / "index").write_bytes((repo / ".git" / "index").read_bytes())
        return made

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(changed_files, "beside", late)
        assert watch.look(before) == (before, None)
    assert paths(watch, before) == []


@pytest.mark.parametrize("log", ["missing", "pipe", "cut", "false"])
def test_without_a_log_of_head_only_what_is_not_committed_counts(
    repo: Path, watch: CheckoutWatch, log: str
) -> None:
    at = repo / ".git" / "logs" / "HEAD"
    before, _ = watch.look()
    (repo / "a.txt").write_text("two")
    git(repo, "commit", "-qam", "second")
    (repo / "b.txt").write_text("two")
    at.unlink()
    if log == "cut":
        at.write_text("")
    if log == "false":
        at.write_text(f"{'0' * 40} {'1' * 40} me <me@x> 1 +0000\tcommit: no such\n" * 20)
    if log == "pipe":
        os.mkfifo(at)
        with pytest.raises(FAILED):
            watch.look(before)
    else:
        assert paths(watch, before) == ["b.txt"]


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
    (repo / "0").write_text("new, or changed before and one of those that were not read")
    assert watch.look(before)[1] == {"paths": [], "more": 3}


def test_a_name_beyond_the_first_20_000_is_not_even_read(
    repo: Path, watch: CheckoutWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_files, "MOST_FILES", 2)
    for number in range(9):
        (repo / f"{number}").write_text("x")
    seen = []

    def mark(path: Path) -> tuple[int, int]:
        seen.append(path.name)
        return 0, 0

    monkeypatch.setattr(changed_files, "_mark", mark)
    look = watch.look()[0].look
    assert (list(look.files), look.more, seen) == (["0", "1"], 7, ["0", "1"])


def test_a_folder_that_a_killed_look_left_is_removed_by_the_next_and_one_in_use_is_not(
    repo: Path, watch: CheckoutWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "longhouse" / "git"
    with folder_of_ours(repo) as used:
        left = own / "left"
        (left / "git").mkdir(parents=True)
        (left / "git" / "index").write_text("a copy")
        for one in (used, left):
            os.utime(one, (1, 1))
        watch.look()
        assert list(own.iterdir()) == [used]
    assert list(own.iterdir()) == []


def test_a_checkout_with_the_persons_own_folder_in_it_is_not_looked_at(
    repo: Path, watch: CheckoutWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write access there would allow an attacker to make git run a program."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repo / "config"))
    with pytest.raises(FAILED):
        watch.look()
    assert list((repo / "config" / "longhouse" / "git").iterdir()) == []
