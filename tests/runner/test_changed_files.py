"""Which files a slice changed is seen by its runner and compared with what the job had reserved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runner.kit import Rig
from tests.runner.test_worktrees import git

IN_SRC = "os.makedirs('src', exist_ok=True); open('src/a.py', 'w').write('a')"


def repository(rig: Rig) -> Path:
    root = rig.context.root
    git(root, "init", "-q")
    (root / "kept.txt").write_text("one\n")
    (root / "gone.txt").write_text("one\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture(params=["worktree", "none"])
def rig(request: pytest.FixtureRequest, make_rig: Callable[..., Rig]) -> Rig:
    """A runner in a repository, with a worktree for each job and without."""
    rig = make_rig(isolation=request.param)
    repository(rig)
    return rig


def outside(rig: Rig) -> list[list[str]]:
    """What is told of each change, the oldest first."""
    told = rig("agents.status")["outside"]
    return [[one["path"] for one in change["files"]] for change in reversed(told)]


def test_each_slice_tells_what_it_changed_and_nothing_of_what_was_reserved(rig: Rig) -> None:
    ref = rig.note()
    job = rig.run(
        f"{IN_SRC}; open('kept.txt', 'a').write('two'); open('x.log', 'w'); go_on()",
        f"open('src/a.py', 'a').write('b'); os.remove('gone.txt'); done({ref!r})",
        paths=["src/*"],
    )
    assert rig.status(job) == "DONE", rig.messages(job, "error")
    assert outside(rig) == [["kept.txt"], ["gone.txt"]]
    assert {one["agent_id"] for one in rig("agents.status")["outside"]} == {job.lower()}


def test_what_the_agent_commits_is_told_as_well(rig: Rig) -> None:
    commit = "git -c user.name=T -c user.email=t@example.org commit -qam second"
    rig.run(f"open('kept.txt', 'a').write('x'); os.system({commit!r}); done({rig.note()!r})")
    assert outside(rig) == [["kept.txt"]]


def test_what_others_had_changed_before_is_not_the_jobs(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(isolation="none")
    root = repository(rig)
    (root / "kept.txt").write_text("somebody is at it\n")
    (root / "new.txt").write_text("somebody's\n")
    rig.run(f"open('mine.txt', 'w').write('x'); done({rig.note()!r})")
    assert outside(rig) == [["mine.txt"]]
    assert not git(root, "diff", "--cached", "--name-only")  # their index stays as it was


def test_names_that_a_terminal_would_obey_are_told_as_plain_text(rig: Rig) -> None:
    names = ["a\x1b[2Jb", "c\\..\\d", "-n", " ", "\u202eevil", "l" * 200, "é"]
    rig.run(f"[open(n, 'w').write('x') for n in {names!r}]; done({rig.note()!r})")
    (told,) = outside(rig)
    assert set(told) >= {"a�[2Jb", "c�..�d", "-n", "�evil", "é"}
    assert not any("\x1b" in name or "\u202e" in name for name in told)


def test_the_files_of_the_store_itself_are_never_told(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(isolation="none")
    root = repository(rig)
    rig.context = rig.context._replace(home=root / "store")
    (root / "store").mkdir()
    rig.run(f"open('store/x', 'w').write('x'); done({rig.note()!r})")
    assert outside(rig) == []


def test_paths_begin_at_the_project_where_it_is_a_folder_of_the_repository(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(isolation="none")
    top = repository(rig)
    (top / "part").mkdir()
    rig.context = rig.context._replace(root=top / "part")
    rig.run(f"open('in.txt', 'w').write('x'); open('../out.txt', 'w'); done({rig.note()!r})")
    assert outside(rig) == [["in.txt"]]


def test_without_git_a_job_runs_and_nothing_is_told(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    job = rig.run(f"open('x.txt', 'w').write('x'); done({rig.note()!r})")
    assert rig.status(job) == "DONE"
    assert outside(rig) == []


def test_changes_that_go_into_files_that_somebody_holds_are_told_to_them(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(isolation="worktree")
    repository(rig)
    token = rig("agents.register", name="amber-otter")["agent_token"]
    held: dict[str, Any] = {"scope": "kept.txt", "bead_id": "x-1"}

    def reserve(cmd: str, _args: dict[str, Any]) -> None:
        """They reserve it when the slice has ended, before its changes are taken."""
        if cmd == "jobs.complete":
            rig("agents.reserve", agent="amber-otter", agent_token=token, **held)

    rig.wire.on_call = reserve
    rig.run(f"open('kept.txt', 'a').write('x'); done({rig.note()!r})", paths=["docs/*"])
    told = rig("agents.status")["outside"]
    assert [one["files"][0].get("holder") for one in told] == ["amber-otter", None]
    (mail,) = rig("agents.inbox", agent="amber-otter")["messages"]
    assert mail["subject"] == "JOB-001 changed files in kept.txt"
