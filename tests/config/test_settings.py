"""Settings: where each comes from, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.config import load
from longhouse.kernel.errors import InvalidInput

HOME = {"HOME": "/nowhere"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "acme"
    (root / ".git").mkdir(parents=True)
    return root


def test_the_sources_of_a_setting_have_an_order(repository: Path, tmp_path: Path) -> None:
    """Flag, environment, my file for this store, the store's file, my file for all, default."""
    home = tmp_path / "home"
    folder = load({}, environ={"HOME": str(home)}, cwd=repository).dir
    mine = home / ".config" / "longhouse" / "config.toml"
    mine.parent.mkdir(parents=True)
    folder.mkdir(parents=True)

    def toolset(flags: dict[str, str] | None = None, **environ: str) -> tuple[str, str | None]:
        environ["HOME"] = str(home)
        settings = load(flags, environ=environ, cwd=repository)
        return settings.toolset, settings.origins.get("toolset")

    assert toolset() == ("daily", None)
    mine.write_text('toolset = "core"\n')
    assert toolset() == ("core", str(mine))
    (folder / "config.toml").write_text('toolset = "full"\n')
    assert toolset() == ("full", str(folder / "config.toml"))
    mine.write_text(f'[stores."{folder}"]\ntoolset = "core"\n')
    assert toolset() == ("core", f'{mine} [stores."{folder}"]')
    assert toolset(LONGHOUSE_TOOLSET="full") == ("full", "LONGHOUSE_TOOLSET")
    assert toolset({"toolset": "core"}, LONGHOUSE_TOOLSET="full") == ("core", "--toolset")


def test_the_persons_folder_of_settings_is_where_xdg_says(repository: Path, tmp_path: Path) -> None:
    mine = tmp_path / "settings" / "longhouse" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('allowed_hosts = ["a.example", "b.example"]\n')
    said = {"XDG_CONFIG_HOME": str(tmp_path / "settings"), "HOME": str(tmp_path)}
    found = load({}, environ=said, cwd=repository).allowed_hosts
    assert found == ("a.example", "b.example")
    relative = {"XDG_CONFIG_HOME": "settings", "HOME": str(tmp_path / "nobody")}
    assert load({}, environ=relative, cwd=repository).allowed_hosts == ()


@pytest.mark.parametrize("text", ["secret\n", "  secret  "])
def test_a_token_may_be_in_a_file(repository: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    assert load({"token_file": str(file)}, environ=HOME, cwd=repository).token == "secret"
    environ = {**HOME, "LONGHOUSE_TOKEN_FILE": str(file), "LONGHOUSE_TOKEN": "other"}
    assert load({}, environ=environ, cwd=repository).token == "other"
    assert load({"token_file": str(file)}, environ=environ, cwd=repository).token == "secret"


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_a_token_file_without_a_token_is_refused(
    repository: Path, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"^--token-file: ") as caught:
        load({"token_file": str(tmp_path / "token")}, environ=HOME, cwd=repository)
    assert caught.value.recovery


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
        load({}, environ={**HOME, f"LONGHOUSE_{name.upper()}": value}, cwd=repository)
    assert name in caught.value.message.lower()
    assert caught.value.recovery


def test_a_file_that_is_no_toml_is_named(repository: Path) -> None:
    file = repository / ".longhouse" / "config.toml"
    file.parent.mkdir()
    file.write_text("policy = ")
    with pytest.raises(InvalidInput, match=r"config\.toml: not valid TOML"):
        load({}, environ=HOME, cwd=repository)


def test_a_quota_may_be_larger_than_any_port(repository: Path) -> None:
    environ = {**HOME, "LONGHOUSE_ARTIFACT_QUOTA_MB": "1048576"}
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
    settings = load({"db": db}, environ=HOME, cwd=repository)
    assert (settings.store, settings.names_a_store) == (store, True)
    assert not load({}, environ=HOME, cwd=repository).names_a_store


def test_each_store_has_a_folder_of_its_own_in_the_users_cache(tmp_path: Path) -> None:
    def cache(name: str, **environ: str) -> Path:
        return load({"dir": str(tmp_path / name)}, environ=environ, cwd=tmp_path).cache

    one, other = cache("one", HOME="/home/ann"), cache("other", HOME="/home/ann")
    assert one != other
    assert one.parent == other.parent == Path("/home/ann/.cache/longhouse")
    assert cache("one", HOME="/home/ann", XDG_CACHE_HOME="/fast").parent == Path("/fast/longhouse")
    assert cache("one", HOME="/home/ann", XDG_CACHE_HOME="fast") == one
    assert cache("one", HOME="/home/ann", LONGHOUSE_CACHE="/big").parent == Path("/big/longhouse")
    assert cache("one") == tmp_path / "one" / "cache"
