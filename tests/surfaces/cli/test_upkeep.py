"""Backup, export, verify and artifacts on the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path

from longhouse.config import load
from longhouse.house import House
from tests.kit import Lh, ManualClock
from tests.processes.kit import Runner, ended, out, running, spawned
from tests.surfaces.cli.conftest import Shell


def test_a_store_is_backed_up_restored_and_verified(sh: Shell, tmp_path: Path) -> None:
    sh("call", "vcs.notes.commit", "content=kept")
    made = sh("backup", str(tmp_path / "b"), "--json").json
    assert (made["ok"], made["data"]["workspaces"]) == (True, 1)
    again = sh("restore", str(tmp_path / "b"))
    assert (again.code, "exists; nothing was restored" in again.err) == (4, True)
    new = str(tmp_path / "new")
    assert sh("restore", str(tmp_path / "b"), "--dir", new).code == 0
    assert "no problems" in sh("verify", "--full", "--dir", new).out
    assert "kept" in sh("call", "docs.show", "doc_kind=notes", "--dir", new).out


def test_a_workspace_is_exported_and_imported_under_another_name(sh: Shell, tmp_path: Path) -> None:
    sh("call", "vcs.notes.commit", "content=moved")
    file = tmp_path / "acme.tar"
    assert "up to seq" in sh("export", str(file)).out
    assert file.stat().st_mode & 0o077 == 0
    assert sh("export", str(file)).code == 4
    assert sh("import", str(file)).code == 4
    assert "copy (was acme)" in sh("import", str(file), "-w", "copy").out
    assert "moved" in sh("call", "docs.show", "doc_kind=notes", "-w", "copy").out
    file.write_bytes(file.read_bytes()[:-2000])
    cut = sh("import", str(file), "-w", "third", "--json")
    assert (cut.code, cut.json["error"]["code"]) == (2, "ARCHIVE_INVALID")
    assert sh("import", str(tmp_path / "none.tar")).code == 2
    assert sh("export", str(tmp_path / "no" / "x.tar")).code == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["acme", "acme.tar"]


def test_a_problem_is_named_and_sets_the_exit_code(sh: Shell, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("text")
    sh("artifact", "add", str(tmp_path / "f.txt"))
    for path in (sh.dir / "artifacts" / "blobs").glob("*/*"):
        path.unlink()
    found = sh("verify")
    assert found.code == 1
    assert "has no bytes" in found.out
    assert sh("verify", "--json").json["ok"] is False
    assert sh("artifact", "get", "ART-001").code == 6


def test_a_file_is_added_listed_shown_and_written_out_again(sh: Shell, tmp_path: Path) -> None:
    source, target = tmp_path / "log.txt", tmp_path / "copy.txt"
    source.write_text("".join(f"line {n}\n" for n in range(50)))
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert f"artifact:{digest[:12]}" in sh("artifact", "add", str(source)).out
    assert "already stored" in sh("artifact", "add", str(source)).out
    assert "log.txt" in sh("artifact", "list").out
    assert sh("artifact", "show", digest[:8], "--tail-lines", "2").out == "line 48\nline 49\n"
    assert sh("artifact", "get", "ART-001", "-o", str(target)).code == 0
    assert target.read_bytes() == source.read_bytes()
    assert sh("artifact", "get", "ART-001", "-o", str(target)).code == 4
    assert "0 expired" in sh("artifact", "sweep").out


def test_an_import_says_which_output_the_file_does_not_have(sh: Shell, tmp_path: Path) -> None:
    with House(load(cwd=sh.root)) as house:
        lh = Lh(house, ManualClock())
        runner, task = Runner(lh), spawned(lh)
        runner.claim()
        runner.append(task, running(), out(0, "printed"), ended())
    file = tmp_path / "acme.tar"
    assert f"without the output of {task}" in sh("export", str(file)).out
    assert f"without the output of {task}" in sh("import", str(file), "-w", "copy").out
