"""The generated reference pages."""

from __future__ import annotations

from longhouse.house import registry
from longhouse.kernel.errors import LonghouseError
from tools import commands
from tools.error_advice import ADVICE


def test_the_reference_has_a_heading_for_every_command() -> None:
    page = commands.commands_page(registry())
    headings = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")}
    assert headings == {command.cmd for command in registry()}


def test_the_error_page_has_a_row_for_every_code() -> None:
    rows = [line for line in commands.errors_page().splitlines() if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} == {kind.code for kind in commands.every_error()}
    assert len(rows) > 20


def test_errors_of_every_room_are_found() -> None:
    found = list(commands.every_error())
    assert LonghouseError not in found
    assert all(issubclass(kind, LonghouseError) for kind in found)


def test_the_error_page_says_for_every_code_what_to_do() -> None:
    page = commands.errors_page()
    assert "the answer says" not in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert all(len(row[-1].removesuffix(" |")) > 10 for row in rows)
    used = {kind.code for kind in commands.every_error() if not kind.fix}
    assert ADVICE.keys() == used


def test_an_error_that_is_not_worth_retrying_does_not_advise_it() -> None:
    for kind in commands.every_error():
        if not kind.retryable:
            assert not (kind.fix or "").startswith(
                ("repeat the call;", "repeat the call in", "try again")
            ), kind.code
