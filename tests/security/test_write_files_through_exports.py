"""An agent who wants a pack written where it does not belong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.thinking import exporting
from longhouse.thinking.context_pack import context_pack
from tests.kit import Lh
from tests.thinking.kit import card, task

GOOD = ".agents/mcp/context/.context/longhouse/context_pack.json"


@pytest.mark.proves("MEM-210", "MEM-211")
@pytest.mark.parametrize(
    "name", [GOOD, ".context-finder/branchmind/context_pack.json", "pack.json"]
)
def test_a_pack_is_written_inside_the_project(lh: Lh, name: str) -> None:
    card(lh, "CARD-H1", "hypothesis", text="x" * 30_000)
    made = lh("think.context.pack.export", out_file=name, limit_cards=5)
    path = lh.house.settings.project_root / name
    assert (made["out_file"], made["bytes"]) == (name, path.stat().st_size)
    written = json.loads(path.read_text())
    assert written["capsule"]["type"] == "context_pack_capsule"
    assert made["truncated"] is written["truncated"] is True
    target = task(lh)["id"]
    card(lh, "CARD-H2", "hypothesis", text="y" * 3_000, target=target)
    for budget in ({"max_chars": 2_000}, {"context_budget": 2_000, "view": "explore"}):
        small = lh("think.context.pack.export", out_file=name, target=target, **budget)
        assert (small["out_file"], small["truncated"]) == (name, True)
        assert small["bytes"] == path.stat().st_size
        pack = lh("think.context.pack", target=target, **budget)
        assert json.loads(path.read_text()) == pack
    assert lh.refused("think.context.pack.export")["code"] == "INVALID_INPUT"
    recommended = lh.house.registry.get("think.context.pack.export").example
    assert msgspec.to_builtins(recommended)["out_file"] == GOOD
    assert not [other for other in path.parent.iterdir() if other != path and other.is_file()]


def test_a_pack_is_written_nowhere_else(lh: Lh, tmp_path: Path) -> None:
    root = lh.house.settings.project_root
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (root / ".git").mkdir(exist_ok=True)
    (root / "sub" / ".GIT").mkdir(parents=True)
    (root / "away").symlink_to(outside)
    (root / "file.json").symlink_to(outside / "target.json")
    (root / "hooks").symlink_to(root / ".git")
    precious = {"package.json": '{"name": "acme"}', "list.json": "[1]", "torn.json": '{"caps'}
    os.mkfifo(root / "pipe.json")
    for name, text in precious.items():
        (root / name).write_text(text)
    for name in (
        "../x.json",
        str(outside / "x.json"),
        "away/x.json",
        "file.json",
        ".git/hooks/post-commit",
        "sub/.GIT/config",
        "sub/.GIT/x.json",
        ".git/x.json",
        "hooks/x.json",
        "hooks/config",
        ".longhouse/longhouse.db",
        str(lh.house.settings.dir / "x.json"),
        "pipe.json",
        str(lh.house.settings.dir / "config.toml"),
        ".",
        "sub",
        "a\nb/../../../x",
        "conftest.py",
        "Makefile",
        "package.json",
        "list.json",
        "torn.json",
        f"{'0' * 300}.json",
        f"{'deep/' * 50}{'0' * 260}.json",
        "package.json/x.json",
        "nul\0.json",
    ):
        error = lh.refused("think.context.pack.export", out_file=name)
        assert error["code"] == "INVALID_INPUT", name
    assert {name: (root / name).read_text() for name in precious} == precious
    assert not (root / "conftest.py").exists()
    assert list(outside.iterdir()) == []
    assert not (root / ".git" / "hooks").exists()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_link_that_appears_while_the_pack_is_made_is_not_followed(
    lh: Lh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    root, outside = lh.house.settings.project_root, tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "x.json").write_text("precious")
    (root / "mine").mkdir()
    pack = context_pack

    def swap(*given: Any) -> Any:
        if what == "folder":
            (root / "mine").rmdir()
            (root / "mine").symlink_to(outside)
        else:
            (root / "mine" / "x.json").symlink_to(outside / "x.json")
        return pack(*given)

    monkeypatch.setattr(exporting, "context_pack", swap)
    error = lh.refused("think.context.pack.export", out_file="mine/x.json")
    assert error["code"] == "INVALID_INPUT"
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"x.json": "precious"}


def test_a_pack_holds_no_secret(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", text="token ghp_" + "a1B2" * 9)
    lh("think.context.pack.export", out_file="pack.json")
    assert "a1B2" not in (lh.house.settings.project_root / "pack.json").read_text()
