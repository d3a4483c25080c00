"""The person's work tree follows what was landed: wholly, or not at all, whoever interferes."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.git.repository import Repository, said
from longhouse.runner import following
from tests.runner.test_worktrees import git

LANDED = "longhouse/landed"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    (made / "a.txt").write_text("one\n")
    git(made, "add", "a.txt")
    git(made, "commit", "-qm", "first")
    return made


def moved(root: Path) -> tuple[str, str]:
    """Make a commit on the branch that changes, adds and removes files; HEAD stays clean."""
    (root / "old.txt").write_text("old\n")
    (root / "x").write_text("a file\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "more")
    head = git(root, "rev-parse", "HEAD").strip()
    git(root, "switch", "-qc", LANDED)
    (root / "a.txt").write_text("two\n")
    (root / "old.txt").unlink()
    (root / "x").unlink()
    (root / "x").mkdir()
    (root / "x" / "deep.txt").write_text("deep\n")
    (root / "new.txt").write_text("new\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "landed")
    commit = git(root, "rev-parse", "HEAD").strip()
    git(root, "switch", "-q", "main")
    return head, commit


def files(root: Path) -> dict[str, str]:
    found = (one for one in root.rglob("*") if ".git" not in one.parts and one.is_file())
    return {str(one.relative_to(root)): one.read_text() for one in found}


def git_that(monkeypatch: pytest.MonkeyPatch, *words: str, does: Callable[..., Any]) -> None:
    """Replace the first of our git commands that starts with these words."""
    run = Repository.git
    done: list[tuple[str, ...]] = []

    def ran(self: Repository, *given: str, **more: Any) -> bytes:
        if given[: len(words)] == words and not done:
            done.append(given)
            return bytes(does(lambda **also: run(self, *given, **more, **also), self) or b"")
        return run(self, *given, **more)

    monkeypatch.setattr(Repository, "git", ran)


def follows(root: Path, commit: str) -> str | None:
    return following.follow(Repository(root / ".git", root), commit, root.parent)


def test_a_lock_that_another_git_command_has_made_meanwhile_is_not_removed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, commit = moved(root)
    lock = root / ".git" / "index.lock"
    seen = []

    def meanwhile(run: Callable[..., bytes], _: Repository) -> bytes:
        seen.append((lock.exists(), git(root, "diff", "--cached", "--name-only", commit)))
        out = run()
        lock.unlink()
        lock.write_text("another's")
        return out

    git_that(monkeypatch, "update-ref", "-m", does=meanwhile)
    assert follows(root, commit) is None
    assert seen == [(True, "")]  # the index is new before HEAD is, and still locked
    assert lock.read_text() == "another's"


def test_the_index_is_locked_until_its_work_tree_has_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, commit = moved(root)
    names = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        names.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    assert follows(root, commit) is None
    assert names == ["index.longhouse"]
    assert git(root, "status", "--porcelain") == ""
    assert not [one for one in (root / ".git").iterdir() if one.name.startswith("index.")]


def test_a_lock_of_a_runner_that_works_is_not_taken_over(root: Path) -> None:
    head, commit = moved(root)
    lock = root / ".git" / "index.lock"
    lock.write_bytes(following._MARK + f"{head} {commit}\n".encode())
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert follows(root, commit) == "another git command is running there"
        assert lock.exists()
    assert follows(root, commit) is None
    assert not lock.exists()


@pytest.mark.parametrize("stage", ["some files", "all files", "the index", "HEAD"])
def test_the_next_runner_finishes_what_one_that_was_killed_had_begun(
    root: Path, stage: str
) -> None:
    head, commit = moved(root)
    if stage == "some files":
        (root / "a.txt").unlink()
        (root / "old.txt").unlink()
        (root / "new.txt").write_text("ne")
    else:
        before = (root / ".git" / "index").read_bytes()
        git(root, "read-tree", "-m", "-u", head, commit)
        if stage == "all files":
            (root / ".git" / "index").write_bytes(before)
        if stage == "HEAD":
            git(root, "update-ref", "HEAD", commit)
    (root / ".git" / "index.lock").write_bytes(following._MARK + f"{head} {commit}\n".encode())
    assert follows(root, commit) is None
    assert git(root, "rev-parse", "main").strip() == commit
    assert git(root, "status", "--porcelain") == ""
    assert not (root / ".git" / "index.lock").exists()
    assert files(root) == {"a.txt": "two\n", "x/deep.txt": "deep\n", "new.txt": "new\n"}


def test_the_reflog_says_who_moved_the_branch(root: Path) -> None:
    _, commit = moved(root)
    assert follows(root, commit) is None
    assert git(root, "log", "-g", "-1", "--format=%gn: %gs").strip() == (
        f"Longhouse: {LANDED}: Fast-forward"
    )


@pytest.mark.parametrize("name", ["a.txt", "new.txt", "old.txt", "x/deep.txt"])
def test_a_file_that_goes_through_a_filter_is_left_alone_wherever_it_is_listed(
    root: Path, name: str
) -> None:
    head, commit = moved(root)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text(f"{name} filter=lfs\n")
    assert follows(root, commit) == f"{name} goes through a filter, as with Git LFS"
    assert git(root, "rev-parse", "main").strip() == head


def test_only_the_branch_that_is_checked_out_moves(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, commit = moved(root)
    before = files(root)

    def meanwhile(run: Callable[..., bytes], _: Repository) -> bytes:
        git(root, "switch", "-qc", "feature")
        return run()

    git_that(monkeypatch, "read-tree", "-m", "-u", does=meanwhile)
    assert "another branch" in str(follows(root, commit))
    assert git(root, "rev-parse", "main", "feature").split() == [head, head]
    assert (files(root), git(root, "status", "--porcelain")) == (before, "")


def test_a_branch_that_is_checked_out_at_the_last_moment_is_the_one_that_moves(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, commit = moved(root)

    def meanwhile(run: Callable[..., bytes], _: Repository) -> bytes:
        git(root, "switch", "-qc", "feature")
        return run()

    git_that(monkeypatch, "update-ref", "-m", does=meanwhile)
    assert follows(root, commit) is None
    assert git(root, "rev-parse", "main", "feature").split() == [head, commit]
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize("at", ["read-tree", "update-ref"])
def test_a_fast_forward_that_fails_midway_is_put_back_or_told(
    root: Path, at: str, touched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, commit = moved(root)
    before = files(root)

    def fails(run: Callable[..., bytes], ours: Repository) -> None:
        if at == "read-tree":  # it has written files, and no index
            shutil.copyfile(ours.git_dir / "index", root.parent / "index")
            run(index=root.parent / "index")
            (ours.git_dir / "index.lock").write_text("")
            (root / "new.txt").write_text("ne")
        if touched:
            (root / "a.txt").write_text("by the person\n")
        raise subprocess.TimeoutExpired("git", 1)

    git_that(monkeypatch, at, "-m", does=fails)
    why = str(follows(root, commit))
    assert "timed out" in why
    assert git(root, "rev-parse", "main").strip() == head
    if touched:
        before["a.txt"] = "by the person\n"
        assert "half updated now: a.txt was changed meanwhile" in why
    assert files(root) == before
    assert git(root, "status", "--porcelain").split() == (["M", "a.txt"] if touched else [])
    assert not (root / ".git" / "index.lock").exists()


def test_why_git_failed_is_said_without_its_advice(root: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        Repository(root / ".git", root).git("merge-base", "--is-ancestor", "HEAD", "nope")
    assert said(failed.value) == "fatal: Not a valid object name nope"
