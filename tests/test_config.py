"""Settings: where each comes from, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.config import load
from longhouse.kernel.errors import InvalidInput


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "acme"
    (root / ".git").mkdir(parents=True)
    return root


def test_a_flag_goes_before_the_environment_the_file_and_the_default(repository: Path) -> None:
    def policy(flags: dict[str, str], environ: dict[str, str]) -> str:
        return load(flags, environ=environ, cwd=repository).policy

    file = repository / ".longhouse" / "config.toml"
    assert policy({}, {}) == "safe"
    file.parent.mkdir()
    file.write_text('policy = "full-auto"\nallowed_hosts = ["a.example", "b.example"]\n')
    assert policy({}, {}) == "full-auto"
    assert policy({}, {"LONGHOUSE_POLICY": "safe"}) == "safe"
    assert policy({"policy": "full-auto"}, {"LONGHOUSE_POLICY": "safe"}) == "full-auto"
    assert load({}, environ={}, cwd=repository).allowed_hosts == ("a.example", "b.example")


def test_the_store_is_at_the_root_of_the_repository_and_named_after_it(repository: Path) -> None:
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    settings = load({}, environ={}, cwd=deep)
    assert settings.dir == repository / ".longhouse"
    assert settings.db == str(repository / ".longhouse" / "longhouse.db")
    assert settings.workspace == "acme"


def test_all_worktrees_of_a_repository_share_one_store(repository: Path) -> None:
    linked = repository.parent / "feature"
    own = repository / ".git" / "worktrees" / "feature"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {own}\n")
    settings = load({}, environ={}, cwd=linked)
    assert (settings.dir, settings.workspace) == (repository / ".longhouse", "acme")


@pytest.mark.parametrize(
    "name, value",
    [
        ("policy", "reckless"),
        ("toolset", "all"),
        ("port", "65536"),
        ("port", "-1"),
        ("port", "٣"),
        ("port", "9" * 5000),
        ("workspace_lock", "perhaps"),
        ("artifacts", "s3://bucket"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_what_holds_it(
    repository: Path, name: str, value: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        load({}, environ={f"LONGHOUSE_{name.upper()}": value}, cwd=repository)
    assert name in caught.value.message.lower()
    assert caught.value.recovery


def test_a_file_that_is_no_toml_is_named(repository: Path) -> None:
    file = repository / ".longhouse" / "config.toml"
    file.parent.mkdir()
    file.write_text("policy = ")
    with pytest.raises(InvalidInput, match=r"config\.toml: not valid TOML"):
        load({}, environ={}, cwd=repository)


def test_a_quota_may_be_larger_than_any_port(repository: Path) -> None:
    environ = {"LONGHOUSE_ARTIFACT_QUOTA_MB": "1048576"}
    assert load({}, environ=environ, cwd=repository).artifact_quota_mb == 1_048_576


@pytest.mark.parametrize(
    "db, store",
    [
        ("postgresql://ada:secret@db.example:5432/house", "postgresql://db.example:5432/house"),
        ("postgres://db.example/house?sslmode=require", "postgresql://db.example/house"),
        ("postgresql://ada@/house?host=/run/pg", "postgresql:///run/pg/house"),
        ("postgresql://a:1,b:2/house", "postgresql://a:1,b:2/house"),
    ],
)
def test_a_database_is_known_by_where_it_is_and_not_by_who_asks(
    repository: Path, db: str, store: str
) -> None:
    settings = load({"db": db}, environ={}, cwd=repository)
    assert (settings.store, settings.names_a_store) == (store, True)
    assert not load({}, environ={}, cwd=repository).names_a_store
