"""The attacker wants code to run on the machine of whoever uses Longhouse in a clone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.clone import REQUESTS, SCRIPT, Clone, git
from tests.surfaces.bridge.kit import Bridge, crew, end, until_seen

MODULES = (
    "apsw.py",
    "json.py",
    "msgspec.py",
    "select.py",
    "signal.py",
    "sitecustomize.py",
    "structlog.py",
    "tomllib.py",
    "typing.py",
    "usercustomize.py",
    "uvicorn.py",
    "uvloop.py",
)
PROGRAMS = ("bd", "claude", "codex", "git", "lh", "python", "python3")
RUNNER = ("runner", "--once", "--dry-run", "--attach")
COMMANDS = (
    ("status",),
    ("doctor",),
    ("init",),
    ("agent", "init", "--register", "ada", "--non-interactive"),
    ("beads", "refresh"),
    ("up", "--port", "0"),
    RUNNER,
    ("down",),
    RUNNER[:-1],
    ("down",),
    ("up", "--foreground", "--port", "70000"),
)


def trap(caught: Path) -> str:
    return f"from pathlib import Path\nPath({str(caught)!r}).open('a').write(__file__ + '\\n')\n"


def program(caught: Path) -> str:
    return f'#!/bin/sh\necho "$0" >> {caught}\nexit 1\n'


@pytest.fixture
def caught(tmp_path: Path) -> Path:
    """Where code of the clone leaves its trace."""
    return tmp_path / "caught"


@pytest.fixture
def clone(tmp_path: Path, caught: Path) -> Iterator[Clone]:
    files = {name: trap(caught) for name in MODULES}
    files |= {f"longhouse/{name}": trap(caught) for name in ("__init__.py", "__main__.py")}
    files |= {name: program(caught) for name in PROGRAMS}
    files |= {f"bin/{name}": program(caught) for name in (*PROGRAMS, "longhouse")}
    made = Clone(tmp_path, files)
    yield made
    made.down()


def booby_trapped(tmp_path: Path, caught: Path) -> Clone:
    """A clone in which an agent has configured git to run programs."""
    clone = Clone(tmp_path, {"a.txt": "one\n", ".gitattributes": "* filter=evil diff=evil\n"})
    inner = clone.root / "inner"
    git(clone.root, "init", "-q", str(inner))
    for root in (clone.root, inner):
        for name in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor", "diff.external"):
            git(root, "config", name, f"echo {name} >> {caught}; cat")
    for hook in ("post-index-change", "reference-transaction"):
        path = clone.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(program(caught))
        path.chmod(0o755)
    return clone


def hostile_path() -> str:
    """The habit of people who have the current folder on their PATH, in every spelling."""
    return os.pathsep.join(["", ".", "bin", "./bin", os.environ["PATH"], ""])


def untouched(caught: Path) -> bool:
    return not caught.exists()


def test_no_command_imports_or_runs_anything_of_the_clone(clone: Clone, caught: Path) -> None:
    for words in COMMANDS:
        ran = clone.run(*words, PATH=hostile_path())
        assert untouched(caught), (words, caught.read_text())
        assert "Traceback" not in ran.err


def test_the_bridge_and_the_server_that_it_starts_import_nothing(
    clone: Clone, caught: Path
) -> None:
    ran = clone.run("mcp", stdin=REQUESTS, PATH=hostile_path())
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert not answers[1]["result"].get("isError")
    assert untouched(caught)


@pytest.mark.parametrize("started_as", ["script", "module"])
def test_the_entry_that_init_writes_imports_nothing(
    clone: Clone, caught: Path, started_as: str
) -> None:
    started = [SCRIPT] if started_as == "script" else [sys.executable, "-P", "-m", "longhouse"]
    assert clone.run("init", program=started).code == 0
    entry = json.loads((clone.root / ".mcp.json").read_text())["mcpServers"]["longhouse"]
    ran = clone.run(program=[entry["command"], *entry["args"]], stdin=REQUESTS)
    assert len(ran.out.splitlines()) == 2, ran.err
    up = clone.run("up", "--port", "0", "--json", program=started)
    pasted = json.loads(json.loads(up.out)["data"]["clients"]["json"])["mcpServers"]["longhouse"]
    assert len(clone.run(program=[pasted["command"], *pasted["args"]], stdin=REQUESTS).out) > 0
    assert untouched(caught)


def test_a_server_started_by_a_relative_import_path_does_not_pass_it_on(
    clone: Clone, caught: Path
) -> None:
    """`PYTHONPATH=:` is the person's doing for the first process, which cannot be helped."""
    elsewhere = clone.base / "elsewhere"
    elsewhere.mkdir()
    started = ["sh", "-c", f'cd {elsewhere} && exec {SCRIPT} "$@"', "sh"]
    ran = clone.run(
        *("up", "--port", "0", "--dir", str(clone.home / "store")),
        program=started,
        PYTHONPATH=os.pathsep.join(["", ".", str(elsewhere)]),
    )
    assert ran.code == 0, ran.err
    pid = json.loads((clone.home / "store" / "server.json").read_text())["pid"]
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    clone.run("down", "--force", "--dir", str(clone.home / "store"))
    assert f"PYTHONPATH={elsewhere}".encode() in variables


