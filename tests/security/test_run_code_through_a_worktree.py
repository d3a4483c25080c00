"""An agent wants the runner's git to run a program of its choice, outside of the agent's sandbox.

Each attack is planted by a scripted agent in its worktree or in the repository's git directory; the
runner then reads the changes, applies them and cleans up. The program leaves a file when it runs.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from longhouse.git.repository import FAILED, Repository
from longhouse.runner.landing import CommitMessage
from longhouse.runner.worktrees import worktree_of
from tests.runner.kit import Rig


def git(root: Path, *words: str) -> str:
    named = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    ran = subprocess.run(
        ["git", "-C", str(root), *named, *words], check=True, capture_output=True, text=True
    )
    return ran.stdout


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return repository(make_rig(isolation="worktree"))


def repository(rig: Rig) -> Rig:
    root = rig.context.root
    git(root, "init", "-q")
    (root / "a.txt").write_text("one\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "first")
    return rig


SHELL = """
evil = STATE / 'evil.sh'
evil.write_text('#!/bin/sh\\ntouch ' + str(STATE / 'PWNED') + '\\ncat\\n')
evil.chmod(0o755)
def run(*words): subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
def config(*words): run('git', 'config', *words)
def everywhere():
    open('.gitattributes', 'w').write('* filter=evil diff=evil merge=evil\\n')
    for name in ('filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process',
                 'diff.evil.command', 'diff.evil.textconv', 'merge.evil.driver',
                 'diff.external', 'core.fsmonitor', 'core.pager', 'core.editor',
                 'core.sshCommand', 'core.gitProxy', 'core.alternateRefsCommand',
                 'credential.helper', 'alias.add', 'interactive.diffFilter'):
        config(name, str(evil))
    hooks = STATE / 'hooks'
    hooks.mkdir()
    for name in ('post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction',
                 'fsmonitor-watchman', 'applypatch-msg', 'pre-applypatch', 'post-applypatch'):
        os.symlink(evil, hooks / name)
    config('core.hooksPath', str(hooks))
def replaced():
    os.remove('.git')
    run('git', 'init', '-q', '.')
    everywhere()
def nested():
    os.mkdir('sub')
    os.chdir('sub')
    run('git', 'init', '-q', '.')
    open('x', 'w').write('x')
    run('git', 'add', 'x')
    run('git', '-c', 'user.name=T', '-c', 'user.email=t@e', 'commit', '-qm', 'x')
    everywhere()
    os.chdir('..')
def pointed():
    other = STATE / 'other'
    run('git', 'init', '-q', str(other))
    os.chdir(other)
    everywhere()
    os.chdir(CWD)
    open('.git', 'w').write('gitdir: ' + str(other / '.git') + '\\n')
CWD = os.getcwd()
"""
SAID = CommitMessage("Look", "", "acme", "JOB-001", "codex", 1)

ATTACKS = {
    "in the repository's configuration": "everywhere()",
    "in a git directory of its own": "replaced()",
    "in a repository inside the worktree": "nested()",
    "behind a .git file that points elsewhere": "pointed()",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_that_an_agent_plants_for_git_runs(
    rig: Rig, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # nor does the runner's own environment decide
    ref = rig.note()
    change = "open('a.txt', 'a').write('two\\n'); open('new.txt', 'w').write('new\\n')"
    script = (
        f"del os.environ['GIT_DIR']; exec({SHELL!r}); {attack}; (STATE / 'PWNED').unlink(True); "
        f"{change}; done({ref!r})"
    )
    job = rig.run(script)

    assert not (rig.state / job / "PWNED").exists()
    if rig.status(job) == "QUEUED":  # attributes and submodules wait for a person, who accepts them
        assert "a later session" in rig.view(job)["job"]["changes"]
        place = (rig.context.root, rig.context.cache, "acme", job)
        outcome = worktree_of(*place, store=rig.context.home).land(SAID)
        assert outcome.held is None
    else:
        assert rig.status(job) == "DONE", rig.messages(job, "error")
        assert not (rig.context.cache / "worktrees" / "acme" / job).exists()
    assert not (rig.state / job / "PWNED").exists()
    monkeypatch.delenv("GIT_DIR")
    assert git(rig.context.root, "show", "longhouse/landed:a.txt") == "one\ntwo\n"
    assert git(rig.context.root, "show", "longhouse/landed:new.txt") == "new\n"


@pytest.mark.parametrize("attack", ["everywhere()", "nested()"])
def test_nothing_runs_when_the_runner_looks_at_what_changed_in_a_shared_work_tree(
    make_rig: Callable[..., Rig], attack: str
) -> None:
    """There the agent can write wherever the runner's user can, also beside the repository."""
    rig = repository(make_rig(isolation="none"))
    planted = (  # a file that git must read to see whether it changed, through a filter
        f"exec({SHELL!r}); {attack}; open('a.txt', 'w').write('two\\n'); "
        "os.utime('a.txt', (1, 1)); (STATE / 'PWNED').unlink(True)"
    )
    job = rig.run(f"{planted}; done({rig.note()!r})")
    assert rig.status(job) == "DONE", rig.messages(job, "error")
    assert not (rig.state / job / "PWNED").exists()
    (told,) = rig("agents.status")["outside"]
    assert "a.txt" in [one["path"] for one in told["files"]]


