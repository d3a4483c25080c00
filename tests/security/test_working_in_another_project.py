"""A token of one workspace must not have work done in the repository of another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from longhouse.client.feed import pages
from longhouse.config import Settings, load
from longhouse.config.projects import RECORD_NAME, id_file, record_of, write_first_record
from longhouse.config.roots import is_other_repository, project_ids
from longhouse.house import House
from longhouse.jobs.facts import STARTER
from longhouse.kernel.errors import ProjectGuardMismatch
from longhouse.kernel.registry import Role
from longhouse.runner.host.refusals import HostRefused, open_folder
from longhouse.runner.tool_tasks.starting import NotStarted, request_for
from longhouse.store.queries import Query
from tests.config.conftest import Machine
from tests.kit import CountedIds, Lh, ManualClock
from tests.processes.kit import Runner, allow, spawned
from tests.security.kit import Outsider
from tests.security.test_listening_after_revocation import Request, _web
from tests.store.upkeep_kit import call_of, exported, imported

PACK = ".agents/pack.json"
OTHER = "0" * 32


class Starter:
    """Notes which runners it was asked to start."""

    def __init__(self) -> None:
        self.started: list[tuple[str, Path | None]] = []

    def running(self, workspace: str) -> bool:
        return False

    def start(self, workspace: str, root: Path | None = None) -> None:
        self.started.append((workspace, root))

    def agents(self) -> dict[str, list[str]]:
        return {"codex": ["fast", "deep", "xhigh"]}

    def trouble(self, workspace: str) -> str | None:
        return None


@pytest.fixture
def starter() -> Starter:
    return Starter()


@pytest.fixture
def server(settings: Settings, clock: ManualClock, starter: Starter) -> Iterator[Lh]:
    """The server of the project `acme`."""
    services = {STARTER: starter}
    with House(settings, clock=clock, ids=CountedIds(), services=services) as house:
        yield Lh(house, clock)


@pytest.fixture
def beta(server: Lh) -> Outsider:
    """An agent that may enter only the workspace `beta`."""
    return Outsider(server, "token-beta", workspaces=("beta",))


def own_id(lh: Lh) -> str:
    own = lh.house.facts.own
    assert own is not None
    return str(own.id)


def write(lh: Lh, text: str) -> None:
    query = Query("forge", text, text)
    lh.house.db.write("acme", lambda tx: tx.run(query), call_of(lh.house))


# ---- a runner of one project, and the work of another workspace


def test_a_job_of_another_workspace_starts_no_runner_in_this_project(
    server: Lh, beta: Outsider, starter: Starter
) -> None:
    beta("jobs.create", title="Look", prompt="Read the token.", workspace="beta")
    server.house.settle()
    refused = beta.refused("jobs.runner.start", workspace="beta")
    server.house.settle()
    assert refused["code"] == "PROJECT_NOT_BOUND"
    assert "longhouse workspace bind beta" in refused["recovery"]
    assert starter.started == []
    server("jobs.create", title="Ours", prompt="Do it.")
    server.house.settle()
    assert starter.started == [("acme", None)]


def test_a_process_of_another_workspace_starts_no_runner_in_this_project(
    server: Lh, beta: Outsider, starter: Starter
) -> None:
    allow(server)
    beta("tool.task_spawn", tool="exec", args={"argv": ["true"]}, workspace="beta")
    server.house.settle()
    assert starter.started == []


def test_a_runner_of_this_project_gets_nothing_of_another_workspace(
    server: Lh, beta: Outsider
) -> None:
    """Also if someone started it there by hand, or bound the project before and took that back."""
    beta("jobs.create", title="Look", prompt="Read the token.", workspace="beta")
    ours: dict[str, Any] = {"runner_id": "r1", "projects": [own_id(server)], "workspace": "beta"}
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("jobs.runner.heartbeat", {"status": "idle"}),
        ("jobs.claim", {}),
        ("jobs.claim", {"job": "JOB-001"}),
    )
    for cmd, more in asked:
        assert server.refused(cmd, **ours, **more)["code"] == "PROJECT_NOT_BOUND"
    server("workspace.bind", workspace="beta")
    assert server("jobs.claim", **ours)["job"]["id"] == "JOB-001"
    server("workspace.unbind", workspace="beta")
    assert server.refused("jobs.claim", **ours)["code"] == "PROJECT_NOT_BOUND"


def test_a_host_of_this_project_gets_no_process_of_another(server: Lh) -> None:
    allow(server)
    spawned(server)
    runner = Runner(server)
    runner.hold()
    ours = {"runner_id": runner.runner_id, "host_id": runner.host_id, "revision": runner.revision}
    refused = server.refused("tool.task_claim", **ours, projects=[OTHER])
    assert refused["code"] == "PROJECT_NOT_BOUND"
    assert server("tool.task_claim", **ours, projects=[OTHER, own_id(server)])["count"] == 1


def test_an_older_runner_that_names_no_project_works_only_for_this_one(
    server: Lh, beta: Outsider
) -> None:
    """It could be anywhere; the versions before projects had names worked in the server's own."""
    allow(server)
    digest = "a" * 64
    for workspace in ("beta", "acme"):
        server("jobs.create", title="Look", prompt="Read the token.", workspace=workspace)
        server("tool.policy_allow", tool="exec", pattern="true", workspace=workspace)
        there = {"tool": "exec", "args": {"argv": ["true"]}, "workspace": workspace}
        server("tool.task_spawn", **there)
    for workspace, ok in (("beta", False), ("acme", True)):
        where = {"runner_id": "r1", "workspace": workspace}
        host = {**where, "host_id": "host-00000001"}
        revision = server("tool.task_held", **host)["revision"]
        for cmd, more in (
            ("jobs.claim", {**where, "agent_digest": digest}),
            ("tool.task_claim", {**host, "revision": revision}),
        ):
            answer = server.house.call(cmd, more)
            assert (answer.success, answer.code) == (ok, None if ok else "PROJECT_NOT_BOUND")
    assert beta("jobs.claim", runner_id="by-hand", workspace="beta")["job"], "no runner, no folder"


