"""The sparse registry gives what the whole one gives, and imports less."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from longhouse.config import Settings
from longhouse.house import House, registry
from longhouse.kernel.errors import UnknownCmd
from longhouse.sparse import MANIFEST, SparseRegistry, manifest_of


def test_the_manifest_says_what_the_registry_says() -> None:
    assert MANIFEST.read_text(encoding="utf-8") == manifest_of(registry()), (
        "run: python -m tools.commands"
    )


def test_every_command_opener_and_adviser_is_the_same() -> None:
    whole, sparse = registry(), SparseRegistry(registry)
    assert [sparse.get(command.cmd) for command in whole] == list(whole)
    assert [sparse.of(command.example) for command in whole] == list(whole)
    assert [one.pattern for one in sparse.openers] == [one.pattern for one in whole.openers]
    assert sparse.advisers == whole.advisers
    assert "status" in sparse
    assert "no.such" not in sparse
    assert list(sparse) == list(whole)


@pytest.mark.parametrize("text", ["", "{}", '{"commands": {"status": "no.such.module"}}'])
def test_without_a_usable_manifest_it_is_only_slower(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    sparse = SparseRegistry(registry, path)
    assert sparse.get("status").cmd == "status"
    assert sparse.get(" STATUS ").cmd == "status"
    assert len(sparse.openers) == len(registry().openers)
    assert sparse.of(sparse.get("docs.show").example).cmd == "docs.show"


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCmd) as caught:
        SparseRegistry(registry).get("docs.sho")
    assert "docs.show" in str(caught.value.recovery)


def test_a_house_on_it_answers_as_any_other(settings: Settings) -> None:
    with House(settings, commands=SparseRegistry(registry)) as house:
        assert house.call("vcs.notes.commit", {"content": "x"}).success
        assert house.call("open", {"id": "notes@1"}).envelope["result"]["ref"] == "notes@1"
        assert house.call("docs.show", {"doc": 3}).code == "INVALID_INPUT"
        assert house.call("system.cmd.list", {}).success


def test_one_call_imports_only_what_it_needs(settings: Settings) -> None:
    code = (
        "import sys; from longhouse.surfaces.cli import main;"
        f"assert main(['status', '--json', '--dir', {str(settings.dir)!r}]) == 0;"
        "assert 'longhouse.desk.status' in sys.modules;"
        "assert not {'longhouse.desk.tokens', 'longhouse.jobs.fanning'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
