"""Parses command lines that consist only of simple commands: words, quotes, `;`, `&&`, `||`, `|`.

A line that makes the shell do anything else (expand, redirect, substitute, group, define, assign,
run in the background) is unreadable here, and policy allows only what it can read completely.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["simple_commands"]

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[ \t]+)
  | (?P<between>&&|\|\||;|\||\n)
  | (?P<plain>[^\s'"\\$`&|;<>(){}\[\]*?~\#!\x00-\x1f\x7f]+)
  | '(?P<single>[^'\x00-\x08\x0b-\x1f\x7f]*)'
  | "(?P<double>[^"\\$`!\x00-\x08\x0b-\x1f\x7f]*)"
    """,
    re.VERBOSE,
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_RESERVED: Final = frozenset(
    (
        *("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if"),
        *("in", "select", "then", "time", "until", "while"),
    )
)

_ASSIGNING: Final = frozenset(
    (
        *("alias", "compgen", "complete", "declare", "enable", "export", "getopts", "hash", "let"),
        *("local", "mapfile", "read", "readarray", "readonly", "typeset", "unset", "wait"),
    )
)
"""Builtins that change the meaning of later words, or run commands embedded in their arguments:
`read 'a[$(rm x)]'` removes a file."""


def simple_commands(line: str) -> list[list[str]] | None:
    """The words of each simple command in the line; None if it contains anything else."""
    commands: list[list[str]] = [[]]
    word: str | None = None
    quoted = False
    at = 0
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            return None
        at = token.end()
        if token.lastgroup in ("plain", "single", "double"):
            quoted = quoted or token.lastgroup != "plain"
            word = (word or "") + token[token.lastgroup or 0]
            continue
        if word is not None and not _add(commands[-1], word, quoted=quoted):
            return None
        word, quoted = None, False
        if token.lastgroup == "between":
            if not commands[-1] and token["between"] != "\n":
                return None
            if commands[-1]:
                commands.append([])
    if word is not None and not _add(commands[-1], word, quoted=quoted):
        return None
    if not commands[-1]:
        commands.pop()
    if not commands or re.search(r"(?:&&|\|\||\|)\s*\Z", line):
        return None
    return None if any(_assigns(words) for words in commands) else commands


def _assigns(words: list[str]) -> bool:
    """Whether the program is a shell builtin that takes one of the words as a variable's name."""
    program, rest = words[0], words[1:]
    if program == "printf":
        return any(word.startswith("-v") for word in rest)
    return program in _ASSIGNING or (program in ("test", "[") and "-v" in rest)


def _add(command: list[str], word: str, *, quoted: bool) -> bool:
    """Add a word; False if it comes first and names no program (an assignment, a reserved word)."""
    if not command and (not word or _ASSIGNMENT.match(word) or (word in _RESERVED and not quoted)):
        return False
    command.append(word)
    return True