def test_a_runner_is_started_in_the_project_that_the_workspace_is_bound_to(
    server: Lh, starter: Starter, settings: Settings, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    root = machine.repository("beta")
    made = machine.make(root)
    assert made.place.project is not None
    server("workspace.bind", workspace="beta", project=made.place.project.id, root=str(root))
    server("jobs.create", title="Look", prompt="Do it.", workspace="beta")
    server.house.settle()
    assert starter.started == [("beta", root)]


# ---- what a server itself reads and writes in the project


def test_another_workspace_writes_no_file_into_this_project(
    server: Lh, beta: Outsider, settings: Settings
) -> None:
    for name in (PACK, ".claude/settings.json", "../beta.json"):
        refused = beta.refused("think.context.pack.export", out_file=name, workspace="beta")
        assert refused["code"] == "PROJECT_NOT_BOUND"
        assert not (settings.project_root / name).exists()
    assert server("think.context.pack.export", out_file=PACK)["out_file"] == PACK


def test_another_workspace_reads_no_transcripts_and_no_tracker_of_this_project(
    server: Lh, new_house: Callable[..., House], settings: Settings, clock: ManualClock
) -> None:
    manager = Outsider(server, "token-manager", Role.MANAGER)
    for cmd in ("docs.transcripts.search", "docs.transcripts.digest"):
        query = {"query": "x"} if cmd.endswith("search") else {}
        assert manager.refused(cmd, **query, workspace="beta")["code"] == "PROJECT_NOT_BOUND"
        assert manager.refused(cmd, **query)["code"] == "UNKNOWN_ID"  # there are none here
    (settings.project_root / ".beads").mkdir()
    line = '{"id":"bd-1","title":"A secret","status":"open","updated_at":"2026-01-01T00:00:00Z"}\n'
    (settings.project_root / ".beads" / "issues.jsonl").write_text(line)
    with_beads = Lh(new_house(items="beads"), clock)
    assert with_beads("agents.items.sync")["items"] == 1
    assert with_beads("agents.items.sync", workspace="beta")["items"] == 0


# ---- who says where work is done


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.MANAGER])
def test_only_an_operator_says_where_work_is_done(server: Lh, role: Role) -> None:
    someone = Outsider(server, "token-x", role)
    for cmd in ("workspace.bind", "workspace.unbind"):
        assert someone.refused(cmd, workspace="beta")["code"] == "FORBIDDEN"


