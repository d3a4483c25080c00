"""Words that people try at the command line, and what they are told."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.meaning import _GROUP, _WORDS
from longhouse.surfaces.cli.parse import ParsedLine, every_command, parse

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
        assert said in paths or said.startswith(("call ", "-")), said
    for group, words in _GROUP.items():
        for said in words.values():
            assert f"{group} {said}" in paths, f"{group} {said}"


@pytest.mark.parametrize("word", ["stauts", "taks", "resmue"])
def test_a_typo_is_still_a_typo(word: str) -> None:
    assert told(word) != "-"
