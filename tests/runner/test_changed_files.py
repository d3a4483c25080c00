"""The runner finds the files a slice changed, and they are compared with the job's reservations."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.git import changed_files
from longhouse.git.repository import Repository
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
    """A runner in a repository, with and without a worktree per job."""
    rig = make_rig(isolation=request.param)
    repository(rig)
    return rig


def outside(rig: Rig) -> list[list[str]]:
    """What is reported about each change, oldest first."""
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
    assert not git(root, "diff", "--cached", "--name-only")  # their index is unchanged


def test_names_that_a_terminal_would_obey_are_told_as_plain_text(rig: Rig) -> None:
    names = ["a\x1b[2Jb", "c\\..\\d", "-n", " ", "\u202eevil", "l" * 200, "é"]
    rig.run(f"[open(n, 'w').write('x') for n in {names!r}]; done({rig.note()!r})")
    (told,) = outside(rig)
    assert set(told) >= {"a�[2Jb", "c�..�d", "-n", "�evil", "é"}
    assert not any("\x1b" in name or "\u202e" in name for name in told)


def test_a_name_that_ends_in_a_blank_does_not_pass_for_a_file_that_is_reserved(rig: Rig) -> None:
    rig.run(f"open('a.txt ', 'w').write('x'); done({rig.note()!r})", paths=["a.txt"])
    assert outside(rig) == [["a.txt\ufffd"]]


def test_a_change_shows_though_the_time_of_the_file_was_set_back(rig: Rig) -> None:
    again = "s = os.stat('new.txt'); open('new.txt', 'w').write('b'); "
    again += "os.utime('new.txt', ns=(s.st_atime_ns, s.st_mtime_ns))"
    rig.run("open('new.txt', 'w').write('a'); go_on()", f"{again}; done({rig.note()!r})")
    assert outside(rig) == [["new.txt"], ["new.txt"]]


def test_files_that_the_job_was_given_hide_no_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_files, "MAX_CHANGED", 2)
    given = "os.mkdir('a'); [open(n, 'w').write('x') for n in ('a/1', 'a/2', 'b', 'z')]"
    rig.run(f"{given}; done({rig.note()!r})", paths=["a/*", "b"])
    (told,) = rig("agents.status")["outside"]
    assert ([one["path"] for one in told["files"]], told["more"]) == (["z"], 2)


def test_what_is_told_reaches_back_to_the_begin_of_the_slice_however_long_the_upload_took(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [0]
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + late[0])
    told: list[int] = []

    def uploaded(cmd: str, args: dict[str, Any]) -> None:
        if cmd.startswith("docs.artifact"):
            late[0] = 5
        if args.get("changed") and cmd == "jobs.report":
            told.append(args["changed"]["over_ms"])

    rig.wire.on_call = uploaded
    rig.run(f"print('x'); open('new.txt', 'w').write('a'); done({rig.note()!r})")
    assert late == [5]
    assert [one >= 5_000 for one in told] == [True]


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


def test_what_others_change_beside_the_project_does_not_keep_the_runner_from_looking(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig(isolation="none")
    top = repository(rig)
    (top / "part").mkdir()
    for number in range(3):
        (top / f"{number}.txt").write_text("x")
    monkeypatch.setattr(changed_files, "MOST_FILES", 2)
    rig.context = rig.context._replace(root=top / "part")
    rig.run(f"open('in.txt', 'w').write('x'); done({rig.note()!r})")
    assert outside(rig) == [["in.txt"]]


def test_in_a_work_tree_with_too_many_changes_the_record_says_how_many_were_not_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_files, "MOST_FILES", 3)
    write = "[open(f'{n}.txt', 'w').write('x' * %d) for n in range(5)]"
    rig.run(f"{write % 1}; go_on()", f"{write % 2}; done({rig.note()!r})")
    second, first = rig("agents.status")["outside"]
    for told in (first, second):
        assert [one["path"] for one in told["files"]] == [f"{n}.txt" for n in range(3)]
        assert told["more"] == 2


def test_if_no_changed_file_could_be_read_that_alone_is_recorded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_files, "MOST_FILES", 0)
    rig.run("open('a.txt', 'w').write('x'); go_on()", f"done({rig.note()!r})")
    second, first = rig("agents.status")["outside"]
    for told in (first, second):
        assert (told["files"], told["more"]) == ([], 1)


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
        """They reserve it after the slice has ended and before its changes are applied."""
        if cmd == "jobs.complete":
            rig("agents.reserve", agent="amber-otter", agent_token=token, **held)

    rig.wire.on_call = reserve
    rig.run(f"open('kept.txt', 'a').write('x'); done({rig.note()!r})", paths=["docs/*"])
    told = rig("agents.status")["outside"]
    assert [one["files"][0].get("holder") for one in told] == ["amber-otter", None]
    (mail,) = rig("agents.inbox", agent="amber-otter")["messages"]
    assert mail["subject"] == "JOB-001 changed files in kept.txt"


def test_a_job_whose_changes_are_taken_is_done_though_git_cannot_list_them(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig(isolation="worktree")
    root = repository(rig)
    run = Repository.git

    def fails(self: Repository, *words: str, **more: Any) -> bytes:
        if "--name-only" in words:
            raise OSError("out of memory")
        return run(self, *words, **more)

    monkeypatch.setattr(Repository, "git", fails)
    job = rig.run(f"open('kept.txt', 'w').write('two'); done({rig.note()!r})")
    assert rig.status(job) == "DONE", rig.lines
    assert rig.view(job)["job"].get("changes") is None
    assert (root / "kept.txt").read_text() == "two"
