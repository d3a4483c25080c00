"""An agent who wants to read files of the person through the window into transcripts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longhouse.config import load
from longhouse.dispatch import Caller
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.thinking.world import codex, said_in_codex, transcript

SECRET = "the launch code"


@pytest.fixture
def secret(tmp_path: Path, lh: Lh) -> Path:
    """A session of another place, outside the folders of transcripts."""
    transcript(lh)
    path = tmp_path / "private" / "diary.jsonl"
    path.parent.mkdir()
    head = codex("session_meta", id="x", cwd=str(lh.house.settings.project_root))
    path.write_text(f"{head}\n{said_in_codex('user', SECRET)}\n")
    return path


def is_alone(lh: Lh) -> bool:
    """Whether the one transcript that there is was not crowded out by what is newer."""
    found = lh.envelope("docs.transcripts.search", query="cache", max_files=1)
    return bool(found["result"]["hits"]) and not found["warnings"]


@pytest.mark.proves("MEM-227")
@pytest.mark.parametrize(
    "how", ["../../../private/diary.jsonl", "a/../../x.jsonl", "..", "/etc/passwd"]
)
def test_a_path_that_climbs_out_is_refused(lh: Lh, secret: Path, how: str) -> None:
    error = lh.refused("docs.transcripts.open", ref={"path": how, "line": 1})
    assert error["code"] == "INVALID_INPUT"
    assert lh.refused("docs.transcripts.open", ref={"path": str(secret), "line": 2})
    assert SECRET not in str(error)


def test_a_link_to_a_file_or_a_folder_is_not_followed(lh: Lh, secret: Path) -> None:
    root = lh.house.settings.transcripts[0]
    (root / "link.jsonl").symlink_to(secret)
    (root / "folder").symlink_to(secret.parent)
    assert lh("docs.transcripts.search", query=SECRET)["hits"] == []
    assert SECRET not in str(lh("docs.transcripts.digest", mode="last"))
    assert is_alone(lh)
    for name in ("link.jsonl", "folder/diary.jsonl"):
        error = lh.refused("docs.transcripts.open", ref={"path": name, "line": 2})
        assert error["code"] == "INVALID_INPUT"


def test_another_folder_cannot_be_named(lh: Lh, secret: Path) -> None:
    root = lh.house.settings.transcripts[0]
    (root / "away").symlink_to(secret.parent)
    for folder in (secret.parent, root / "away", root / ".." / ".." / "..", Path("private")):
        for cmd, args in (
            ("docs.transcripts.search", {"query": SECRET}),
            ("docs.transcripts.digest", {}),
            ("docs.transcripts.open", {"ref": {"path": "diary.jsonl", "line": 2}}),
        ):
            error = lh.refused(cmd, root_dir=str(folder), **args)
            assert error["code"] == "INVALID_INPUT"
    assert lh("docs.transcripts.search", query="cache", root_dir=str(root))["hits"]


def test_only_plain_transcripts_are_opened(lh: Lh, secret: Path) -> None:
    root = lh.house.settings.transcripts[0]
    os.mkfifo(root / "pipe.jsonl")
    (root / "notes.txt").write_text(SECRET)
    for name, why in (("pipe.jsonl", "not a regular file"), ("notes.txt", "only .jsonl files")):
        error = lh.refused("docs.transcripts.open", ref={"path": name, "line": 1})
        assert why in error["message"]
    assert lh("docs.transcripts.search", query=SECRET)["hits"] == []
    assert is_alone(lh)


def test_a_store_that_came_with_a_repository_cannot_add_folders(tmp_path: Path) -> None:
    store = tmp_path / ".longhouse"
    store.mkdir(mode=0o700)
    (store / "config.toml").write_text('transcripts = ["/home"]\n')
    with pytest.raises(InvalidInput, match="may not set transcripts"):
        load({"dir": str(store)}, environ={"HOME": str(tmp_path)}, cwd=tmp_path)


def test_a_viewer_may_not_read_transcripts(lh: Lh, secret: Path) -> None:
    answer = lh.house.call("docs.transcripts.search", {"query": "cache"}, Caller(Role.VIEWER))
    assert answer.code == "FORBIDDEN"


@pytest.mark.parametrize("said", ["my cache token is {} indeed", "{} opens my cache"])
def test_secrets_in_transcripts_are_hidden_before_they_are_cut(lh: Lh, said: str) -> None:
    token = "ghp_" + "a1B2" * 9
    head = codex("session_meta", id="x", cwd=str(lh.house.settings.project_root))
    transcript(lh, head, said_in_codex("user", said.format(token)))
    for around in (0, 10, 20, 30, 400):
        found = lh("docs.transcripts.search", query="cache", context_chars=around)
        assert "cache" in str(found["hits"])
        assert "a1B2" not in str(found["hits"])
