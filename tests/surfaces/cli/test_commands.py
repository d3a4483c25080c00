"""What the commands do, on a store without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from longhouse.config import load
from longhouse.surfaces.cli.context import lighten
from tests.surfaces.cli.conftest import Shell


def test_call_prints_the_envelope_on_one_line_and_exits_by_its_success(sh: Shell) -> None:
    ran = sh("call", "vcs.notes.commit", '{"content": "hello"}')
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert ran.json["result"]["ref"] == "notes@1"
    refused = sh("call", "jobs.claim", "job=JOB-001", "runner_id=me")
    assert (refused.code, refused.json["error"]["code"]) == (3, "UNKNOWN_ID")
    assert refused.err == ""


def test_call_takes_json_from_stdin_and_pairs_that_read_as_json(sh: Shell) -> None:
    sh("call", "vcs.notes.commit", "-", stdin='{"content": "piped"}')
    sh("call", "vcs.notes.commit", "content=2 < 3", 'meta={"n": 1}')
    page = sh("call", "docs.show", "doc_kind=notes", "limit=2").json["result"]
    assert [entry["content"] for entry in page["entries"]] == ["piped", "2 < 3"]
    assert page["entries"][1]["meta"] == {"n": 1}


def test_call_prints_lines_as_they_are(sh: Shell) -> None:
    ran = sh("call", "status", "fmt=lines")
    assert ran.out.startswith("new ")
    refused = sh("call", "docs.show", "fmt=lines", "limit=0")
    assert refused.code == 2
    assert refused.out.startswith("ERROR: INVALID_INPUT")


def test_call_is_indented_for_a_person(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert sh("call", "status").out.startswith('{\n  "success": true')


def test_every_command_but_call_answers_in_one_shape(sh: Shell) -> None:
    for argv in (["status"], ["doctor"], ["token", "list"], ["down"], ["completion", "bash"]):
        ran = sh(*argv, "--json")
        assert ran.code == 0
        assert list(ran.json) == ["ok", "command", "data", "error"]
        assert (ran.json["ok"], ran.json["error"]) == (True, None)
        assert " ".join(argv).startswith(ran.json["command"])
    refused = sh("open", "JOB-099", "--json")
    assert refused.code == 3
    assert (refused.json["ok"], refused.json["data"]) == (False, None)
    assert set(refused.json["error"]) >= {"code", "message", "recovery", "retryable", "next"}


def test_status_names_the_next_command_and_what_to_add_to_it(sh: Shell) -> None:
    import shlex

    ran = sh("status")
    assert ran.out.startswith("workspace acme is new")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("next: ")]
    words = shlex.split(line.removeprefix("next: longhouse "))
    assert "add task_title" in ran.out
    assert sh(*words).code == 2, "no title is made up"
    assert sh(*words, "Ours").code == 0
    assert sh("status").out.startswith("acme at seq ")


def test_the_advice_of_an_error_runs_as_it_stands(sh: Shell) -> None:
    import shlex

    ran = sh("open", "x" * 400, "--json")
    assert ran.code == 2
    for command in ran.json["error"]["next"]:
        program, *argv = shlex.split(command)
        assert program == "longhouse"
        assert sh(*argv).code in (0, 3)


def test_open_shows_fields_and_text(sh: Shell) -> None:
    sh("call", "vcs.notes.commit", json.dumps({"content": "two\nlines", "title": "T"}))
    shown = sh("open", "notes@1").out
    assert "  title   T\n" in shown
    assert "  content\n    two\n    lines\n" in shown


def test_events_are_shown_filtered_and_as_json_lines(sh: Shell) -> None:
    sh("call", "vcs.notes.commit", "content=a")
    sh("call", "jobs.create", "title=Look", "prompt=Look")
    assert [line.split()[0] for line in sh("events").out.splitlines()] == ["1", "2"]
    (row,) = sh("events", "--after", "0", "--stream", "jobs", "--json").out.splitlines()
    assert json.loads(row)["data"]["subject"] == "JOB-001"


def test_events_obey_the_lock_of_the_workspace(sh: Shell) -> None:
    sh("call", "vcs.notes.commit", "content=a", "-w", "other")
    ran = sh("events", "--after", "0", "-w", "other", "--workspace-allowlist", "acme")
    assert (ran.code, ran.out) == (5, "")


def test_tokens_are_made_listed_and_revoked(sh: Shell) -> None:
    token = sh("token", "create", "--role", "viewer", "--name", "wall").out.strip()
    assert token.startswith("lh_")
    listed = sh("token", "list").out
    assert token not in listed
    assert "wall" in listed
    token_id = sh("token", "list", "--json").json["data"]["tokens"][0]["id"]
    assert "revoked" in sh("token", "revoke", token_id).out
    assert sh("token", "revoke", token_id).code == 3


@pytest.mark.proves("MEM-027")
def test_settings_come_from_flags_then_environment(
    sh: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LONGHOUSE_WORKSPACE", "from-env")
    monkeypatch.setenv("LONGHOUSE_DIR", str(tmp_path / "elsewhere"))
    assert sh("status", "--json").json["data"]["workspace"] == "from-env"
    assert (tmp_path / "elsewhere/longhouse.db").exists()
    assert sh("status", "--json", "-w", "flag").json["data"]["workspace"] == "flag"


def test_doctor_finds_what_is_wrong_and_how_to_mend_it(sh: Shell) -> None:
    sh.forget_store()
    fresh = sh("doctor")
    assert fresh.code == 0
    assert "no store at" in fresh.out
    assert not sh.dir.exists()
    sh("call", "vcs.notes.commit", "content=a")
    sh("task", "start", "Look")
    assert "TASK-001" not in sh("doctor").out
    (sh.dir / "longhouse.db").chmod(0o644)
    found = {c["name"]: c for c in sh("doctor", "--json").json["data"]["checks"]}
    assert (found["git"]["state"], found["rights"]["state"]) == ("ok", "warn")
    assert "outside the work tree" in found["git"]["text"]
    (sh.dir / "longhouse.db").write_bytes(b"not a database, but long enough to look like one")
    broken = sh("doctor")
    assert broken.code == 1
    assert "fail" in broken.out
    assert "Traceback" not in broken.out + broken.err


def test_a_damaged_store_is_an_error_with_a_way_out(sh: Shell) -> None:
    (sh.dir / "longhouse.db").write_bytes(b"x" * 5000)
    ran = sh("status")
    assert ran.code == 6
    assert "\n   fix  " in ran.err


def test_a_folder_that_cannot_be_used_is_no_defect(sh: Shell) -> None:
    for command in ("up", "status"):
        ran = sh(command, "--dir", "/dev/null/store")
        assert ran.code == 6
        assert "/dev/null/store cannot be used as the store's folder: Not a directory" in ran.err
        assert "choose another with --dir" in ran.err


def test_a_folder_in_a_folder_that_is_not_there_is_taken_for_a_slip(sh: Shell) -> None:
    missing = sh.dir.parent / "nowhere"
    for command in ("up", "status"):
        ran = sh(command, "--dir", str(missing / "store"))
        assert "cannot be used as the store's folder: No such file or directory" in ran.err
        assert not missing.exists()


def test_a_defect_of_ours_is_one_sentence(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("longhouse.surfaces.cli.context.Cli.ask", broken)
    ran = sh("status")
    assert ran.code == 70
    assert "ZeroDivisionError: oops" in ran.err
    assert "Traceback" not in ran.err


def test_colours_are_for_terminals_that_want_them(
    sh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in sh("status").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1m" in sh("status").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in sh("status").out


def test_a_closed_pipe_ends_quietly(repository: Path) -> None:
    load(cwd=repository).make_dir()
    argv = [sys.executable, "-m", "longhouse", "call", "system.help"]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout
    assert child.stderr
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() == 141


def test_ctrl_c_is_no_error_to_shout_about(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("longhouse.surfaces.cli.context.Cli.ask", interrupted)
    assert sh("status") == (130, "", "")


def test_bash_completes_commands_flags_values_and_ids(sh: Shell) -> None:
    script = sh("completion", "bash").out
    sh("job", "create", "Look", "--prompt", "x")
    sh("task", "start", "Mend")
    sh("note", "x")
    program = Path(sys.executable).with_name("longhouse")

    def complete(*words: str) -> set[str]:
        line = " ".join(f"'{word}'" for word in (str(program), *words))
        test = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _longhouse\n"
        test += 'printf "%s\\n" "${COMPREPLY[@]}"'
        out = subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True)
        return set(out.stdout.split())

    assert complete("do") == {"down", "docs", "doctor"}
    assert complete("token", "") >= {"create", "list", "revoke"}
    assert complete("--dir", "x", "token", "create", "--ro") == {"--role"}
    assert complete("token", "create", "--role", "") == {"viewer", "agent", "manager", "operator"}
    assert "docs.show" in complete("call", "docs.")
    assert complete("job", "show", "J") == {"JOB-001"}
    assert complete("job", "create", "x", "--task", "") == {"TASK-001"}
    assert {"JOB-001", "TASK-001", "PLAN-001"} <= complete("open", "")
    assert any(word.startswith("notes@") for word in complete("open", "notes"))
    assert complete("completion", "") == {"bash", "zsh", "fish", "words"}
    assert complete("docs", "ru") == {"runner"}
    assert complete("nonsense", "") == set()
    assert complete("-w", "elsewhere", "job", "show", "") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_asks_for_the_words(sh: Shell, shell: str) -> None:
    assert "completion words -- " in sh("completion", shell).out


def test_completing_makes_no_store(sh: Shell) -> None:
    sh.forget_store()
    assert sh("completion", "words", "--", "job", "show", "").out == ""
    assert not sh.dir.exists()


def test_an_unwanted_import_is_spared_and_can_be_made_later() -> None:
    code = (
        "from longhouse.surfaces.cli.context import lighten; lighten(); import sys;"
        "assert 'msgspec' in sys.modules and 'typing_extensions' not in sys.modules;"
        "import longhouse.house, typing_extensions"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    lighten()


def test_speaking_to_a_server_needs_no_msgspec_and_no_asyncio() -> None:
    code = (
        "import sys; import longhouse.surfaces.cli.run, longhouse.surfaces.cli.commands.status;"
        "heavy = {'msgspec', 'asyncio', 'argparse', 'subprocess', 'http.client', 'dataclasses'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version_needs_no_import_at_all() -> None:
    code = (
        "import sys; before = set(sys.modules); from longhouse.surfaces.cli import main;"
        "main(['--version']);"
        "extra = {m for m in set(sys.modules) - before if not m.startswith('longhouse')};"
        "assert extra <= {'__future__'}, extra"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_stdin_that_is_no_json_is_refused(sh: Shell) -> None:
    assert sh("call", "status", "-", stdin="nope").code == 2
    assert sh("call", "status", "-", stdin="[1]").code == 2
