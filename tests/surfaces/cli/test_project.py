"""`longhouse project`, and how `up` and `init` adopt the store of an earlier version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from longhouse.config import load, moving
from longhouse.config.projects import Index
from longhouse.house import House
from longhouse.store.tx import Tx, sql
from longhouse.surfaces.client_tokens import ClientTokens
from tests.store.upkeep_kit import call_of
from tests.surfaces.cli.conftest import Shell


@pytest.fixture
def has_store() -> bool:
    return False


def put_old(folder: Path) -> Path:
    """A store in the work tree, as earlier versions made it: nothing registers it here."""
    made = load({"dir": str(folder.parent.parent / "made")}, environ={}, cwd=folder.parent)
    with House(made) as house:
        said = {"content": "We keep SQLite", "workspace": "acme"}
        assert house.call("vcs.notes.commit", said).success
    (made.dir / "project.json").unlink()
    made.dir.rename(folder)
    (folder / "token").write_text("lh_" + "0" * 64)
    return folder


@pytest.mark.parametrize(
    "words", [("status",), ("note", "x"), ("verify",), ("mcp", "--embedded"), ("task", "list")]
)
def test_nothing_but_up_and_init_touches_an_old_store(sh: Shell, words: tuple[str, ...]) -> None:
    old = put_old(sh.root / ".longhouse")
    before = {path: path.stat().st_mtime_ns for path in old.rglob("*")}
    ran = sh(*words, "--json", stdin="")
    assert ran.json["error"]["code"] == "OLD_STORE"
    assert "longhouse up" in ran.json["error"]["recovery"]
    assert {path: path.stat().st_mtime_ns for path in old.rglob("*")} == before


def test_init_adopts_an_old_store_with_all_it_holds(sh: Shell) -> None:
    old = put_old(sh.root / ".longhouse")
    settings = load({"dir": str(old)}, cwd=sh.root)
    clients = ClientTokens(settings, "codex").path
    clients.parent.mkdir(parents=True)
    clients.write_text('{"id": "TOK-1", "token": "x"}')
    clients.chmod(0o600)
    ran = sh("init", "--client", "codex")
    assert ran.code == 0, ran.err
    assert f"adopted {old}" in ran.err
    assert not old.exists()
    assert "We keep SQLite" in sh("log", "--branch", "main").out + sh("open", "notes@1").out
    assert sh("status", "--dir", str(old), "--json").code == 0
    assert load({"dir": str(old)}, cwd=sh.root).dir == sh.dir


def test_a_tracked_store_is_not_adopted(sh: Shell) -> None:
    put_old(sh.root / ".longhouse")
    (sh.root / ".git" / "index").write_bytes(b"DIRC....longhouse/token\0")
    assert sh("init", "--json").json["error"]["code"] == "UNTRUSTED_STORE"


def test_a_move_is_refused_while_a_server_uses_the_store(sh: Shell) -> None:
    assert sh("up", "--port", "0").code == 0
    error = sh("project", "move", str(sh.root.parent / "new"), "--json").json["error"]
    assert (error["code"], "longhouse down" in error["recovery"]) == ("CONFLICT", True)
    assert sh("down").code == 0


def test_a_store_moves_there_and_back(sh: Shell) -> None:
    assert sh("init", "--client", "codex").code == 0
    sh("note", "kept")
    first, token = sh.dir, ClientTokens(load(cwd=sh.root), "codex").kept()
    for target in (sh.root.parent / "new", sh.root / "inside", first):
        ran = sh("project", "move", str(target))
        assert ran.code == 0, ran.err
        assert sh.dir == target
        assert ("inside the work tree" in ran.err) == (target.name == "inside")
        assert "kept" in sh("log").out
        assert ClientTokens(load(cwd=sh.root), "codex").kept() == token
    assert load({"dir": str(sh.root / "inside")}, cwd=sh.root).dir == first


@pytest.mark.parametrize("kill_at", range(1, 8))
@pytest.mark.parametrize("across", [False, True])
def test_a_killed_move_loses_nothing_and_up_finishes_it(
    sh: Shell, kill_at: int, across: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change of a file is a point at which the process may die."""
    assert sh("init", "--client", "codex").code == 0
    sh("note", "kept")
    left = [kill_at]

    def dies(real: object) -> object:
        def step(*args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                raise SystemExit(9)
            return real(*args, **kwargs)  # type: ignore[operator]

        return step

    with pytest.MonkeyPatch.context() as patch:
        if across:
            patch.setattr(Path, "rename", _other_disk(Path.rename))
        for owner, name in (
            (moving, "_rename_or_copy"),
            (moving, "write_record"),
            (shutil, "rmtree"),
            (Index, "change"),
        ):
            patch.setattr(owner, name, dies(getattr(owner, name)))
        try:
            code = sh("project", "move", str(sh.root.parent / "new")).code
        except SystemExit:
            code = 9
    if code == 0:
        assert left[0] > 0
    else:
        ran = sh("status", "--json")
        assert ran.code == 0 or ran.json["error"]["code"] == "OLD_STORE"
        assert sh("init", "--client", "codex").code == 0
    assert "kept" in sh("log").out
    stores = [path for path in (sh.root.parent / "new",) if path.exists()]
    assert sh.dir.is_dir()
    assert all(path == sh.dir for path in stores)


def _other_disk(real: object) -> object:
    def rename(self: Path, target: Path) -> object:
        if (self / "longhouse.db").exists() and not self.name.endswith(".partial"):
            raise OSError(18, "Invalid cross-device link")
        return real(self, target)  # type: ignore[operator]

    return rename


def test_projects_are_listed_with_what_became_of_them(sh: Shell) -> None:
    sh("init")
    other = sh.root.parent / "other"
    (other / ".git").mkdir(parents=True)
    load(cwd=other).make_dir()
    shutil.rmtree(other)
    rows = {row["root"]: row for row in sh("project", "list", "--json").json["data"]["projects"]}
    assert rows[str(sh.root)]["state"] == "here"
    assert rows[str(other)]["state"] == "orphan"
    assert str(sh.dir) in sh("project", "list").out


def test_an_orphan_is_adopted_by_the_repository_cloned_anew(sh: Shell) -> None:
    sh("init")
    sh("note", "kept")
    before = sh.dir
    shutil.rmtree(sh.root / ".git")
    (sh.root / ".git").mkdir()
    told = sh("status", "--json").err
    assert "project adopt" in told
    (row,) = [
        row
        for row in sh("project", "list", "--json").json["data"]["projects"]
        if row["root"] == str(sh.root)
    ]
    assert sh("project", "adopt", row["id"][:8]).code == 0
    assert sh.dir == before
    assert "kept" in sh("log").out


def test_a_project_that_is_still_there_is_not_adopted_elsewhere(
    sh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("init")
    (row,) = [
        row
        for row in sh("project", "list", "--json").json["data"]["projects"]
        if row["root"] == str(sh.root)
    ]
    other = sh.root.parent / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    error = sh("project", "adopt", row["id"][:8], "--json").json["error"]
    assert error["code"] == "CONFLICT"


def test_a_forgotten_project_starts_anew_and_its_store_stays(sh: Shell) -> None:
    sh("init")
    before = sh.dir
    ran = sh("project", "forget", str(sh.root))
    assert str(before) in ran.out
    assert (before / "longhouse.db").exists()
    assert sh.dir != before
    assert sh("project", "adopt", str(before)).code == 0
    assert (sh.dir / "longhouse.db").exists()


def test_a_workspace_is_bound_so_that_the_repository_may_name_it(sh: Shell) -> None:
    sh("init")
    (sh.root / ".longhouse").mkdir()
    (sh.root / ".longhouse" / "config.toml").write_text('workspace = "team"\n')
    error = sh("status", "--json").json["error"]
    assert "project bind team" in error["recovery"]
    assert sh("project", "bind", "team", "--workspace", "acme").code == 0
    assert sh("note", "x").code == 0


def put_old_on_postgres(sh: Shell, url: str, *, bound: bool) -> None:
    """The folder of a store on PostgreSQL in the work tree; earlier versions bound no project."""
    made = load({"dir": str(sh.root.parent / "made")}, environ={"LONGHOUSE_DB": url})
    with House(made) as house:
        assert house.call("vcs.notes.commit", {"content": "kept", "workspace": "acme"}).success
        assert house.call(
            "jobs.create", {"title": "Look", "prompt": "look", "workspace": "acme"}
        ).success
        if not bound:
            house.db.write("acme", as_before_bindings, call_of(house))
    (made.dir / "project.json").unlink()
    (made.dir / "token").write_text("lh_" + "0" * 64)
    made.dir.rename(sh.root / ".longhouse")


def as_before_bindings(tx: Tx) -> None:
    tx.run(sql.workspace_projects_forget, number=tx.ws)
    tx.run(sql.workspace_set_binding, number=tx.ws, binding="open")


def test_the_folder_of_a_postgres_store_is_adopted_and_its_work_is_not_held(
    sh: Shell, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was named by the person, not by the work tree."""
    monkeypatch.setenv("LONGHOUSE_DB", postgres_url)
    put_old_on_postgres(sh, postgres_url, bound=False)
    assert sh("status", "--json").json["error"]["code"] == "OLD_STORE"
    ran = sh("init", "--client", "codex")
    assert ran.code == 0, ran.err
    assert "kept" in sh("log").out
    assert not (sh.root / ".longhouse").exists()
    assert not (sh.dir / "token").exists()  # whoever made the folder knows it
    (job,) = sh("job", "list", "--json").json["data"]["jobs"]
    assert not job.get("held")


def test_a_folder_in_the_work_tree_joins_no_project_of_a_shared_database(
    sh: Shell, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive may bring such a folder along; only `workspace bind` names the workspace."""
    monkeypatch.setenv("LONGHOUSE_DB", postgres_url)
    put_old_on_postgres(sh, postgres_url, bound=True)
    ran = sh("init", "--client", "codex")
    assert ran.code != 0
    assert "belongs to another project" in ran.err
    assert "longhouse workspace bind acme" in ran.err
    assert sh("workspace", "bind", "acme").code == 0
    assert sh("init", "--client", "codex").code == 0
    assert "kept" in sh("log").out


def test_what_an_adopted_store_would_run_is_held(sh: Shell) -> None:
    old = sh.root / ".longhouse"
    made = load({"dir": str(sh.root.parent / "made")}, environ={}, cwd=sh.root)
    with House(made) as house:
        for cmd, args in (
            ("tool.policy_allow", {"tool": "bash", "pattern": "make *"}),
            ("jobs.create", {"title": "Look", "prompt": "look"}),
            ("tool.task_spawn", {"tool": "bash", "args": {"command": "make test"}}),
            ("system.token.create", {"role": "operator"}),
        ):
            answer = house.call(cmd, {**args, "workspace": "acme"})
            assert answer.success, answer.envelope
    (made.dir / "project.json").unlink()
    (made.dir / "token").write_text("lh_" + "0" * 64)
    made.dir.rename(old)
    ran = sh("init", "--client", "codex")
    assert "it holds the workspaces acme (" in ran.err
    for held in ("jobs held: acme JOB-001", "processes held: acme PROC-001", "rules withdrawn"):
        assert held in ran.err
    assert "tokens revoked" in ran.err
    (job,) = sh("job", "list", "--json").json["data"]["jobs"]
    assert job["held"]
    live = sh("token", "list", "--json").json["data"]["tokens"]
    assert [row["client"] for row in live if not row.get("revoked_at_ms")] == ["codex"]


def test_where_names_every_folder_and_makes_none(sh: Shell) -> None:
    said = sh("where", "--json").json["data"]
    assert (said["store"], said["exists"]) == (str(sh.dir), False)
    assert "(not made yet)" in sh("where").out
    assert not sh.dir.exists()
    sh("init")
    assert sh("where", "--json").json["data"]["exists"] is True


def put_armed(folder: Path) -> Path:
    """A store that would run something: a rule, and a git directory that a runner would use."""
    made = load({"dir": str(folder.parent.parent / "made")}, environ={}, cwd=folder.parent)
    with House(made) as house:
        rule = {"tool": "bash", "pattern": "make *", "workspace": "acme"}
        assert house.call("tool.policy_allow", rule).success
    (made.dir / "project.json").unlink()
    made.dir.rename(folder)
    (folder / "token").write_text("lh_" + "0" * 64)
    (folder / "worktrees" / "acme" / "JOB-001.git").mkdir(parents=True)
    return folder


def rules(sh: Shell) -> list[str]:
    found = sh("policy", "show", "--json").json["data"]["rules"]
    return [row["pattern"] for row in found]


def test_what_an_adopted_folder_would_act_by_is_taken_from_it(sh: Shell) -> None:
    put_armed(sh.root / ".longhouse")
    ran = sh("init", "--client", "codex")
    assert "set aside" in ran.err
    assert not (sh.dir / "token").exists()
    assert not (sh.dir / "worktrees").exists()
    assert rules(sh) == []


def test_an_adopted_store_is_held_whatever_database_is_named_meanwhile(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_armed(sh.root / ".longhouse")
    monkeypatch.setenv("LONGHOUSE_DB", str(tmp_path / "mine.db"))
    assert sh("init", "--client", "codex").code == 0
    monkeypatch.delenv("LONGHOUSE_DB")
    assert rules(sh) == []


@pytest.mark.parametrize("name", ["_rename_or_copy", "_step", "settle"])
@pytest.mark.parametrize("after", [False, True])
def test_a_killed_adoption_is_finished_with_all_held(
    sh: Shell, name: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_armed(sh.root / ".longhouse")
    real = getattr(moving, name)

    def dies(*args: object) -> object:
        if after:
            real(*args)
        raise SystemExit(9)

    monkeypatch.setattr(moving, name, dies)
    with pytest.raises(SystemExit):
        sh("init", "--client", "codex")
    monkeypatch.setattr(moving, name, real)
    said = sh("status", "--json").json
    assert said["ok"] or said["error"]["code"] == "OLD_STORE"
    assert sh("init", "--client", "codex").code == 0
    assert rules(sh) == []
    assert not (sh.root / ".longhouse").exists()
    assert len(list(sh.dir.parent.glob("acme-*"))) >= 1


def test_a_killed_move_of_ones_own_store_withdraws_nothing(
    sh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sh("init", "--client", "codex")
    assert sh("policy", "allow", "bash", "make *").code == 0
    before = rules(sh)

    def dies(*_: object) -> None:
        raise SystemExit(9)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving, "_step", dies)
        with pytest.raises(SystemExit):
            sh("project", "move", str(sh.root.parent / "new"))
    assert sh("init", "--client", "codex").code == 0
    assert (rules(sh), sh.dir) == (before, sh.root.parent / "new")
    assert before
