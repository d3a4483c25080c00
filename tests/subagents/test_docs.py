"""The documentation's examples run as written."""

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


REVIEWER = f"""#!{sys.executable}
import json
answer = {{"status": "DONE", "summary": "No faults.", "refs": ["review.md"]}}
said = {{"type": "agent_message", "text": json.dumps(answer)}}
print(json.dumps({{"type": "item.completed", "item": said}}))
"""


def test_every_example_of_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codex = tmp_path / "codex"
    codex.write_text(REVIEWER)
    codex.chmod(0o755)
    monkeypatch.setenv("LONGHOUSE_CODEX_BIN", str(codex))
    monkeypatch.setenv("LONGHOUSE_DIR", str(tmp_path / ".longhouse"))
    monkeypatch.chdir(tmp_path)
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
    assert "No faults. ('review.md',)\n" in printed
    assert printed.count(" completed ") == 2


def test_the_page_names_every_outcome() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in text] == []
