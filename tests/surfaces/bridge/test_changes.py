"""A bridge reports changes in its checkout in the name of the agent that acts through it."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.client.replies import error_of
from longhouse.client.wire import Reply
from longhouse.kernel.errors import LonghouseError, Unreachable
from longhouse.surfaces.bridge import changes
from longhouse.surfaces.bridge.changes import ChangeReports
from longhouse.surfaces.bridge.requests import SentRequest, ServedClient
from tests.runner.test_worktrees import checkout, git
from tests.surfaces.bridge.kit import HELLO, PATIENCE_S, Bridge, crew, text_result, until_seen

Start = Callable[..., Bridge]
EVERY_SECOND = {"LONGHOUSE_CHANGES_EVERY_S": "1"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return checkout(tmp_path / "project", "kept.txt", "held.txt")


def registered(client: Bridge, name: str, **where: str) -> dict[str, str]:
    made = crew(client, "agents.register", name=name, **where)
    return {"agent": name, "agent_token": made["agent_token"]}


@pytest.mark.parametrize("modern", [False, True])
def test_what_changes_in_its_checkout_is_told_by_itself_and_nothing_else(
    bridge: Start, repo: Path, modern: bool
) -> None:
    (repo / "before.txt").write_text("changed before the bridge came\n")
    client = bridge(cwd=repo, modern=modern, **EVERY_SECOND)
    me = registered(client, "amber-otter")
    crew(client, "agents.reserve", **me, scope="held.txt", bead_id="x-1")

    def change(number: int) -> None:
        for name in ("held.txt", "x.log", "kept.txt", "new é.txt"):
            (repo / name).write_text(f"{number}\n")

    told = until_seen(client, {"kept.txt", "new é.txt"}, change)
    assert told == [("kept.txt", "amber-otter"), ("new é.txt", "amber-otter")]
    assert client.close() == 0


def test_two_bridges_in_one_checkout_record_a_change_once(bridge: Start, repo: Path) -> None:
    clients = [bridge(cwd=repo, **EVERY_SECOND) for _ in range(2)]
    for client, name in zip(clients, ("amber-otter", "misty-heron"), strict=True):
        registered(client, name)

    def change(number: int) -> None:
        (repo / "kept.txt").write_text(f"{number}\n")
        crew(clients[1], "agents.status")

    until_seen(clients[0], {"kept.txt"}, change)
    (repo / "last.txt").write_text("x")
    told = until_seen(clients[0], {"last.txt"}, change)
    assert [path for path, _ in told] == ["kept.txt", "last.txt"]


def test_a_checkout_that_git_cannot_read_changes_no_answer_and_is_told_once(
    bridge: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: gone\n")
    client = bridge(cwd=broken, **EVERY_SECOND)
    assert client.ask("initialize", **HELLO)["result"]
    me = registered(client, "amber-otter")
    ends = time.monotonic() + PATIENCE_S
    assert client.process.stderr
    while not select.select([client.process.stderr], [], [], 0)[0] and time.monotonic() < ends:
        assert crew(client, "agents.heartbeat", **me)["agent"]["agent_id"] == "amber-otter"
    assert crew(client, "agents.status")["outside"] == []
    assert client.close() == 0
    (line,) = client.process.stderr.read().decode().splitlines()
    assert line.startswith("longhouse: changed files are not reported: fatal: ")


def test_a_checkout_without_a_commit_is_read_like_any_other(bridge: Start, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "unborn")
    client = bridge(cwd=tmp_path / "unborn", **EVERY_SECOND)
    registered(client, "amber-otter")

    def change(number: int) -> None:
        (tmp_path / "unborn/new.txt").write_text(f"{number}\n")

    assert until_seen(client, {"new.txt"}, change) == [("new.txt", "amber-otter")]
    assert client.close() == 0
    assert client.process.stderr
    assert client.process.stderr.read() == b""


class Rig:
    """The reports of a bridge with a clock and a wire of the test's own, and threads that run."""

    def __init__(self, root: Path, every_s: int = 30, **client: Any) -> None:
        self.now = 1_000.0
        self.sent: list[dict[str, Any]] = []
        self.trouble: Exception | None = None
        self.threads = 0
        settings = SimpleNamespace(
            changes_every_s=every_s, dir=root / ".longhouse", agent_id=None, workspace="acme"
        )
        cli: Any = SimpleNamespace(settings=settings)
        served = ServedClient("other", **client)
        self.reports = ChangeReports(cli, served, clock=lambda: self.now)

    def request(self, _method: str, _path: str, *, headers: Any, body: bytes) -> Reply:
        assert headers
        if self.trouble:
            raise self.trouble
        self.sent.append(json.loads(body)["params"]["arguments"]["args"])
        answer = text_result("changed", '{"success": true, "result": {}}')
        return Reply(200, {}, json.dumps(answer).encode())

    def call(
        self, cmd: str = "status", result: Any = None, answered_in: str = "acme", **args: Any
    ) -> None:
        """Report an answered call, as the loop does."""
        params = {"name": "workspace", "arguments": {"op": "call", "cmd": cmd, "args": args}}
        asked = SentRequest(
            1,
            "tools/call",
            params,
            headers={},
            body=b"",
            modern=True,
            cmd=cmd,
            writes=False,
            key=None,
        )
        answer = {"result": result or {}, "context": {"workspace": answered_in}}
        envelope = json.dumps({"success": True, **answer})
        self.reports.answered(asked, json.dumps(text_result(1, envelope)).encode())
        self.look()

    def look(self) -> None:
        wire: Any = self
        self.reports.look(wire)


