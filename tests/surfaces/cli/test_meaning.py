"""Words that people try at the command line, and what they are told."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.meaning import _GROUP, _WORDS
from longhouse.surfaces.cli.parse import ParsedLine, every_command, parse
from tests.surfaces.cli.conftest import Shell

ROWS = [
    row.split(" => ")
    for row in Path(__file__).with_name("guesses.txt").read_text(encoding="utf-8").splitlines()
    if row and not row.startswith("#")
]


def told(words: str) -> str:
    """The word that is suggested for a line, `-` if none is, `ok` if it is understood."""
    try:
        parse(shlex.split(words), ParsedLine())
    except InvalidInput as error:
        if "unknown command" not in error.message:
            return "ok"
        _, asked, rest = error.message.partition("did you mean ")
        return rest.strip("'?") if asked else "-"
    return "ok"


def test_a_natural_word_is_answered_by_its_meaning() -> None:
    assert len(ROWS) >= 120
    wrong = [
        f"{line} => {told(line)}, not {wanted}" for line, wanted in ROWS if told(line) != wanted
    ]
    assert not wrong, "\n".join(wrong)


def test_every_declared_word_leads_to_a_command() -> None:
    paths = {path for path, _ in every_command()}
    for said in _WORDS.values():
        assert said in paths or said.startswith(("call ", "-", "docs ")), said
    for group, words in _GROUP.items():
        for said in words.values():
            assert f"{group} {said}" in paths, f"{group} {said}"


@pytest.mark.parametrize("word", ["stauts", "taks", "resmue"])
def test_a_typo_is_still_a_typo(word: str) -> None:
    assert told(word) != "-"


def test_an_unknown_flag_is_taken_for_the_one_that_means_the_same(sh: Shell) -> None:
    said = sh("token", "create", "--role", "viewer", "--label", "look").err
    assert "did you mean '--name'?" in said
    assert "did you mean" not in sh("token", "list", "--xyzzy").err


def test_a_backup_is_not_named_by_a_verb(sh: Shell) -> None:
    ran = sh("backup", "create")
    assert (ran.code, (sh.root / "create").exists()) == (2, False)
    assert "longhouse backup ~/backups" in ran.err
    assert sh("backup", "./create").code == 0


def test_docs_lists_its_pages_in_other_words_too(sh: Shell) -> None:
    assert sh("docs", "list").out == sh("docs").out != ""


def test_a_fix_in_prose_names_flags(sh: Shell) -> None:
    sh("task", "start", "Pay by card", "--step", "Call the bank")
    sh("job", "create", "Look", "--prompt", "Look", "--task", "TASK-001")
    ran = sh("task", "done", "TASK-001", "--status", "CANCELED")
    assert "--hanging end" in ran.err
    assert "hanging=" not in ran.err