def test_an_operator_of_one_workspace_binds_no_project_to_it(server: Lh) -> None:
    limited = Outsider(server, "token-x", Role.OPERATOR, workspaces=("beta",))
    assert limited.refused("workspace.bind", workspace="beta")["code"] == "FORBIDDEN"
    refused = limited.refused("workspace.bind", workspace="acme", project=OTHER)
    assert refused["code"] == "WORKSPACE_NOT_ALLOWED"
    assert limited.refused("workspace.unbind", workspace="beta")["code"] == "FORBIDDEN"


def test_nobody_but_an_operator_learns_where_the_projects_are(server: Lh) -> None:
    server("vcs.notes.commit", content="x")
    (row,) = server("workspace.list")["workspaces"]
    assert [one["project"] for one in row["projects"]] == [own_id(server)]
    agent = Outsider(server, "token-x")
    assert "projects" not in agent("workspace.list")["workspaces"][0]


# ---- two repositories with one name


def neighbour(settings: Settings, tmp_path: Path) -> Settings:
    """Another repository with the same name, on the same database."""
    (tmp_path / "b").mkdir(exist_ok=True)
    folder = tmp_path / "b" / "acme"
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    environ = {"HOME": str(tmp_path / "home")}
    return load({"db": settings.db}, environ=environ, cwd=folder)


def test_a_second_repository_of_the_same_name_is_refused_by_name(
    lh: Lh, settings: Settings, clock: ManualClock, tmp_path: Path
) -> None:
    lh("vcs.notes.commit", content="ours")
    with House(neighbour(settings, tmp_path), clock=clock, ids=CountedIds()) as house:
        other = Lh(house, clock)
        for cmd, args in (
            ("vcs.notes.commit", {"content": "theirs"}),
            ("docs.show", {"doc_kind": "notes"}),
            ("jobs.create", {"title": "T", "prompt": "P"}),
        ):
            refused = other.refused(cmd, **args)
            assert refused["code"] == "PROJECT_GUARD_MISMATCH"
            assert "longhouse workspace bind acme" in refused["recovery"]
            assert "--workspace OTHER" in refused["recovery"]
        other("vcs.notes.commit", content="theirs", workspace="acme-2")
        other("workspace.bind", workspace="acme")
        other("vcs.notes.commit", content="a clone's")
        ours = {"runner_id": "r2", "status": "idle", "projects": [own_id(other)]}
        other("jobs.runner.heartbeat", **ours)
    lh("vcs.notes.commit", content="ours again")


async def test_a_second_repository_of_the_same_name_hears_nothing(
    lh: Lh, settings: Settings, clock: ManualClock, tmp_path: Path
) -> None:
    """Neither from a stream, nor without a server, nor by repeating another's call."""
    lh("vcs.notes.commit", content="ours", idempotency_key="k1")
    with House(neighbour(settings, tmp_path), clock=clock, ids=CountedIds()) as house:
        with pytest.raises(ProjectGuardMismatch):
            list(pages(house, 0, workspace=None, follow=False))
        web, gate = _web(house, clock)
        stream = Request(gate, "/events", "the-persons-own-token")
        await stream.end()
        assert stream.status == 409
        assert b"PROJECT_GUARD_MISMATCH" in stream.body
        again = {"content": "ours", "idempotency_key": "k1"}
        assert house.call("vcs.notes.commit", again).code == "PROJECT_GUARD_MISMATCH"
        house.call("workspace.bind", {"workspace": "acme"})
        assert list(pages(house, 0, workspace=None, follow=False))
        web._feeds.close()


def test_whoever_comes_first_does_not_take_a_store_from_its_owner(tmp_path: Path) -> None:
    """A client in another folder starts the server of a store, and the owner is not locked out."""
    machine = Machine(tmp_path)
    owner, stranger = machine.repository("acme"), machine.repository("other")
    flags = {"dir": str(tmp_path / "store")}
    machine.load(owner, flags).make_dir()
    for cwd in (stranger, tmp_path, owner):
        settings = machine.load(cwd, {**flags, "workspace": "acme"})
        assert settings.project_root == owner
        with House(settings, ids=CountedIds()) as house:
            assert house.call("vcs.notes.commit", {"content": "x"}).envelope["success"]
            (row,) = house.call("workspace.list").envelope["result"]["workspaces"]
            assert [one["root"] for one in row["projects"]] == [str(owner)]