@pytest.fixture
def rig(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    made = Rig(repo)
    monkeypatch.chdir(repo)

    class Thread:
        """Runs its target at once."""

        def __init__(self, target: Any, args: Any, daemon: bool) -> None:
            assert daemon
            self.start = lambda: target(*args)
            made.threads += 1

    monkeypatch.setattr("threading.Thread", Thread)
    return made


OTTER = {"agent": "amber-otter", "agent_token": "lha_1"}


def paths(rig: Rig) -> list[list[str]]:
    return [one["changed"]["paths"] for one in rig.sent]


def test_it_looks_at_most_every_half_minute_and_only_when_somebody_acts(
    rig: Rig, repo: Path
) -> None:
    rig.look()
    assert rig.threads == 1
    (repo / "a.txt").write_text("a")
    rig.now += 31
    rig.call()
    assert rig.threads == 1, "nobody has said who acts"
    rig.call("agents.heartbeat", **OTTER)
    assert paths(rig) == [["./a.txt"]]
    where = {"root": str(repo), "workspace": "acme"}
    assert rig.sent[0] | {"changed": None} == OTTER | {"changed": None, **where}
    assert rig.sent[0]["changed"]["over_ms"] == 31_000
    (repo / "b.txt").write_text("b")
    rig.now += 29
    rig.call()
    assert rig.threads == 2
    rig.now += 1
    rig.call()
    rig.now += 30
    rig.call()
    assert (rig.threads, paths(rig)) == (4, [["./a.txt"], ["./b.txt"]])


def test_outside_of_git_nothing_is_looked_at(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rig.look()
    (tmp_path / "new.txt").write_text("x")
    for _ in range(2):
        rig.now += 31
        rig.call("agents.heartbeat", **OTTER)
    assert (rig.threads, rig.sent) == (1, [])
    assert capfd.readouterr().err == ""


def test_who_acts_is_who_was_given_a_token_or_showed_one_until_it_retires(
    rig: Rig, repo: Path
) -> None:
    rig.look()
    made = {"agent": {"agent_id": "misty-heron"}, "agent_token": "lha_2"}
    calls: list[tuple[str, Any, dict[str, Any]]] = [
        ("agents.register", made, {"name": "misty-heron"}),
        ("agents.inbox", {}, {"agent": "amber-otter"}),
        ("agents.adopt", "told in lines", {"agent": "amber-otter"}),
        ("agents.heartbeat", None, {"agent": 5, "agent_token": []}),
        ("agents.send", {}, OTTER),
        ("agents.retire", {}, OTTER),
    ]
    for number, (cmd, result, args) in enumerate(calls):
        rig.now += 30
        (repo / f"{number}.txt").write_text("x")
        rig.call(cmd, result, **args)
    assert [one["agent_token"] for one in rig.sent] == ["lha_2"] * 4 + ["lha_1"]


def test_who_acts_in_another_workspace_does_not_act_in_that_of_the_checkout(
    rig: Rig, repo: Path
) -> None:
    rig.look()
    heron = {"agent": "misty-heron", "agent_token": "lha_2"}
    (repo / "a.txt").write_text("a")
    rig.now += 30
    rig.call("agents.heartbeat", answered_in="other", **heron)
    assert rig.sent == []
    rig.call("agents.heartbeat", **OTTER)
    (repo / "b.txt").write_text("b")
    rig.now += 30
    rig.call("agents.retire", answered_in="other", **OTTER)
    assert [(one["agent"], one["workspace"]) for one in rig.sent] == [("amber-otter", "acme")] * 2


def test_what_could_not_be_reported_is_reported_later(
    rig: Rig, repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rig.look()
    (repo / "a.txt").write_text("a")
    rig.trouble = Unreachable("the server is gone")
    for _ in range(2):
        rig.now += 30
        rig.call("agents.heartbeat", **OTTER)
    rig.trouble = None
    rig.now += 30
    rig.call()
    assert paths(rig) == [["./a.txt"]]
    assert rig.sent[0]["changed"]["over_ms"] == 90_000
    assert capfd.readouterr().err.count("changed files are not reported") == 1


def test_whoever_acts_in_another_workspace_reports_nothing_of_this_checkout(
    bridge: Start, repo: Path
) -> None:
    """Neither in the chosen workspace nor in one that a call names."""
    client = bridge(cwd=repo, **EVERY_SECOND)
    registered(client, "amber-otter")
    other = registered(client, "misty-heron", workspace="other")
    client.call("workspace", op="use", args={"workspace": "other"})

    def change(number: int) -> None:
        (repo / "kept.txt").write_text(f"{number}\n")
        crew(client, "agents.heartbeat", **other)

    told = until_seen(client, {"kept.txt"}, change, workspace="acme")
    assert told == [("kept.txt", "amber-otter")]
    assert crew(client, "agents.status")["outside"] == []


@pytest.mark.parametrize(
    "code, again",
    [("AGENT_TOKEN_REQUIRED", False), ("AGENT_NOT_FOUND", False), ("STORE_ERROR", True)],
)
def test_an_identity_is_forgotten_only_when_the_server_does_not_take_it_for_the_clients(
    rig: Rig, repo: Path, code: str, again: bool
) -> None:
    rig.look()
    (repo / "a.txt").write_text("a")
    rig.trouble = error_of({"code": code})
    rig.now += 30
    rig.call("agents.heartbeat", **OTTER)
    rig.trouble = None
    rig.now += 30
    rig.call()
    assert paths(rig) == [["./a.txt"]] * again


def test_who_shows_a_token_while_another_is_refused_is_not_forgotten(rig: Rig, repo: Path) -> None:
    rig.look()
    (repo / "a.txt").write_text("a")
    heron = {"agent": "misty-heron", "agent_token": "lha_2"}

    class Meanwhile(LonghouseError):
        """The other agent acts while the refusal is in flight."""

        @property
        def code(self) -> str:  # type: ignore[override]
            rig.call("agents.heartbeat", **heron)
            return "AGENT_TOKEN_REQUIRED"

    rig.trouble = Meanwhile()
    rig.now += 30
    rig.call("agents.heartbeat", **OTTER)
    rig.trouble = None
    rig.now += 30
    rig.call()
    assert [one["agent"] for one in rig.sent] == ["misty-heron"]


def test_nothing_is_said_once_the_client_has_gone(
    rig: Rig, repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rig.look()
    (repo / "a.txt").write_text("a")
    rig.reports.end()
    rig.trouble = Unreachable("the process ends")
    rig.now += 30
    rig.call("agents.heartbeat", **OTTER)
    assert rig.threads == 2
    assert capfd.readouterr().err == ""


def test_a_look_that_takes_long_is_followed_by_a_long_pause(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = ChangeReports._report

    def slow(self: ChangeReports, *args: Any) -> None:
        look(self, *args)
        rig.now += 5

    monkeypatch.setattr(changes.ChangeReports, "_report", slow)
    rig.look()
    rig.now += 49
    rig.call("agents.heartbeat", **OTTER)
    assert rig.threads == 1
    rig.now += 1
    rig.call()
    assert rig.threads == 2


@pytest.mark.parametrize("off", [{"every_s": 0}, {"agent_token": "lh_of_a_job"}])
def test_it_can_be_turned_off_and_leaves_the_agent_of_a_job_to_its_runner(
    repo: Path, monkeypatch: pytest.MonkeyPatch, off: dict[str, Any]
) -> None:
    monkeypatch.setattr("threading.Thread", None)
    silent = Rig(repo, **off)
    silent.look()
    silent.call("agents.heartbeat", **OTTER)
    assert silent.sent == []
