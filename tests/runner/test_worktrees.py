"""Isolation: a git worktree per job, applied as a whole or kept and reported; outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.runner.kit import Rig


def git(root: Path, *words: str) -> str:
    ran = subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.org", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def checkout(root: Path, *names: str) -> Path:
    """A new repository that ignores logs, with one commit of these files."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for name in names:
        (root / name).write_text("one\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def repo(make_rig: Callable[..., Rig]) -> Rig:
    rig = make_rig(isolation="worktree")
    _commit_first(rig.context.root)
    return rig


def _commit_first(root: Path) -> None:
    git(root, "init", "-q")
    (root / "a.txt").write_text("one\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "first")


WRITE = "open('a.txt', 'a').write('two\\n'); open('new.txt', 'w').write('new\\n')"


def test_changes_of_a_done_job_are_taken_back_and_kept_as_a_patch(repo: Rig) -> None:
    ref = repo.note()
    job = repo.run(f"{WRITE}; remember(os.getcwd()); done({ref!r})")

    root = repo.context.root
    assert repo.status(job) == "DONE"
    assert (root / "a.txt").read_text() == "one\ntwo\n"
    assert (root / "new.txt").read_text() == "new\n"
    where = Path(repo.trace(job)[0])
    assert where != root
    assert not where.exists()
    assert "worktrees" not in git(root, "worktree", "list")
    patch = next(
        a
        for a in repo("docs.artifact.list", owner=job)["artifacts"]
        if a["name"].endswith(".patch")
    )
    assert patch["digest"]
    assert patch["ref"] in repo.view(job)["job"]["refs"]
    assert "+two" in repo("docs.artifact.show", id=patch["digest"])["parts"][0]["text"]


def test_a_job_that_changed_nothing_leaves_no_worktree_and_speaks_of_none(repo: Rig) -> None:
    job = repo.run(f"remember(os.getcwd()); done({repo.note()!r})")
    assert repo.status(job) == "DONE"
    assert repo.messages(job, "worktree_kept") == []
    assert "Its changes are in" not in repo.view(job)["job"]["summary"]
    assert not Path(repo.trace(job)[0]).exists()


def test_committed_work_is_taken_back_as_well(repo: Rig) -> None:
    ref = repo.note()
    commit = "git -c user.name=T -c user.email=t@example.org commit -qam second"
    job = repo.run(f"{WRITE}; os.system({commit!r}); done({ref!r})")
    assert repo.status(job) == "DONE"
    assert (repo.context.root / "a.txt").read_text() == "one\ntwo\n"


class InTheWay:
    """A DONE job whose changes do not land, since someone has committed the same line."""

    def __init__(self, repo: Rig) -> None:
        self.file = repo.context.root / "a.txt"
        self.job = repo.job(f"{WRITE}; done({repo.note()!r})")
        self.kept = repo.context.cache / "worktrees" / "acme" / self.job
        repo.before_slice(1, self._meanwhile)
        work = repo.claim(self.job)
        work()
        self.repo = repo

    def _meanwhile(self) -> None:
        self.file.write_text("quite another line\n")
        git(self.file.parent, "commit", "-qam", "meanwhile")

    def apply(self, *flags: str) -> tuple[int, str]:
        """Run `longhouse job apply`; returns the exit code and the output."""
        repo = self.repo
        words = [sys.executable, "-m", "longhouse", "job", "apply", self.job, *flags]
        words += ["--dir", str(repo.context.home), "--workspace", "acme"]
        ran = subprocess.run(
            words,
            cwd=repo.context.root,
            env={**os.environ, "LONGHOUSE_CACHE": str(repo.base / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr


def test_changes_that_do_not_apply_wait_marked_and_hold_no_runner(repo: Rig) -> None:
    there = InTheWay(repo)
    after = repo.job("done()", after=[there.job])
    view = repo.view(there.job)
    assert (view["job"]["status"], view["attention"]["marker"]) == ("QUEUED", "!")
    assert "runner" not in view["job"]
    assert str(there.kept) in view["job"]["changes"]
    assert (there.kept / "a.txt").read_text() == "one\ntwo\n"
    assert there.file.read_text() == "quite another line\n"
    assert not (repo.context.root / "new.txt").exists()
    (said,) = repo.messages(there.job, "changes_wait")
    assert "do not land" in said
    assert repo("jobs.claim", runner_id="r2")["job"] is None  # nor is what comes after it
    assert repo("jobs.open", job=after)["job"]["waits_for"] == 1


def test_the_radar_names_the_command_that_takes_changes_which_wait(repo: Rig) -> None:
    there = InTheWay(repo)
    (row,) = repo("jobs.radar")["jobs"]
    assert row["attention"]["marker"] == "!"
    assert "do not land" in row["changes"]["why"]
    assert row["changes"]["apply"] == f"longhouse job apply {there.job}"
    assert row["changes"]["drop"] == f"longhouse job apply {there.job} --drop"
    lines = repo.house.call("jobs.radar", {"fmt": "lines"}).text or ""
    assert f"| CMD: longhouse job apply {there.job}" in lines


def test_changes_that_wait_are_applied_once_the_person_has_made_room(repo: Rig) -> None:
    there = InTheWay(repo)
    after = repo.job("done()", after=[there.job])
    code, said = there.apply()
    assert code != 0
    assert "nothing was changed" in said
    assert f"longhouse job apply {there.job} --drop" in " ".join(said.split())
    assert repo.status(there.job) == "QUEUED"

    git(there.file.parent, "reset", "-q", "--hard", "HEAD~1")
    code, said = there.apply()
    assert (code, repo.status(there.job)) == (0, "DONE"), said
    assert there.file.read_text() == "one\ntwo\n"
    assert (repo.context.root / "new.txt").read_text() == "new\n"
    assert not there.kept.exists()
    assert "waits_for" not in repo("jobs.open", job=after)["job"]


def test_changes_that_wait_can_be_dropped(repo: Rig) -> None:
    there = InTheWay(repo)
    assert there.apply("--drop")[0] == 0
    view = repo.view(there.job)["job"]
    assert view["status"] == "FAILED"
    assert "were dropped" in view["summary"]
    assert there.file.read_text() == "quite another line\n"
    assert not there.kept.exists()


def test_changes_that_were_merged_by_hand_end_their_job(repo: Rig) -> None:
    there = InTheWay(repo)
    there.file.write_text("quite another line\ntwo\n")
    assert there.apply("--merged")[0] == 0
    assert repo.status(there.job) == "DONE"
    assert there.file.read_text() == "quite another line\ntwo\n"
    assert there.apply()[0] != 0  # nothing is pending anymore


def test_a_runner_that_dies_while_it_takes_changes_leaves_them_to_be_taken(repo: Rig) -> None:
    class Killed(BaseException):
        pass

    def killed(cmd: str, _args: dict[str, Any]) -> None:
        if cmd == "jobs.apply":
            raise Killed

    job = repo.job(f"{WRITE}; done({repo.note()!r})")
    work = repo.claim(job)
    repo.wire.on_call = killed
    with pytest.raises(Killed):
        work()
    assert repo("jobs.radar")["jobs"][0]["attention"]["marker"] == "!"
    assert (repo.context.root / "a.txt").read_text() == "one\ntwo\n"  # they are already applied

    there = InTheWay.__new__(InTheWay)
    there.repo, there.job = repo, job
    assert there.apply()[0] == 0
    assert repo.status(job) == "DONE"
    assert (repo.context.root / "a.txt").read_text() == "one\ntwo\n"


def test_only_its_runner_or_a_manager_says_what_became_of_changes(repo: Rig) -> None:
    there = InTheWay(repo)
    answer = repo.house.call("jobs.apply", {"job": there.job}, Caller(Role.AGENT, owner="TOK-9"))
    assert answer.envelope["error"]["code"] == "FORBIDDEN"
    assert repo.status(there.job) == "QUEUED"


def test_a_job_whose_changes_wait_can_run_again(repo: Rig) -> None:
    there = InTheWay(repo)
    repo("jobs.requeue", job=there.job)
    claimed = repo("jobs.claim", runner_id="r2")["job"]
    assert claimed["id"] == there.job
    assert "changes" not in claimed


def test_a_failed_job_changes_nothing_and_keeps_its_worktree(repo: Rig) -> None:
    job = repo.run(f"{WRITE}; answer('FAILED', summary='no')")
    assert repo.status(job) == "FAILED"
    assert (repo.context.root / "a.txt").read_text() == "one\n"
    assert (repo.context.cache / "worktrees" / "acme" / job / "new.txt").exists()


def test_a_job_that_was_given_back_goes_on_in_its_worktree(repo: Rig) -> None:
    ref = repo.note()
    job = repo.job(f"{WRITE}; go_on()", f"done({ref!r})")
    work = repo.claim(job)

    repo.before_slice(2, work.control.stop)
    work()
    assert repo.status(job) == "QUEUED"
    (repo.state / job / "prompt-1").write_text(f"[[*: done({ref!r})]]")
    repo.claim(job)()
    assert repo.status(job) == "DONE"
    assert (repo.context.root / "new.txt").exists()


def test_without_a_repository_the_job_is_given_back(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    job = rig.run("done()", meta={"isolation": "worktree"})
    assert rig.status(job) == "QUEUED"
    assert "no worktree can be created" in rig.messages(job, "released")[0]


def test_files_that_the_agent_made_become_artifacts_with_digests(rig: Rig) -> None:
    ref = rig.note()
    (rig.base / "secret.txt").write_text("not yours")
    (rig.context.root / "link").symlink_to(rig.base / "secret.txt")
    paths = {
        "report": "report.md",
        "bench": "nowhere.json",
        "diff": "../secret.txt",
        "patch": "link",
    }
    made = [{"kind": kind, "path": path} for kind, path in paths.items()]
    job = rig.run(
        f"open('report.md', 'w').write('# All well'); done({ref!r}, artifacts={made!r})",
        expected_artifacts=["report"],
    )
    assert rig.status(job) == "DONE"
    (told,) = rig.events(job, "artifacts")
    (report,) = [
        a for a in rig("docs.artifact.list", owner=job)["artifacts"] if a["name"] == "report.md"
    ]
    assert told["refs"] == [report["ref"]]
    assert told["meta"]["artifacts"] == {report["ref"]: report["digest"]}
    assert "no bench: nowhere.json: No such file" in told["message"]
    assert "no diff: ../secret.txt is outside repo" in told["message"]
    assert "no patch: link goes through a symbolic link" in told["message"]
    shown = rig("open", id=report["ref"])
    assert shown["parts"][0]["text"] == "# All well"
    names = {a["name"] for a in rig("docs.artifact.list", owner=job)["artifacts"]}
    assert names == {"report.md", f"{job}-slice-1.jsonl"}


def test_a_large_patch_is_stored_whole_and_one_beyond_the_limit_is_told(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(isolation="worktree", max_output_mb=3)
    _commit_first(rig.context.root)
    ref = rig.note()
    for name, megabytes in (("fits", 2), ("too-large", 4)):
        job = rig.run(
            f"open({name!r}, 'w').write('x' * 79 + chr(10) + ('y' * 79 + chr(10)) * "
            f"{megabytes * 12_500}); done({ref!r})"
        )
        assert rig.status(job) == "DONE"
        assert (rig.context.root / name).stat().st_size > megabytes * 1_000_000
        patches = [
            a
            for a in rig("docs.artifact.list", owner=job)["artifacts"]
            if a["name"] == f"{job}.patch"
        ]
        told = rig.messages(job, "artifacts")
        if name == "fits":
            assert [p["size"] > 2_000_000 for p in patches] == [True]
            assert told == []
        else:
            assert patches == []
            assert "no patch: " in told[0]
            assert "the limit is 3145728" in told[0]


def test_changes_that_no_memory_holds_stay_in_their_worktree(
    repo: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.worktrees.PATCH_BYTES", 10)
    ref = repo.note()
    job = repo.run(f"{WRITE}; done({ref!r})")
    assert repo.status(job) == "FAILED"
    (kept,) = repo.messages(job, "worktree_kept")
    assert "bytes of changes; the limit is 10" in kept
    assert (repo.context.root / "a.txt").read_text() == "one\n"


def test_a_pipe_that_the_agent_names_as_a_result_holds_up_nobody(rig: Rig) -> None:
    ref = rig.note()
    made = [{"kind": "report", "path": "pipe"}, {"kind": "bench", "path": "."}]
    job = rig.run(f"os.mkfifo('pipe'); done({ref!r}, artifacts={made!r})")
    assert rig.status(job) == "DONE"
    (told,) = rig.messages(job, "artifacts")
    assert told == "no report: pipe is not a regular file; no bench: . is not a regular file"
