"""Isolation: a git worktree per job, taken back whole or kept and reported; outputs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runner.kit import Rig


def git(root: Path, *words: str) -> str:
    ran = subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.org", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


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


def test_committed_work_is_taken_back_as_well(repo: Rig) -> None:
    ref = repo.note()
    commit = "git -c user.name=T -c user.email=t@example.org commit -qam second"
    job = repo.run(f"{WRITE}; os.system({commit!r}); done({ref!r})")
    assert repo.status(job) == "DONE"
    assert (repo.context.root / "a.txt").read_text() == "one\ntwo\n"


def test_changes_that_do_not_apply_are_kept_and_reported(repo: Rig) -> None:
    ref = repo.note()
    job = repo.job(f"{WRITE}; done({ref!r})")
    work = repo.claim(job)

    def meanwhile() -> None:
        (repo.context.root / "a.txt").write_text("quite another line\n")

    repo.before_slice(1, meanwhile)
    work()
    view = repo.view(job)["job"]
    kept = repo.context.home / "worktrees" / "acme" / job
    assert view["status"] == "FAILED"
    assert str(kept) in view["summary"]
    assert (kept / "a.txt").read_text() == "one\ntwo\n"
    assert (repo.context.root / "a.txt").read_text() == "quite another line\n"
    assert not (repo.context.root / "new.txt").exists()
    assert "do not apply" in repo.messages(job, "worktree_kept")[0]


class InTheWay:
    """A job whose changes do not apply; its manager looks at the radar and then does something."""

    def __init__(self, repo: Rig, act: Callable[[str], object]) -> None:
        self.file = repo.context.root / "a.txt"
        self.job = repo.job(f"{WRITE}; done({repo.note()!r})")
        self.seen: list[dict[str, Any]] = []
        repo.context = repo.context._replace(options=repo.options._replace(patch_wait_s=60))
        work = repo.claim(self.job)

        def meanwhile() -> None:
            self.file.write_text("quite another line\n")

        def watch(cmd: str, args: dict[str, Any]) -> None:
            if cmd == "jobs.report" and args["kind"] == "error":
                work.control.heard()
            elif cmd == "jobs.open" and repo.messages(self.job, "error") and not self.seen:
                self.seen = repo("jobs.radar")["jobs"]
                act(self.job)

        repo.before_slice(1, meanwhile)
        repo.wire.on_call = watch
        work()


def test_changes_that_do_not_apply_wait_marked_until_there_is_room(repo: Rig) -> None:
    there = InTheWay(repo, lambda _job: (repo.context.root / "a.txt").write_text("one\n"))
    (row,) = there.seen
    assert (row["status"], row["attention"]["marker"]) == ("RUNNING", "!")
    (said,) = repo.messages(there.job, "error")
    assert "do not apply" in said
    assert f"longhouse job reply {there.job} drop" in said
    assert repo.status(there.job) == "DONE"
    assert there.file.read_text() == "one\ntwo\n"


def test_changes_that_do_not_apply_can_be_dropped(repo: Rig) -> None:
    there = InTheWay(repo, lambda job: repo("jobs.message", job=job, message="drop"))
    view = repo.view(there.job)["job"]
    assert view["status"] == "FAILED"
    assert "were dropped" in view["summary"]
    assert there.file.read_text() == "quite another line\n"
    assert not (repo.context.home / "worktrees" / "acme" / there.job).exists()


def test_a_failed_job_changes_nothing_and_keeps_its_worktree(repo: Rig) -> None:
    job = repo.run(f"{WRITE}; answer('FAILED', summary='no')")
    assert repo.status(job) == "FAILED"
    assert (repo.context.root / "a.txt").read_text() == "one\n"
    assert (repo.context.home / "worktrees" / "acme" / job / "new.txt").exists()


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
    assert "no worktree can be made" in rig.messages(job, "released")[0]


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
    assert "no diff: ../secret.txt lies outside repo" in told["message"]
    assert "no patch: link leads through a symbolic link" in told["message"]
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
            assert "at most 3145728 are stored" in told[0]


def test_changes_that_no_memory_holds_stay_in_their_worktree(
    repo: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.worktrees.PATCH_BYTES", 10)
    ref = repo.note()
    job = repo.run(f"{WRITE}; done({ref!r})")
    assert repo.status(job) == "FAILED"
    (kept,) = repo.messages(job, "worktree_kept")
    assert "bytes of changes; at most 10 are taken back" in kept
    assert (repo.context.root / "a.txt").read_text() == "one\n"


def test_a_pipe_that_the_agent_names_as_a_result_holds_up_nobody(rig: Rig) -> None:
    ref = rig.note()
    made = [{"kind": "report", "path": "pipe"}, {"kind": "bench", "path": "."}]
    job = rig.run(f"os.mkfifo('pipe'); done({ref!r}, artifacts={made!r})")
    assert rig.status(job) == "DONE"
    (told,) = rig.messages(job, "artifacts")
    assert told == "no report: pipe is not a regular file; no bench: . is not a regular file"
