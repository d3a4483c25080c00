"""Reads the walks and snippets off a page, so that tests can follow them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(\w*)\$ ", re.MULTILINE)


class Step(NamedTuple):
    """A command of a walk, where it is typed (`one$ …`), and what the page says it prints."""

    where: str
    command: str
    said: str


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def steps(page: str) -> Iterator[Step]:
    for block in blocks(page, "console"):
        _, *parts = PROMPT.split(block)
        for where, text in zip(parts[::2], parts[1::2], strict=True):
            command, _, said = text.partition("\n")
            yield Step(where, command, said)


def matches(said: str, printed: str) -> bool:
    """`…` stands for anything, a line of its own for any lines."""
    pattern = ".*".join(re.escape(part) for part in said.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
