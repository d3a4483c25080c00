"""The edits that `make mutants` tries: each breaks one thing and still compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutations import apply, mutations

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "line, broken",
    [
        ("return a == 1", ["return None", "return (a != 1)", "return a == 2"]),
        ("return a and not b", ["return None", "return (a or not b)", "return a and (bool(b))"]),
        ("return 'word' if a else -b", ["return None", "return (-b if a else 'word')"]),
        ("log(a + b)", ["pass", "log((a - b))"]),
        ("raise ValueError('a sentence for people')", []),
        ("return f'{a + 1}'", ["return None"]),
    ],
)
def test_one_thing_is_broken_at_a_time(line: str, broken: list[str]) -> None:
    source = f"def f(a, b):\n    'It says.'\n    {line}\n"
    made = [apply(source, one).splitlines()[2].strip() for one in mutations(source)]
    assert made[: len(broken)] == broken
    assert bool(made) == bool(broken)


def test_what_runs_at_import_is_left_alone() -> None:
    assert list(mutations("LIMIT = 3\n\n\nclass A:\n    size: int = 4\n")) == []


def test_every_mutation_of_the_kernel_compiles_and_differs() -> None:
    for path in sorted((ROOT / "src/longhouse/kernel").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        for one in mutations(source):
            changed = apply(source, one)
            assert changed != source
            compile(changed, str(path), "exec")
