"""The examples of the documentation run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from longhouse.subagents import Outcome
from tests.subagents.scripted_openai import says, scripted

PAGE = Path(__file__).parents[2] / "docs" / "subagents.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_example_of_the_page_runs_from_top_to_bottom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    notebook = ModuleType("notebook_of_subagents")
    monkeypatch.setitem(sys.modules, notebook.__name__, notebook)
    with scripted(says("Rhine, Nile, Amur.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for example in EXAMPLE.finditer(text):
            line = text.count("\n", 0, example.start()) + 1
            code = "\n" * line + example[1]  # so that a traceback names the line of the page
            exec(compile(code, str(PAGE), "exec", dont_inherit=True), vars(notebook))
    printed = capsys.readouterr().out
    assert printed.startswith("Rhine, Nile, Amur.\n")
    assert "Plan.steps holds a list" in printed
    assert printed.count(" completed ") == 2


def test_the_page_names_every_outcome() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in text] == []
