"""Landing: finished changes become commits on `longhouse/landed`, and a clean work tree follows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.runner import landing, locks, worktrees
from longhouse.runner.settling import lock_of, sweep
from tests.runner.kit import Rig
from tests.runner.test_worktrees import git

LANDED = "longhouse/landed"


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    rig = make_rig()
    first(rig.context.root)
    return rig


def first(root: Path, *how: str) -> None:
    git(root, "init", "-q", "-b", "main", *how)
    (root / "a.txt").write_text("one\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "first")


def work(rig: Rig, script: str, **more: Any) -> str:
    return rig.run(f"{script}; done({rig.note()!r})", **more)


def put(name: str, text: str) -> str:
    return f"open({name!r}, 'w').write({text!r})"


def shows(root: Path, name: str) -> str:
    return git(root, "show", f"{LANDED}:{name}")


def told(rig: Rig, job: str) -> str:
    return rig.messages(job, "completed")[0]


def test_a_job_that_writes_has_a_worktree_by_default_and_lands_one_commit(rig: Rig) -> None:
    root = rig.context.root
    job = work(rig, f"remember(os.getcwd()); {put('new.txt', 'new')}")
    assert rig.status(job) == "DONE"
    assert Path(rig.trace(job)[0]).is_relative_to(rig.context.cache)
    assert git(root, "rev-list", "--count", f"main..{LANDED}").strip() == "0"  # main followed
    assert git(root, "log", "-1", "--format=%s|%cn|%an").strip() == (
        f"Look|Longhouse|Longhouse (codex, {job})"
    )
    assert f"Longhouse-Job: {job}" in git(root, "log", "-1", "--format=%(trailers)")
    assert git(root, "status", "--porcelain") == ""
    assert (root / "new.txt").read_text() == "new"
    assert "the work tree follows" in told(rig, job)
    assert len(git(root, "worktree", "list").splitlines()) == 1


def test_a_job_after_another_sees_its_change_though_the_work_tree_is_dirty(rig: Rig) -> None:
    root = rig.context.root
    (root / "a.txt").write_text("mine\n")
    one = work(rig, put("new.txt", "new"))
    assert f"git merge --ff-only {LANDED}" in told(rig, one)
    assert "uncommitted changes: a.txt" in told(rig, one)
    two = work(rig, "assert open('new.txt').read() == 'new'; " + put("newer.txt", "x"))
    assert (rig.status(one), rig.status(two)) == ("DONE", "DONE")
    assert (root / "a.txt").read_text() == "mine\n"
    assert not (root / "new.txt").exists()
    assert git(root, "log", "-1", "--format=%s").strip() == "first"
    git(root, "checkout", "-q", "--", "a.txt")
    git(root, "merge", "-q", "--ff-only", LANDED)
    assert (root / "newer.txt").exists()


@pytest.mark.parametrize("name", ["c.txt", "a.txt"])
def test_what_two_jobs_did_at_once_is_merged_and_what_clashes_is_held(rig: Rig, name: str) -> None:
    root = rig.context.root
    other: list[str] = []

    def meanwhile() -> None:
        if not other:
            other.append("begun")
            other.append(work(rig, put("a.txt", "two\n") + "; " + put("b.txt", "b")))

    rig.before_slice(1, meanwhile)
    job = work(rig, put(name, "mine\n"))
    assert rig.status(other[1]) == "DONE"
    assert shows(root, "b.txt") == "b"
    if name == "c.txt":
        assert rig.status(job) == "DONE"
        assert (shows(root, "a.txt"), shows(root, "c.txt")) == ("two\n", "mine\n")
    else:
        assert rig.status(job) == "QUEUED"
        assert "conflicts in a.txt" in rig.view(job)["job"]["changes"]
        assert shows(root, "a.txt") == "two\n"


def test_commits_of_the_person_are_merged_in_and_new_work_starts_from_both(rig: Rig) -> None:
    root = rig.context.root
    (root / "a.txt").write_text("dirty\n")
    work(rig, put("new.txt", "new"))
    git(root, "commit", "-qam", "mine")
    job = work(rig, "assert open('a.txt').read() == 'dirty\\n'; open('new.txt'); " + put("x", "x"))
    assert rig.status(job) == "DONE"
    assert git(root, "status", "--porcelain") == ""
    assert {"new.txt", "x"} <= {one.name for one in root.iterdir()}
    assert git(root, "merge-base", "--is-ancestor", "main", LANDED) == ""


def test_where_the_persons_commits_do_not_merge_nothing_lands_until_they_do(rig: Rig) -> None:
    root = rig.context.root
    (root / "b.txt").write_text("in the way")
    work(rig, put("a.txt", "theirs\n") + "; " + put("b.txt", "b"))
    assert (root / "b.txt").read_text() == "in the way"
    (root / "a.txt").write_text("mine\n")
    git(root, "commit", "-qam", "mine")
    job = work(rig, "assert open('a.txt').read() == 'mine\\n'; " + put("x", "x"))
    assert rig.status(job) == "QUEUED"
    assert "do not merge (conflicts in a.txt)" in rig.view(job)["job"]["changes"]
    assert f"merge {LANDED}" in rig.messages(job, "diverged")[0]


@pytest.mark.parametrize(
    "prepare,why",
    [
        ("(root / 'new.txt').write_text('untracked')", "new.txt is not in git"),
        ("(root / 'b').write_text('b'); git(root, 'add', 'b')", "uncommitted changes: b"),
        ("git(root, 'checkout', '-q', '--detach')", "no branch is checked out"),
        ("(root / '.git/MERGE_HEAD').write_text('x')", "under way"),
        ("(root / '.git/index.lock').write_text('')", "another git command"),
        (
            "git(root, 'worktree', 'add', '-q', '--force', str(root.parent / 'too'), 'main')",
            "is checked out in",
        ),
        ("git(root, 'config', 'core.sparseCheckout', 'true')", "sparse"),
        ("git(root, 'update-index', '--assume-unchanged', 'a.txt')", "left alone"),
    ],
)
def test_a_work_tree_that_is_not_simply_clean_is_left_and_told(
    rig: Rig, prepare: str, why: str
) -> None:
    root = rig.context.root
    eval(f"[{prepare.replace('; ', ', ')}]", {"root": root, "git": git})
    before = {
        name: (root / name).read_text() for name in ("new.txt", "b") if (root / name).exists()
    }
    head = git(root, "rev-parse", "HEAD")
    job = work(rig, put("new.txt", "new") + "; " + put("a.txt", "two\n"))
    assert rig.status(job) == "DONE", rig.view(job)
    assert why in told(rig, job)
    assert f"git merge --ff-only {LANDED}" in told(rig, job)
    assert git(root, "rev-parse", "HEAD") == head
    assert (root / "a.txt").read_text() == "one\n"
    assert {name: (root / name).read_text() for name in before} == before
    assert shows(root, "new.txt") == "new"


def test_a_file_that_the_person_has_ignored_is_not_replaced(rig: Rig) -> None:
    root = rig.context.root

    def meanwhile() -> None:
        (root / ".git" / "info" / "exclude").write_text("new.txt\n")
        (root / "new.txt").write_text("secret")

    rig.before_slice(1, meanwhile)
    job = work(rig, put("new.txt", "new"))
    assert "new.txt is not in git" in told(rig, job)
    assert (root / "new.txt").read_text() == "secret"


def test_a_branch_that_somebody_has_checked_out_is_not_moved(rig: Rig) -> None:
    root = rig.context.root
    git(root, "worktree", "add", "-q", "-b", LANDED, str(rig.base / "person"))
    job = work(rig, put("new.txt", "new"))
    assert rig.status(job) == "QUEUED"
    assert f"{LANDED} is checked out in {rig.base / 'person'}" in rig.view(job)["job"]["changes"]
    assert git(root, "rev-parse", LANDED) == git(root, "rev-parse", "main")


@pytest.mark.parametrize("kind", ["nothing", "unborn"])
def test_without_a_commit_the_job_works_in_the_shared_folder_and_says_so(
    make_rig: Callable[..., Rig], kind: str
) -> None:
    rig = make_rig()
    if kind == "unborn":
        git(rig.context.root, "init", "-q")
    job = work(rig, put("new.txt", "new"))
    assert rig.status(job) == "DONE"
    assert (rig.context.root / "new.txt").exists()
    (said,) = rig.messages(job, "shared_folder")
    assert ("no commit yet" if kind == "unborn" else "not in a git repository") in said
    assert rig.told("worktree.none")


def test_a_runner_that_only_reads_makes_no_worktree(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(sandbox="read-only")
    first(rig.context.root)
    job = work(rig, "remember(os.getcwd())")
    assert rig.trace(job) == [str(rig.context.root)]
    assert rig.messages(job, "shared_folder") == []


@pytest.mark.parametrize("kind", ["sha256", "shallow", "apply"])
def test_changes_land_in_every_kind_of_repository(
    make_rig: Callable[..., Rig], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig()
    root = rig.context.root
    if kind == "shallow":
        (rig.base / "origin").mkdir()
        first(rig.base / "origin")
        git(rig.base / "origin", "commit", "-q", "--allow-empty", "-m", "second")
        root.rmdir()
        git(rig.base, "clone", "-q", "--depth", "1", f"file://{rig.base / 'origin'}", str(root))
    else:
        first(root, *(["--object-format=sha256"] if kind == "sha256" else []))
    if kind == "apply":  # as with a git that cannot write merged trees yet
        monkeypatch.setattr(landing, "_MERGES", (99, 0))
    (root / "a.txt").write_text("mine\n")
    work(rig, put("new.txt", "new"))
    git(root, "commit", "-qam", "mine")
    job = work(rig, put("x", "x"))
    assert rig.status(job) == "DONE", rig.view(job)
    assert (shows(root, "new.txt"), shows(root, "x"), shows(root, "a.txt")) == (
        "new",
        "x",
        "mine\n",
    )
    assert (root / "x").exists()
    git(root, "fsck", "--strict", "--no-dangling")


class Killed(BaseException):
    """The runner is killed: nothing after it runs."""


POINTS = {
    "before it is noted": (worktrees.Worktree, "due"),
    "before the branch is looked at": (landing.LandedBranch, "land"),
    "before the objects are copied": (landing.LandedBranch, "_bring"),
    "before the branch moves": (landing.LandedBranch, "_swap"),
    "before the work tree follows": (worktrees, "follow"),
    "before its worktree is removed": (worktrees.Worktree, "remove"),
}


@pytest.mark.parametrize("after", [False, True], ids=["at", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_a_runner_killed_while_it_lands_has_landed_once_after_the_next_sweep(
    rig: Rig, point: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = POINTS[point]
    run = getattr(owner, name)

    def killed(*args: Any, **more: Any) -> Any:
        if after:
            run(*args, **more)
        raise Killed

    job = rig.job(f"{put('new.txt', 'new')}; done({rig.note()!r})")
    worker = rig.claim(job)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            worker()
    root = rig.context.root
    if rig.status(job) == "RUNNING":  # its claim lapses, and it runs again in its worktree
        rig("jobs.cancel", job=job)
        sweep(rig.context)
        assert git(root, "branch", "--list", LANDED) == ""
        return
    sweep(rig.context)
    sweep(rig.context)
    assert rig.status(job) == "DONE"
    assert git(root, "rev-list", "--count", LANDED).strip() == "2"
    assert (root / "new.txt").read_text() == "new"
    assert git(root, "status", "--porcelain") == ""
    assert list((rig.context.cache / "worktrees" / "acme").iterdir()) == []
    assert len(git(root, "worktree", "list").splitlines()) == 1
    git(root, "fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("again", [put("more.txt", "x"), put("new.txt", "newer")])
def test_what_a_job_changes_after_its_landing_went_unrecorded_is_landed_too(
    rig: Rig, again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = rig.context.root
    change = f"{again} if os.path.exists('new.txt') else {put('new.txt', 'new')}"
    job = rig.job(f"{change}; done({rig.note()!r})")
    worker = rig.claim(job)
    with monkeypatch.context() as patched:
        patched.setattr(worktrees, "follow", killed)
        with pytest.raises(Killed):
            worker()
    assert shows(root, "new.txt") == "new"
    rig("jobs.requeue", job=job)
    worktree = worktrees.worktree_of(root, rig.context.cache, "acme", job, store=rig.context.home)
    assert worktree.has_landed()
    rig.claim(job)()
    assert rig.status(job) == "DONE", rig.view(job)
    name, text = ("more.txt", "x") if "more" in again else ("new.txt", "newer")
    assert shows(root, name) == text
    assert (root / name).read_text() == text


def killed(*_args: Any) -> None:
    raise Killed


def test_stores_with_caches_of_their_own_land_one_after_another(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = rig.context.root
    monkeypatch.setattr(worktrees, "WAIT_S", 0)
    other = worktrees.Worktree(root, rig.base / "elsewhere", "JOB-001", store=rig.context.home)
    seen = []

    def meanwhile(*_args: Any) -> None:
        with pytest.raises(worktrees.NoWorktree) as refused:
            other.open()
        seen.append(refused.value.message)

    monkeypatch.setattr(worktrees, "follow", meanwhile)
    job = work(rig, put("new.txt", "new"))
    assert rig.status(job) == "DONE"
    assert "longhouse.lock" in seen[0]
    other.open()


def test_a_lock_that_another_user_has_made_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refused(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_RDWR:
            raise PermissionError
        return opened(path, flags, *more, **named)

    with locks.held_among_others(tmp_path / "lock", 0):
        monkeypatch.setattr(os, "open", refused)
        with pytest.raises(TimeoutError), locks.held_among_others(tmp_path / "lock", 0):
            pass
    with locks.held_among_others(tmp_path / "lock", 0):
        pass


def test_the_lock_of_a_repository_is_not_followed_to_another_file(rig: Rig) -> None:
    (rig.base / "kept").write_text("kept")
    (rig.context.root / ".git" / "longhouse.lock").symlink_to(rig.base / "kept")
    job = work(rig, put("new.txt", "new"))
    assert rig.status(job) != "DONE"
    assert (rig.base / "kept").read_text() == "kept"


def test_worktrees_are_swept_by_the_state_of_their_jobs(rig: Rig) -> None:
    home = rig.context.cache / "worktrees" / "acme"
    failed = rig.run(f"{put('new.txt', 'new')}; answer('FAILED', summary='no')")
    held = work(rig, put(".envrc", "x"))
    canceled = rig.job(f"{put('new.txt', 'new')}; go_on()", "go_on()")
    worker = rig.claim(canceled)
    rig.before_slice(2, worker.control.stop)
    worker()
    rig("jobs.cancel", job=canceled)
    (home / "JOB-099").mkdir()  # a runner was killed while it made it
    scratch = rig.context.cache / "scratch"
    (scratch / "left").mkdir(parents=True)
    os.utime(scratch / "left", (1, 1))
    with locks.held_folder(scratch) as used:
        os.utime(used, (1, 1))
        with locks.held(lock_of(rig.context, canceled)):
            sweep(rig.context)
        assert (home / canceled).exists()  # a runner works there
        sweep(rig.context)
        assert list(scratch.iterdir()) == [used]
    assert {one.name for one in home.iterdir() if one.is_dir() and one.suffix != ".git"} == {
        failed,
        held,
    }
    (patch,) = [
        a
        for a in rig("docs.artifact.list", owner=canceled)["artifacts"]
        if a["name"].endswith(".patch")
    ]
    assert "+new" in rig("docs.artifact.show", id=patch["digest"])["parts"][0]["text"]
    listed = git(rig.context.root, "worktree", "list")
    assert (failed in listed, held in listed, canceled in listed) == (True, True, False)


def test_the_worktree_of_a_failed_job_stays_for_its_days_and_then_as_a_patch(rig: Rig) -> None:
    job = rig.run(f"{put('new.txt', 'new')}; answer('FAILED', summary='no')")
    there = rig.context.cache / "worktrees" / "acme" / job
    ended = rig.view(job)["job"]["completed_at_ms"] / 1000
    days = rig.context.options.failed_worktree_days * 86_400
    sweep(rig.context, now=lambda: ended + days)
    assert there.exists()
    sweep(rig.context, now=lambda: ended + days + 1)
    assert not there.exists()
    assert job not in git(rig.context.root, "worktree", "list")
    (patch,) = [
        a for a in rig("docs.artifact.list", owner=job)["artifacts"] if a["name"].endswith(".patch")
    ]
    assert "+new" in rig("docs.artifact.show", id=patch["digest"])["parts"][0]["text"]


def test_a_worktree_that_an_older_version_made_in_the_store_is_found_and_swept(rig: Rig) -> None:
    old = rig.context.home / "worktrees" / "acme"
    job = rig.run(f"{put('new.txt', 'new')}; answer('FAILED', summary='no')")
    made = worktrees.Worktree(rig.context.root, old, job, store=rig.context.home)
    made.open()
    found = worktrees.worktree_of(
        rig.context.root, rig.context.cache, "acme", job, store=rig.context.home
    )
    assert found.path == old / job
    done = work(rig, put("x", "x"))
    worktrees.Worktree(rig.context.root, old, done, store=rig.context.home).open()
    sweep(rig.context)
    assert (old / job).exists()
    assert not (old / done).exists()


def test_the_set_up_command_prepares_each_new_worktree_once(make_rig: Callable[..., Rig]) -> None:
    script = "import os; open('ready', 'a').write('x'); print('prepared', os.getcwd())"
    rig = make_rig(worktree_setup=f'{sys.executable} -c "{script}"')
    first(rig.context.root)
    job = rig.run(
        "go_on()", f"{put('new.txt', 'new')}; remember(open('ready').read()); done({rig.note()!r})"
    )
    assert rig.trace(job) == ["x"]
    assert "prepared" in rig.messages(job, "prepared")[0]
    assert "ready" not in git(rig.context.root, "ls-tree", "--name-only", LANDED)
    assert rig.status(job) == "DONE"


@pytest.mark.parametrize(
    "command,why",
    [
        (f"{sys.executable} -c \"import sys; sys.exit('no network')\"", "no network"),
        ("/no/such/program", "cannot be started"),
        (f'{sys.executable} -c "while 1: pass"', "took too long"),
    ],
)
def test_a_job_is_given_back_with_the_reason_if_its_worktree_cannot_be_prepared(
    make_rig: Callable[..., Rig], command: str, why: str
) -> None:
    rig = make_rig(worktree_setup=command, worktree_setup_s=1)
    first(rig.context.root)
    job = work(rig, put("new.txt", "new"))
    assert rig.status(job) == "QUEUED"
    assert why in rig.messages(job, "released")[0]
    assert not (rig.context.cache / "worktrees" / "acme" / job).exists()