def test_an_agent_of_another_job_finds_no_git_directory_of_the_runner_to_write_to(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its sandbox it writes to the work tree, with the store in it, and the temporary folder."""
    rig = repository(make_rig(isolation="none"))
    root, temporary = rig.context.root, rig.base / "tmp"
    store = root / ".longhouse"
    for folder in (store, temporary):
        folder.mkdir()
    rig.context = rig.context._replace(home=store)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(rig.base / "config"))
    ours = rig.base / "config" / "longhouse" / "git"
    (ours / "of-a-runner-that-was-killed").mkdir(parents=True)
    os.utime(ours / "of-a-runner-that-was-killed", (1, 1))
    (root / ".gitattributes").write_text("* filter=evil\n")
    mark = rig.base / "PWNED"
    run, used = Repository.git, []

    def attacked(self: Repository, *words: str, **more: Any) -> bytes:
        if words[0] == "ls-files":
            used.append(self.git_dir)
            os.utime(root / "a.txt", (1, 1))  # git must read it to see whether it changed
            for config in (*temporary.rglob("config"), *root.rglob("config")):
                with config.open("a") as file:
                    file.write(f'[filter "evil"]\n\tclean = touch {mark}; cat\n')
        return run(self, *words, **more)

    monkeypatch.setattr(Repository, "git", attacked)
    job = rig.run(f"open('a.txt', 'w').write('two\\n'); done({rig.note()!r})")
    assert rig.status(job) == "DONE", rig.messages(job, "error")
    assert [one.parent.parent for one in used] == [ours, ours]
    assert not mark.exists()
    assert list(ours.iterdir()) == []


def test_a_runner_does_not_look_where_its_own_folder_lies_in_the_work_tree(
    make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = repository(make_rig(isolation="none"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(rig.context.root / ".config"))
    job = rig.run(f"open('a.txt', 'w').write('two\\n'); done({rig.note()!r})")
    assert rig.status(job) == "DONE", rig.messages(job, "error")
    assert rig("agents.status")["outside"] == []


def test_a_submodule_of_the_repository_is_never_asked_for_its_state(rig: Rig) -> None:
    root = rig.context.root
    library = rig.base / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "x.txt").write_text("x")
    git(library, "add", "x.txt")
    git(library, "commit", "-q", "-m", "first")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    git(root, "commit", "-qam", "with a submodule")
    ref = rig.note()
    attack = (  # at the very commit that is recorded: then git would look for changes inside
        f"run('git', 'clone', '-q', {str(library)!r}, 'sub'); os.chdir('sub'); everywhere(); "
        "open('x.txt', 'w').write('y'); "  # of the same size: git would read it, through a filter
        "os.utime('x.txt', (1, 1)); os.chdir('..'); (STATE / 'PWNED').unlink(True)"
    )
    job = rig.run(f"exec({SHELL!r}); {attack}; open('a.txt', 'a').write('two\\n'); done({ref!r})")
    assert rig.status(job) == "DONE", rig.messages(job, "error")
    assert not (rig.state / job / "PWNED").exists()
    assert (root / "a.txt").read_text() == "one\ntwo\n"
    assert "sub" in (root / ".gitmodules").read_text()


def test_neither_filters_nor_hooks_of_the_repository_run_when_a_worktree_is_made(rig: Rig) -> None:
    """Whoever worked in the repository before may have changed its configuration."""
    root = rig.context.root
    mark = rig.base / "PWNED"
    (root / ".gitattributes").write_text("* filter=evil\n")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-qm", "attributes")
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    for name in ("filter.evil.smudge", "filter.evil.clean"):
        git(root, "config", name, f"touch {mark}; cat")
    git(root, "config", "core.fsmonitor", f"touch {mark}; true")
    for name in ("post-checkout", "reference-transaction"):
        hook = root / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    ref = rig.note()
    job = rig.run(f"open('a.txt', 'a').write('two\\n'); done({ref!r})")
    assert rig.status(job) == "DONE"
    assert not mark.exists()
    assert (root / "a.txt").read_text() == "one\n"  # its filter would have to run
    assert "goes through a filter" in rig.messages(job, "completed")[0]
    assert git(root, "show", "longhouse/landed:a.txt") == "one\ntwo\n"


@pytest.mark.parametrize(
    "words", [("status", "--porcelain"), ("diff",), ("checkout", "-q", "--", "a.txt")]
)
def test_a_repository_that_git_must_run_on_starts_nothing(rig: Rig, words: tuple[str, ...]) -> None:
    """Worktrees are pruned in the repository itself: whatever can be named is off there, too."""
    root, mark = rig.context.root, rig.base / "PWNED"
    evil = rig.base / "evil"
    evil.write_text(f"#!/bin/sh\necho $0 >> {mark}\n")
    evil.chmod(0o755)
    hooks = rig.base / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(evil)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.alternateRefsCommand"):
        git(root, "config", name, str(evil))
    git(root, "config", "core.hooksPath", str(hooks))
    (root / "a.txt").write_text("two\n")
    with suppress(*FAILED):  # an external diff that is none makes git give up
        Repository(root / ".git", root).git(*words)
    assert not mark.exists(), mark.read_text()


PLANTED = {
    **dict.fromkeys(
        (
            *("core.fsmonitor", "core.hooksPath", "core.attributesFile", "core.pager"),
            *("core.editor", "core.askPass", "core.sshCommand", "core.gitProxy"),
            *("core.alternateRefsCommand", "credential.helper", "diff.external"),
        ),
        "/evil",
    ),
    **dict.fromkeys(("core.untrackedCache", "submodule.recurse", "maintenance.auto"), "true"),
    **dict.fromkeys(("core.protectHFS", "core.protectNTFS"), "false"),
    "diff.ignoreSubmodules": "none",
    "gc.auto": "1",
    "protocol.allow": "always",
}


@pytest.mark.parametrize("name", PLANTED)
def test_no_setting_of_the_repository_that_starts_something_is_the_one_that_git_goes_by(
    rig: Rig, name: str
) -> None:
    """Some are of use only to git commands that nobody runs today; they are off all the same."""
    root = rig.context.root
    git(root, "config", name, PLANTED[name])
    assert git(root, "config", "--get", name).strip() == PLANTED[name]
    goes_by = Repository(root / ".git", root).git("config", "--get", name).decode().strip()
    assert goes_by != PLANTED[name]


def test_changes_cannot_reach_the_stores_folder(rig: Rig) -> None:
    """It lies in the repository, as `longhouse init` makes it, and holds settings and tokens."""
    store = rig.context.root / ".longhouse"
    context = rig.context._replace(home=store)
    store.mkdir()
    (store / ".gitignore").write_text("*\n")
    ref = rig.note()
    plant = (
        "os.mkdir('.longhouse'); open('.longhouse/config.toml', 'w').write('[runner]\\n'); "
        "open('.gitignore', 'w').write('!.longhouse\\n!.longhouse/*\\n'); "
        "open('new.txt', 'w').write('new\\n')"
    )
    rig.context = context
    job = rig.run(f"{plant}; done({ref!r})")
    assert rig.status(job) == "DONE", rig.view(job)
    assert (rig.context.root / "new.txt").exists()
    assert not (store / "config.toml").exists()
