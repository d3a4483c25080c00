"""A command line is parsed entirely as simple commands, or not at all."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel.shell_words import simple_commands


@pytest.mark.parametrize(
    "line, commands",
    [
        ("make test", [["make", "test"]]),
        ("  npm  run 'dev server' ", [["npm", "run", "dev server"]]),
        ('echo "a b"c', [["echo", "a bc"]]),
        ("make && make test; ls | wc -l", [["make"], ["make", "test"], ["ls"], ["wc", "-l"]]),
        ("make\nmake test\n", [["make"], ["make", "test"]]),
        ("echo ''", [["echo", ""]]),
        ("'if' x", [["if", "x"]]),
        ("echo ünïcode", [["echo", "ünïcode"]]),
    ],
)
def test_words_quotes_and_separators_are_read(line: str, commands: list[list[str]]) -> None:
    assert simple_commands(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "echo $HOME",
        'echo "$(rm x)"',
        "echo `rm x`",
        "echo a > /etc/passwd",
        "cat < x",
        "sleep 9 &",
        "(rm x)",
        "{ rm x; }",
        "FOO=1 make",
        "if true; then rm x; fi",
        "for x in a; do rm x; done",
        "echo *",
        "echo ~root",
        "echo a\\; rm x",
        "echo 'unclosed",
        "make # comment",
        "make &&",
        "make; ; ls",
        "!! x",
        "echo \x1b[2J",
        "time make",
        "make; if true",
        "'a' && while true",
        "echo {a,b}",
        "a |& b",
    ],
)
def test_whatever_else_a_shell_would_do_makes_a_line_unreadable(line: str) -> None:
    assert simple_commands(line) is None


@given(st.text(alphabet="ab '\"\\$`&|;<>(){}[]*?~#!=\n\t-", max_size=12))
def test_what_is_read_is_what_bash_would_run(line: str) -> None:
    """Bash, with every command replaced by one that prints its words, agrees with every reading."""
    read = simple_commands(line)
    if read is None or "|" in line:
        return
    words = [word for command in read for word in command]
    show = 'command_not_found_handle() { printf "%s\\0" "$@"; }; PATH=/nowhere\n'
    ran = subprocess.run(
        ["bash", "--norc", "-c", show + line], capture_output=True, cwd="/", timeout=20
    )
    assert ran.stdout.decode().split("\0")[:-1] == words
