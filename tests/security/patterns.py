"""Finds every regular expression of the tree, and writes texts that each has to work hard on."""

from __future__ import annotations

import ast
import importlib
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import longhouse

SOURCE = Path(longhouse.__file__).parent
FUNCTIONS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
ANCHORED = {"match", "fullmatch"}
OPENERS = {"match"}
"""How the patterns of ids are used that rooms can open."""

_COLLECT = """
import importlib, json, pkgutil, re, sys, msgspec
found, compile_, meta = [], re._compile, msgspec.Meta
def spy(pattern, flags):
    made = compile_(pattern, flags)
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__") in ("re", "__main__"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame else ""
    if name == "functools" and frame:
        name = frame.f_back.f_globals.get("__name__", "")
    if name.startswith("longhouse"):
        found.append((name, made.pattern if isinstance(made.pattern, str)
                      else made.pattern.decode(), made.flags, isinstance(made.pattern, bytes)))
    return made
def told(*args, **how):
    if how.get("pattern"):
        found.append((sys._getframe(1).f_globals.get("__name__", ""), how["pattern"], 0, False))
    return meta(*args, **how)
re._compile, msgspec.Meta = spy, told
import longhouse
for module in pkgutil.walk_packages(longhouse.__path__, "longhouse."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError:
            pass
print(json.dumps(found))
"""


class Found(NamedTuple):
    """One pattern: where it is, what it says, and whether it is only tried where a text begins."""

    where: str
    pattern: str
    flags: int
    is_bytes: bool
    anchored: bool

    def run(self) -> Callable[[str], object]:
        """Let it search through a text until it finds nothing more."""
        flags = self.flags & ~(0 if self.is_bytes else re.UNICODE.value)
        made: Any = re.compile(self.pattern.encode() if self.is_bytes else self.pattern, flags)

        def go(text: str) -> object:
            given: Any = text.encode() if self.is_bytes else text
            if self.anchored:
                return made.match(given)
            return sum(1 for _ in made.finditer(given))

        return go


def all_patterns() -> list[Found]:
    """Compiled when modules are imported, named in types, or written into a call of `re`."""
    out = subprocess.run(
        [sys.executable, "-c", _COLLECT], capture_output=True, check=True, text=True
    ).stdout
    uses, called = _uses()
    made = {}
    for where, pattern, flags, is_bytes in json.loads(out):
        used = uses.get(pattern, OPENERS if where == "longhouse.kernel.rooms" else set())
        made[pattern, flags] = Found(
            where, pattern, flags, is_bytes, bool(used) and used <= ANCHORED
        )
    for where, pattern, function in called:
        made.setdefault((pattern, 0), Found(where, pattern, 0, False, function in ANCHORED))
    return list(made.values())


def _uses() -> tuple[dict[str, set[str]], list[tuple[str, str, str]]]:
    """How the patterns with a name are used, and those that stand in a call themselves."""
    uses: dict[str, set[str]] = {}
    called: list[tuple[str, str, str]] = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        dotted = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner, function = node.func.value, node.func.attr
            if not isinstance(owner, ast.Name) or function not in FUNCTIONS:
                continue
            if owner.id == "re":
                if (text := _literal(node)) is not None:
                    called.append((dotted, text, function))
            elif owner.id.isupper() and not dotted.endswith("__main__"):
                made = getattr(importlib.import_module(dotted), owner.id, None)
                if isinstance(made, re.Pattern):
                    text = made.pattern if isinstance(made.pattern, str) else made.pattern.decode()
                    uses.setdefault(text, set()).add(function)
    return uses, called


def _literal(call: ast.Call) -> str | None:
    """The first argument, where it is a text that stands there."""
    if call.args and isinstance(call.args[0], ast.Constant):
        value = call.args[0].value
        return value if isinstance(value, str) else None
    return None


def hostile(pattern: str, flags: int) -> list[tuple[str, str, str]]:
    """Beginning, what is repeated, and end of texts that make this pattern go on and then fail."""
    tree = parser.parse(pattern, flags & ~re.DEBUG.value)
    texts: dict[tuple[str, str, str], None] = {}
    ends = ("", "\x00")
    for before, pump in _repeats(tree, ""):
        for end in ends:
            texts[before, pump, end] = None
            texts["", before + pump, end] = None
        texts["", pump, "\x00"] = None
    for plain in (" ", "\n", "a", "1", "-", "=", "a ", "a.", "1.", ": ", "\t\n"):
        texts["", plain, "\x00"] = None
    if sample := _sample(tree):
        texts["", sample, "\x00"] = None
        texts["", sample[:-1], "\x00"] = None
    return [text for text in texts if text[1]]


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Each repetition: a text that leads to it, and a text that it may take again and again."""
    for op, value in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            _, most, inner = value
            yield from _repeats(inner, before)
            if most > 8:
                for pick in range(2):
                    if pump := _sample(inner, pick):
                        yield before, pump
        elif op is ops.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif op is ops.ATOMIC_GROUP:
            yield from _repeats(value, before)
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _repeats(value[1], before)
        before += _sample([(op, value)])


def _sample(tree: Any, pick: int = 0) -> str:
    """A text that this part takes: short, and another one for another `pick`."""
    text = ""
    for op, value in tree:
        if op is ops.LITERAL:
            text += chr(value)
        elif op is ops.NOT_LITERAL:
            text += "a" if value != ord("a") else "b"
        elif op is ops.ANY:
            text += " a-"[pick]
        elif op is ops.IN:
            text += _of_class(value, pick)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            text += _sample(value[2], pick) * min(max(value[0], 1), 40)
        elif op is ops.SUBPATTERN:
            text += _sample(value[3], pick)
        elif op is ops.ATOMIC_GROUP:
            text += _sample(value, pick)
        elif op is ops.BRANCH:
            text += _sample(value[1][pick % len(value[1])], pick)
    return text


def _of_class(items: Any, pick: int) -> str:
    chars = [chr(code) for code in range(9, 127) if _in(items, chr(code))]
    return random.Random(pick).choice(chars) if chars else ""


def _in(items: Any, char: str) -> bool:
    negated = bool(items) and items[0][0] is ops.NEGATE
    return any(_is(op, value, char) for op, value in items) != negated


def _is(op: Any, value: Any, char: str) -> bool:
    if op is ops.LITERAL:
        return ord(char) == int(value)
    if op is ops.RANGE:
        return int(value[0]) <= ord(char) <= int(value[1])
    if op is ops.CATEGORY:
        kind = str(value).rpartition("_")[2].lower()
        is_it = {"digit": char.isdigit(), "space": char.isspace(), "word": char.isalnum()}[kind]
        return is_it != ("NOT" in str(value))
    return False


def growth(run: Callable[[str], object], text: tuple[str, str, str], tries: int) -> float:
    """By how much the time grows when a text becomes four times as long: 4 is linear.

    The least of several tries, in time of this thread, so that a loaded machine does not matter.
    Lengths grow only until the time can be measured well.
    """
    before, pump, after = text
    length, last = 16, 0.0
    while length <= 32_768:
        spent = _least(run, before + pump * (length // len(pump) + 1) + after, tries)
        if last > 0.000_3 or spent > 0.2:
            return spent / last
        last = spent
        length = length + 4 if length < 32 else length * 4  # step by step: some explode
    return 0.0


def _least(run: Callable[[str], object], text: str, tries: int) -> float:
    least = float("inf")
    for _ in range(tries):
        begun = time.thread_time()
        run(text)
        least = min(least, time.thread_time() - begun)
        if least > 0.5:
            break
    return least
