"""A job brings home files that would run, or be followed, in a later session of somebody else.

Nothing of such a change is landed until a person says so, by name, after seeing the diff.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.runner.arming import Changed, arming, imports, reason
from longhouse.runner.landing import CommitMessage
from longhouse.runner.settling import sweep
from longhouse.runner.worktrees import worktree_of
from tests.runner.kit import Rig
from tests.runner.test_worktrees import git

ARMED = [
    *(".claude/settings.json", ".codex/config.toml", ".mcp.json", ".cursor/mcp.json"),
    *(".gemini/settings.json", ".qwen/settings.json", ".opencode/plugin/x.js", "opencode.json"),
    *(".vscode/tasks.json", ".idea/runConfigurations/x.xml", ".devcontainer/devcontainer.json"),
    *(".envrc", ".env", ".env.local", "packages/web/.env", ".githooks/pre-commit", ".husky/x"),
    *("lefthook.yml", ".pre-commit-config.yaml", ".gitattributes", "docs/.gitattributes"),
    *(".gitmodules", "AGENTS.md", "src/AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"),
    *(".cursorrules", ".github/copilot-instructions.md", ".github/workflows/ci.yml"),
    *(".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", "deep/er/Jenkinsfile"),
    *(".longhouse/config.toml", ".LongHouse/config.toml", ".CLAUDE/settings.json", "claude.MD"),
    *(".cl\u200caude/settings.json", "agents\uff0emd", ".env.", ".claude /settings.json"),
    *("\uff0eclaude/x", ".mcp.json::$DATA", ".ENVRC", ".claude"),
]
FREE = [
    *("src/claude.py", "docs/agents/README.md", "package.json", "Makefile", ".env.example"),
    *("environment.py", "github/x.yml", "a.gitattributes.txt", "docs/jenkins.md", ".gitignore"),
    *("claude", "my.claude/x", "AGENTS.txt", "conftest.py", "tests/env.py"),
]


@pytest.mark.parametrize("path", ARMED)
def test_a_name_that_arms_needs_a_word_in_every_spelling(path: str) -> None:
    assert reason(path)


@pytest.mark.parametrize("path", FREE)
def test_an_ordinary_name_needs_none(path: str) -> None:
    assert reason(path) is None


def test_links_and_submodules_that_lead_to_such_a_file_count() -> None:
    link = "120000"
    assert arming([Changed("x", link, ".claude")], {"x": ".claude"})
    assert arming([Changed("x", link, "a/../.mcp.json")], {"x": "a/../.mcp.json"})
    assert arming([Changed("x", link, "/etc/passwd")], {})
    assert arming([Changed("a/x", link, "../../y")], {})
    assert not arming([Changed("a/x", link, "../y")], {})
    assert arming([Changed("sub", "160000")], {})
    assert arming([Changed(".claude/old", "000000")], {})
    assert not arming([Changed("run.sh", "100755")], {})
    there = {".claude": "tools/agent", "tools/agent": "../kept"}
    assert arming([Changed("kept/settings.json", "100644")], there)
    assert arming([Changed("Kept/settings.json", "100644")], there)
    assert not arming([Changed("tools/other", "100644")], there)


TREE = {
    "CLAUDE.md": "@docs/style.md\nSee also @docs/Words.md, and ask me@example.md.\n@~/own.md",
    "docs/style.md": "@deep/more.md\n@../shared/rules.md",
    "docs/deep/more.md": "@../style.md",
    "docs/target.md": "@beside.md",
    "src/AGENTS.md": "@../not/yet.md",
    "free.md": "@docs/free.md",
}
LINKS = {"pkg/AGENTS.md": "../docs/target.md", "shared": "kept"}


@pytest.mark.parametrize(
    "path,held",
    [
        *((one, True) for one in ("docs/style.md", "docs/words.md", "docs/deep/more.md")),
        *((one, True) for one in ("DOCS/Style.md", "not/yet.md", "kept/rules.md")),
        *((one, True) for one in ("pkg/beside.md", "docs/beside.md", "docs/target.md")),
        *((one, False) for one in ("docs/free.md", "free.md", "example.md", "docs/style.md/x")),
    ],
)
def test_what_instruction_files_import_needs_a_word_however_far_away(path: str, held: bool) -> None:
    told = imports([*TREE, *LINKS], LINKS, TREE.__getitem__)
    assert bool(arming([Changed(path, "100644")], LINKS, told)) is held


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    rig = make_rig()
    root = rig.context.root
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "first")
    return rig


ATTACKS = {
    "a new file": "os.mkdir('.claude'); open('.claude/settings.json', 'w').write('PLANTED')",
    "a renamed file": "os.mkdir('.codex'); os.rename('a.txt', '.codex/config.toml')",
    "a link": "os.symlink('.envrc', 'harmless')",
    "a link out": "os.symlink('/etc/passwd', 'harmless')",
    "a submodule": (
        "os.mkdir('sub'); os.chdir('sub'); subprocess.run(['git', 'init', '-q', '.']); "
        "open('x', 'w').write('x'); subprocess.run(['git', 'add', 'x']); "
        "subprocess.run(['git', '-c', 'user.name=T', '-c', 'user.email=t@e', 'commit', '-qm', "
        "'x']); os.chdir('..')"
    ),
    "another case": "open('Agents.MD', 'w').write('PLANTED')",
    "a merge driver": "open('.gitattributes', 'w').write('* merge=union')",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_of_such_a_change_is_landed_by_itself(rig: Rig, attack: str) -> None:
    root = rig.context.root
    before = git(root, "rev-parse", "HEAD"), sorted(root.iterdir())
    job = rig.run(f"{attack}; open('new.txt', 'w').write('new'); done({rig.note()!r})")
    view = rig.view(job)
    assert (view["job"]["status"], view["attention"]["marker"]) == ("QUEUED", "!")
    assert "a later session would run or follow" in view["job"]["changes"]
    assert (git(root, "rev-parse", "HEAD"), sorted(root.iterdir())) == before
    assert git(root, "branch", "--list", "longhouse/landed") == ""


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_file_that_goes_into_every_later_prompt_is_not_landed_by_itself(
    rig: Rig, when: str
) -> None:
    root = rig.context.root

    def named() -> None:
        (root / "CLAUDE.md").write_text("@docs/style.md\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", "instructions")

    (root / "docs").mkdir()
    (root / "docs" / "style.md").write_text("@more.md\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "style")
    if when == "before":
        named()
    else:
        rig.before_slice(1, named)
    job = rig.run(f"open('docs/more.md', 'w').write('PLANTED'); done({rig.note()!r})")
    assert rig.status(job) == "QUEUED"
    assert "docs/more.md (an instruction file imports it" in rig.view(job)["job"]["changes"]


def apply(rig: Rig, job: str, *flags: str) -> tuple[int, str]:
    words = [sys.executable, "-m", "longhouse", "job", "apply", job, *flags]
    words += ["--dir", str(rig.context.home), "--workspace", "acme"]
    environment = {**os.environ, "LONGHOUSE_CACHE": str(rig.base / "cache")}
    ran = subprocess.run(
        words, cwd=rig.context.root, env=environment, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_the_person_sees_the_diff_and_says_the_word(rig: Rig) -> None:
    root = rig.context.root
    job = rig.run(f"{ATTACKS['a new file']}; done({rig.note()!r})")
    code, said = apply(rig, job)
    assert code != 0
    assert "+PLANTED" in said
    assert f"longhouse job apply {job} --including-configuration" in " ".join(said.split())
    assert rig.status(job) == "QUEUED"
    code, said = apply(rig, job, "--including-configuration")
    assert (code, rig.status(job)) == (0, "DONE"), said
    assert (root / ".claude" / "settings.json").read_text() == "PLANTED"
    assert "Configuration accepted: .claude/settings.json" in rig.messages(job, "manager")[0]


def test_an_agent_may_not_say_the_word(rig: Rig) -> None:
    job = rig.run(f"{ATTACKS['a new file']}; done({rig.note()!r})")
    said = {"job": job, "message": "Configuration accepted: all of it"}
    answer = rig.house.call("jobs.message", said, Caller(Role.AGENT, owner="TOK-9"))
    assert answer.envelope["error"]["code"] == "FORBIDDEN"


def test_a_sweep_never_says_the_word(rig: Rig) -> None:
    job = rig.run(f"{ATTACKS['a new file']}; done({rig.note()!r})")
    sweep(rig.context)
    place = (rig.context.root, rig.context.cache, "acme", job)
    said = CommitMessage("Look", "", "acme", job, "codex", 1)
    worktree_of(*place, store=rig.context.home).due(said)  # left by an earlier run of the job
    sweep(rig.context)
    assert rig.status(job) == "QUEUED"
    assert git(rig.context.root, "branch", "--list", "longhouse/landed") == ""


def test_an_agents_attributes_in_the_repository_do_not_decide_how_changes_merge(rig: Rig) -> None:
    """With `merge=union` every conflict would be clean; with a driver a program would run."""
    root = rig.context.root
    (root / ".gitattributes").write_text("* merge=union\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* merge=evil\n")
    git(root, "config", "merge.evil.driver", f"touch {rig.base / 'PWNED'}")
    git(root, "config", "merge.default", "evil")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-qm", "attributes")

    def meanwhile() -> None:
        (root / "a.txt").write_text("mine\n")
        git(root, "commit", "-qam", "meanwhile")

    rig.before_slice(1, meanwhile)
    job = rig.run(f"open('a.txt', 'w').write('two\\n'); done({rig.note()!r})")
    assert rig.status(job) == "QUEUED"
    assert "conflicts in a.txt" in rig.view(job)["job"]["changes"]
    assert not (rig.base / "PWNED").exists()


def test_a_branch_that_points_to_another_is_not_followed(rig: Rig) -> None:
    """Otherwise landing would move the person's own branch under their work tree."""
    root = rig.context.root
    git(root, "branch", "other")
    git(root, "symbolic-ref", "refs/heads/longhouse/landed", "refs/heads/other")
    job = rig.run(f"open('new.txt', 'w').write('new'); done({rig.note()!r})")
    assert rig.status(job) == "QUEUED"
    assert "is a symbolic ref" in rig.view(job)["job"]["changes"]
    assert git(root, "rev-parse", "other") == git(root, "rev-parse", "main")