def test_the_module_typed_by_a_person_takes_no_library_from_the_clone(
    tmp_path: Path, caught: Path
) -> None:
    """Only `longhouse/` itself would be found first, and nothing of ours runs before that."""
    names = ("apsw.py", "json.py", "msgspec.py", "structlog.py", "tomllib.py", "uvicorn.py")
    clone = Clone(tmp_path, {name: trap(caught) for name in names})
    for words in (("init",), ("status",), ("up", "--port", "0"), ("down",)):
        assert clone.run(*words, program=[sys.executable, "-m", "longhouse"]).code == 0
    assert untouched(caught)


def test_looking_for_changed_files_starts_nothing_that_an_agent_configured(
    tmp_path: Path, caught: Path
) -> None:
    """`.git/config` never comes with a clone, but an agent that worked here could write it."""
    clone = booby_trapped(tmp_path, caught)
    (clone.root / "a.txt").write_text("two\n")
    (clone.root / "new.txt").write_text("new\n")
    (clone.root / ".git" / "info" / "exclude").write_text("secret.txt\n")
    (clone.root / "secret.txt").write_text("ignored\n")
    seen = "from longhouse.surfaces.cli.checkout import changed_files; print(changed_files())"
    ran = clone.run("-P", "-c", seen, program=[sys.executable])
    assert ran.out == "['a.txt', 'inner/', 'new.txt']\n", ran.err
    assert clone.run("init").code == 0
    assert clone.run("agent", "init", "--register", "ada", "--non-interactive").code == 0
    ran = clone.run("agent", "changes", "--agent", "ada", "--json")
    told = {one["path"] for one in json.loads(ran.out)["data"]["outside"]}
    assert told >= {"a.txt", "inner", "new.txt"}
    assert not caught.exists(), caught.read_text()


def test_a_bridge_that_looks_at_its_checkout_starts_nothing_and_tames_odd_names(
    tmp_path: Path, caught: Path
) -> None:
    clone = booby_trapped(tmp_path, caught)
    (clone.root / "secrets").symlink_to("/etc")
    odd = ["a\x1b[2Jb", "c\\..\\d", "-n", " ", "\u202eevil", ":(exclude)x", "new\nline", "t.txt"]
    store = clone.root / ".longhouse"
    client = Bridge(store, cwd=clone.root, LONGHOUSE_CHANGES_EVERY_S="1")
    tamed = {"a�[2Jb", "c�..�d", "-n", "�", "�evil", ":(exclude)x", "new�line", "t.txt"}

    def change(number: int) -> None:
        for name in odd:
            (clone.root / name).write_text(f"{number}\n")
        made = git(clone.root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", f"{number}")
        git(clone.root, "-c", "core.hooksPath=/dev/null", "update-ref", "HEAD", made)

    try:
        crew(client, "agents.register", name="amber-otter")
        told = until_seen(client, tamed, change)
    finally:
        assert end(client, store) == 0
    assert untouched(caught), caught.read_text()
    assert {path for path, _ in told} == tamed


def test_a_program_that_uses_the_library_runs_nothing_of_the_clone(
    clone: Clone, caught: Path
) -> None:
    """It keeps its own search path, as the command line does not; what we start for it must not."""
    seen = "from longhouse.surfaces.cli.checkout import changed_files; print(changed_files())"
    (clone.root / "new.txt").write_text("new\n")
    ran = clone.run("-P", "-c", seen, program=[sys.executable], PATH=hostile_path())
    assert "new.txt" in ran.out, ran.err
    assert untouched(caught), caught.read_text()


@pytest.mark.parametrize("where", ["outside", ".git", ".longhouse"])
@pytest.mark.parametrize("link", [".mcp.json", ".codex", ".claude/settings.local.json"])
def test_init_writes_no_file_through_a_link_of_the_clone(
    tmp_path: Path, link: str, where: str
) -> None:
    """A link to the person's own files would let a clone decide what is changed in them."""
    clone = Clone(tmp_path, {"a.txt": ""})
    folder = tmp_path / "outside" if where == "outside" else clone.root / where
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder if link == ".codex" else folder / "victim"
    before = sorted(folder.iterdir())
    (clone.root / link).parent.mkdir(exist_ok=True)
    (clone.root / link).symlink_to(target)
    ran = clone.run("init", "--approve")
    assert ran.code == 2
    assert link.split("/")[0] in ran.err
    assert "--scope user" in ran.err
    assert [path for path in folder.iterdir() if path not in before] == []
