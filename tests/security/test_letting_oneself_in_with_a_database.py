"""A stranger wants their token to count, or their work to run, in a store that a person takes over.

It is restored from a backup or adopted as it lies there: what disarms its rows must reach them all.
"""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from longhouse.config import load
from longhouse.desk.tokens import digest_of
from longhouse.house import House
from longhouse.kernel.errors import StoreUnusable
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import sql
from longhouse.store.upkeep.foreign import refuse_altered
from tests.kit import Lh
from tests.store.test_backup import backed_up, restored
from tests.store.upkeep_kit import call_of, fill, other_house
from tests.surfaces.cli.conftest import Shell, repository, sh

__all__ = ["repository", "sh"]

THEIRS = "lh_" + "0123456789abcdef" * 4
TOKEN = (
    "INSERT INTO tokens (token_id, digest, role, name, created_at_ms) "
    f"VALUES ('TOK-{{n}}', '{digest_of(THEIRS)}{{n}}', 'operator', '', 1)"
)

ALTERED = {
    "a trigger that admits them again": "CREATE TRIGGER t AFTER INSERT ON log BEGIN "
    "UPDATE tokens SET revoked_at_ms = NULL; END",
    "a trigger that keeps their rules": "CREATE TRIGGER t BEFORE UPDATE ON tool_rules BEGIN "
    "SELECT RAISE(IGNORE); END",
    "an index that swallows updates": "CREATE UNIQUE INDEX one ON tokens (revoked_at_ms)",
    "a table of their own": "CREATE TABLE more (x)",
    "a view in place of a table": "CREATE VIEW seen AS SELECT * FROM tokens",
    "a rule of the next workspace": "INSERT INTO tool_rules (ws, n, rule, created_seq, last_seq) "
    "VALUES (99, 1, '{}', 1, 1)",
    "a workspace that is a path": "INSERT INTO workspaces (name, seq, created_at_ms) "
    "VALUES ('../../x', 0, 1)",
}


def forge(path: Path, *statements: str) -> None:
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()


def redefine(path: Path, name: str, before: str, after: str) -> None:
    """Write another definition of a table into the schema, as only a forger does."""
    db = apsw.Connection(str(path))
    db.pragma("writable_schema", 1)
    text = "UPDATE sqlite_schema SET sql = REPLACE(sql, ?, ?) WHERE name = ?"
    db.execute(text, (before, after, name))
    assert db.changes() == 1
    db.close()


def admitted(house: House) -> bool:
    call = call_of(house)
    return bool(
        house.db.read(
            "", lambda tx: tx.one(sql.token_by_digest, digest=digest_of(THEIRS), now=1), call
        )
    )


@pytest.fixture
def engine() -> str:
    """A backup is always a SQLite file."""
    return "sqlite"


@pytest.mark.parametrize("how", ALTERED)
def test_a_foreign_backup_whose_schema_or_rows_no_longhouse_wrote_is_refused(
    lh: Lh, tmp_path: Path, how: str
) -> None:
    fill(lh)
    path = Path(lh.house.settings.db)
    forge(path, ALTERED[how])
    backed_up(lh.house, tmp_path / "backup")
    with pytest.raises(StoreUnusable, match="which no Longhouse does"):
        restored(lh.house, tmp_path / "backup", tmp_path / "new", key=b"another machine")
    with pytest.raises(StoreUnusable, match="which no Longhouse does"):
        restored(lh.house, tmp_path / "backup", tmp_path / "new", key=b"", damaged=True)
    assert not (tmp_path / "new" / "longhouse.db").exists()


@pytest.mark.parametrize(
    "more", ["UNIQUE ON CONFLICT IGNORE", "REFERENCES log (ts_ms) ON DELETE SET NULL"]
)
def test_a_column_that_would_undo_a_revocation_is_noticed(tmp_path: Path, more: str) -> None:
    path = tmp_path / "longhouse.db"
    SqliteEngine(path).close()
    refuse_altered(path)
    redefine(path, "tokens", "revoked_at_ms INTEGER", f"revoked_at_ms INTEGER {more}")
    with pytest.raises(StoreUnusable, match="another 'tokens'"):
        refuse_altered(path)


def test_a_trigger_in_a_store_never_runs(tmp_path: Path) -> None:
    """Also in one that got past the check: no store of ours has any."""
    with other_house(tmp_path / "store") as house:
        assert house.call("vcs.notes.commit", {"content": "x"}).success
    forge(
        tmp_path / "store" / "longhouse.db",
        f"CREATE TRIGGER t AFTER INSERT ON log BEGIN {TOKEN.format(n='')}; END",
    )
    with other_house(tmp_path / "store") as house:
        assert house.call("vcs.notes.commit", {"content": "y"}).success
        assert not admitted(house)


def test_a_backup_without_workspaces_brings_no_token(lh: Lh, tmp_path: Path) -> None:
    path = tmp_path / "made" / "longhouse.db"
    SqliteEngine(path).close()
    forge(path, TOKEN.format(n=""))
    with other_house(path.parent) as house:
        assert admitted(house)
        backed_up(house, tmp_path / "backup")
    restored(lh.house, tmp_path / "backup", tmp_path / "new", key=b"another machine")
    with other_house(tmp_path / "new") as house:
        assert not admitted(house)


@pytest.fixture
def has_store() -> bool:
    return False


def planted(sh: Shell, *statements: str) -> Path:
    """A store in the work tree that a stranger packed into an archive."""
    made = load({"dir": str(sh.root.parent / "made")}, environ={}, cwd=sh.root)
    with House(made) as house:
        assert house.call("vcs.notes.commit", {"content": "x", "workspace": "acme"}).success
    forge(Path(made.db), *statements)
    (made.dir / "project.json").unlink()
    return made.dir.rename(sh.root / ".longhouse")


def test_of_very_many_tokens_of_an_adopted_store_none_counts(sh: Shell) -> None:
    many = [TOKEN.format(n=n) for n in ("", *range(300))]
    planted(sh, *many)
    assert sh("init", "--client", "codex").code == 0
    with House(load({"dir": str(sh.dir)}, environ={}, cwd=sh.root)) as house:
        assert not admitted(house)
        count = house.db.read(
            "", lambda tx: tx.all(sql.token_list, token_id=None, limit=500), call_of(house)
        )
    assert [row["client"] for row in count if row["revoked_at_ms"] is None] == ["codex"]


@pytest.mark.parametrize(
    "how", ["a trigger that admits them again", "a rule of the next workspace"]
)
def test_a_store_that_no_longhouse_wrote_is_not_adopted(sh: Shell, how: str) -> None:
    old = planted(sh, ALTERED[how])
    error = sh("init", "--client", "codex", "--json").json["error"]
    assert error["code"] == "STORE_UNUSABLE"
    assert "which no Longhouse does" in error["message"]
    assert (old / "longhouse.db").exists(), "nothing was moved"
    assert not sh.dir.exists()