def test_hooks_and_replaced_objects_have_no_say_in_landing(rig: Rig) -> None:
    root, mark = rig.context.root, rig.base / "PWNED"
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    names = "reference-transaction post-checkout post-merge post-index-change update post-update"
    for name in names.split():
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    evil = subprocess.run(
        ["git", "-C", str(root), "hash-object", "-w", "--stdin"],
        input=b"evil\n",
        capture_output=True,
        check=True,
    )
    mine = git(root, "rev-parse", "HEAD:a.txt").strip()
    git(root, "-c", "core.hooksPath=/dev/null", "replace", mine, evil.stdout.decode().strip())
    (root / ".git" / "info" / "grafts").write_text(git(root, "rev-parse", "HEAD"))
    job = rig.run(
        f"assert open('a.txt').read() == 'one\\n'; open('new.txt', 'w').write('n'); "
        f"done({rig.note()!r})"
    )
    assert rig.status(job) == "DONE", rig.view(job)
    assert not mark.exists()
    assert (root / "a.txt").read_text() == "one\n"
    assert (root / "new.txt").exists()


def test_names_that_other_systems_read_otherwise_land_as_plain_files_or_not_at_all(
    rig: Rig,
) -> None:
    root = rig.context.root
    job = rig.run(f"open('a\\\\b', 'w').write('x'); done({rig.note()!r})")
    assert rig.status(job) == "DONE"
    assert (root / "a\\b").read_text() == "x"
    job = rig.run(f"os.mkdir('.GIT'); open('.GIT/config', 'w').write('x'); done({rig.note()!r})")
    assert rig.status(job) != "DONE"
    assert ".GIT" not in git(root, "ls-tree", "-r", "--name-only", "longhouse/landed")