def test_a_store_is_one_project_however_many_processes_make_it(
    settings: Settings, clock: ManualClock
) -> None:
    """Two ids would be two projects, and the second would lock the first one out."""
    ids = set()
    for _ in range(3):  # each was loaded before the store was made
        with House(settings, clock=clock, ids=CountedIds()) as house:
            lh = Lh(house, clock)
            lh("vcs.notes.commit", content="x")
            ids.add(own_id(lh))
    assert len(ids) == 1
    late = settings.place._new()._replace(git_dir=None, chosen=True)
    write_first_record(late)
    assert record_of(settings.dir) != late
    (settings.dir / RECORD_NAME).write_text("{")
    write_first_record(late)
    assert record_of(settings.dir) == late


def test_visitors_of_a_store_with_one_name_do_not_meet(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    flags = {"dir": str(tmp_path / "store")}
    machine.load(machine.repository("acme"), flags).make_dir()
    first, second = machine.repository("a/day"), machine.repository("b/day")
    assert machine.load(first, flags).workspace == "day"
    with pytest.raises(Exception, match="has the same name"):
        machine.load(second, flags)
    assert machine.load(first, flags).workspace == "day"
    assert machine.load(second, {**flags, "workspace": "day-2"}).workspace == "day-2"
    names = {machine.load(machine.repository(name), flags).workspace for name in ("日本", "中文")}
    assert len(names) == 2


def test_visitors_that_come_at_once_do_not_forget_each_other(tmp_path: Path) -> None:
    """Else a third one of the same name would be let in to the first one's workspace."""
    machine = Machine(tmp_path)
    flags = {"dir": str(tmp_path / "store")}
    machine.load(machine.repository("acme"), flags).make_dir()
    roots = [machine.repository(f"a/day{n}") for n in range(40)]
    with ThreadPoolExecutor(20) as pool:
        loaded = list(pool.map(lambda root: machine.load(root, flags).workspace, roots))
    assert loaded == [root.name for root in roots]
    for n in range(40):
        with pytest.raises(Exception, match="has the same name"):
            machine.load(machine.repository(f"b/day{n}"), flags)


# ---- what an import brings, and what earlier versions left


def test_an_imported_workspace_is_bound_to_nothing(lh: Lh) -> None:
    """Whatever its name is: an import into the project's own workspace, too."""
    lh("vcs.notes.commit", content="x")
    archive = exported(lh.house)
    imported(lh.house, archive, name="copy", disarm=True)
    listed = {row["workspace"]: row for row in lh("workspace.list")["workspaces"]}
    assert "projects" not in listed["copy"]
    assert listed["acme"]["projects"]
    ours: dict[str, Any] = {"runner_id": "r1", "projects": [own_id(lh)], "workspace": "copy"}
    lh("vcs.notes.commit", content="a use", workspace="copy")
    assert lh.refused("jobs.claim", **ours)["code"] == "PROJECT_NOT_BOUND"
    lh("workspace.bind", workspace="copy")
    lh("jobs.claim", **ours)


def test_the_own_workspace_that_came_by_import_waits_for_a_person(
    lh: Lh, settings: Settings, clock: ManualClock, tmp_path: Path
) -> None:
    lh("vcs.notes.commit", content="x", workspace="elsewhere")
    imported(lh.house, exported(lh.house, "elsewhere"), name="acme", disarm=True)
    lh("vcs.notes.commit", content="a use")
    refused = lh.refused("think.context.pack.export", out_file=PACK)
    assert refused["code"] == "PROJECT_NOT_BOUND"


def test_an_older_store_is_bound_to_the_project_that_it_remembers(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    write(lh, "DELETE FROM workspace_projects WHERE ws = :ws")
    write(lh, "UPDATE workspaces SET binding = 'open', project_guard = 'repo:0123456789abcdef'")
    lh.house.dispatcher._settled.clear()
    lh("vcs.notes.commit", content="y")
    (row,) = lh("workspace.list")["workspaces"]
    assert "projects" not in row
    assert lh.refused("think.context.pack.export", out_file=PACK)["code"] == "PROJECT_NOT_BOUND"
    write(lh, "UPDATE workspaces SET project_guard = NULL")
    lh("vcs.notes.commit", content="z")
    (row,) = lh("workspace.list")["workspaces"]
    assert [one["bound_by"] for one in row["projects"]] == ["first use"]


# ---- folders that pretend


def test_an_id_written_into_a_git_directory_makes_no_other_project(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    acme, beta = machine.repository("acme"), machine.repository("beta")
    made = machine.make(acme).place.project
    assert made is not None
    assert project_ids(acme, None, machine.index) == {made.id}
    assert project_ids(acme / "src", None, machine.index) == {made.id}
    id_file(beta / ".git").write_text(made.id)
    id_file(beta / ".git").chmod(0o600)
    assert project_ids(beta, None, machine.index) == set()
    (beta / "link").symlink_to(acme)
    assert project_ids(beta / "link", None, machine.index) == {made.id}
    assert project_ids(beta / "link" / "..", None, machine.index) == set()
    tree = machine.worktree(acme, "tree")
    assert project_ids(tree, None, machine.index) == {made.id}
    (beta / "forged").mkdir()
    (beta / "forged" / ".git").write_text(f"gitdir: {acme / '.git'}\n")
    assert project_ids(beta / "forged", None, machine.index) == set()


def test_a_process_runs_in_no_worktree_of_another_repository(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    acme, beta = machine.repository("acme"), machine.repository("beta")
    machine.worktree(acme, "beta/tree")
    (beta / "forged").mkdir()
    (beta / "forged" / ".git").write_text(f"gitdir: {acme / '.git'}\n")
    (beta / "forged" / "src").mkdir()
    for name in ("tree", "forged", "forged/src"):
        assert is_other_repository(beta, beta / name)
        with pytest.raises(NotStarted, match="another repository"):
            request_for(work(name), beta)
        with pytest.raises(HostRefused, match="another repository"):
            open_folder(str(beta), name)  # it may have been moved there since it was checked
    (beta / "vendor" / ".git").mkdir(parents=True)
    inside = beta / ".git" / "modules" / "part"
    inside.mkdir(parents=True)
    (inside / "config").write_text(f"[core]\n\tworktree = {beta / 'part'}\n")
    (beta / "part").mkdir()
    (beta / "part" / ".git").write_text(f"gitdir: {inside}\n")
    (beta / "src").mkdir()
    for name in (".", "src", "vendor", "part"):
        assert request_for(work(name), beta)["cwd"] == name
        os.close(open_folder(str(beta), name))


def work(cwd: str) -> dict[str, Any]:
    kept = ("timeout_ms", "idle_timeout_ms", "grace_ms", "max_processes", "rows", "cols")
    return {
        "task_id": "PROC-001",
        "tool": "exec",
        "args": {"argv": ["true"]},
        "env": [],
        "cwd": cwd,
        "execution_mode": "pipes",
        "artifact_max_bytes": 1,
        **dict.fromkeys(kept),
    }


def test_the_own_project_is_not_locked_out_by_a_bind_before_its_first_use(lh: Lh) -> None:
    lh("workspace.bind", workspace="acme", project="0a" * 16)
    lh("vcs.notes.commit", content="ours")
    (row,) = lh("workspace.list", name="acme")["workspaces"]
    assert {one["project"] for one in row["projects"]} == {"0a" * 16, own_id(lh)}


def test_a_project_that_is_not_there_binds_nothing(
    settings: Settings, clock: ManualClock, tmp_path: Path
) -> None:
    """A copy of a store, opened elsewhere: its work waits until a person says where to do it."""
    with House(settings, clock=clock, ids=CountedIds()) as house:
        assert house.facts.own is not None
        house.facts.own = house.facts.own._replace(ids=frozenset())
        lh = Lh(house, clock)
        lh("vcs.notes.commit", content="x")
        (row,) = lh("workspace.list")["workspaces"]
        assert "projects" not in row
        claim = {"runner_id": "r1", "projects": [OTHER]}
        assert lh.refused("jobs.claim", **claim)["code"] == "PROJECT_NOT_BOUND"


def test_one_project_leaves_and_the_others_stay(lh: Lh) -> None:
    lh("vcs.notes.commit", content="ours")
    lh("workspace.bind", workspace="acme", project=OTHER)
    left = lh("workspace.unbind", workspace="acme", project=OTHER)["projects"]
    assert [one["project"] for one in left] == [own_id(lh)]
    (row,) = lh("workspace.list")["workspaces"]
    assert [one["project"] for one in row["projects"]] == [own_id(lh)]
    assert lh("jobs.claim", runner_id="r1", projects=[own_id(lh)])["job"] is None
    assert lh.refused("jobs.claim", runner_id="r1", projects=[OTHER])["code"] == "PROJECT_NOT_BOUND"
