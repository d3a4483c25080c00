"""An attacker wants a text that keeps the house busy: a pattern that is worse than linear."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from longhouse.kernel.redact import redact_text
from longhouse.kernel.secret_shapes import SHAPES, Shape, open_from, shut_until
from tests.security.patterns import all_patterns, growth, hostile

LINEAR = 4.0
SQUARE = 16.0
BETWEEN = (LINEAR * SQUARE) ** 0.5

Run = Callable[[str], object]


def worse_than_linear(run: Run, texts: Iterable[tuple[str, str, str]]) -> list[str]:
    """What makes it so; only what does it again and again, as once may be somebody's load."""
    return [
        repr(text)
        for text in texts
        if growth(run, text, 1) > BETWEEN and all(growth(run, text, 4) > BETWEEN for _ in range(3))
    ]


def test_no_pattern_of_the_tree_is_worse_than_linear() -> None:
    patterns = all_patterns()
    assert len(patterns) > 100
    found = {
        f"{found.where}: {found.pattern}": worse_than_linear(
            found.run(), hostile(found.pattern, found.flags)
        )
        for found in patterns
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_redaction_is_linear_whatever_secret_a_text_pretends_to_hold(shape: Shape) -> None:
    texts = hostile(shape.pattern.pattern, shape.pattern.flags)
    assert worse_than_linear(redact_text, texts) == []
    texts = hostile(shape.begun.pattern, shape.begun.flags)
    assert worse_than_linear(open_from, texts) == []
    assert worse_than_linear(shut_until, texts[:2]) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?im)^\W*((?:CMD|LINK)\s*:\s*\S.*)$",
        r"\s*[(\[]?(?:exit|rc)[ :=]*(\d{1,3})[)\]]?\s*\Z",
        r"[a-z]+\Z",
        r"\[[^\]]*\]",
        r"(a+)+b",
    ],
)
def test_the_search_for_such_patterns_finds_one(pattern: str) -> None:
    made = re.compile(pattern)
    assert worse_than_linear(made.findall, hostile(pattern, made.flags))
