"""The attacker is an MCP client, a repository's entry for one, or an agent in a slice: it wants to
be more than the agent that it is, or to go on after it was told to stop."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.config import load
from longhouse.kernel.errors import Forbidden
from longhouse.surfaces.bridge.requests import ServedClient
from longhouse.surfaces.bridge.seek import Seeker
from longhouse.surfaces.cli.setup import leftover
from longhouse.surfaces.client_tokens import ClientTokens
from longhouse.surfaces.http.access import Tokens
from tests.kit import Lh
from tests.security.kit import Outsider
from tests.surfaces.bridge.conftest import bridge, store
from tests.surfaces.bridge.kit import HELLO, Bridge, longhouse, set_up

__all__ = ["bridge", "store"]

Start = Callable[..., Bridge]
EITHER = pytest.mark.parametrize("how", [(), ("--embedded",)], ids=["bridge", "embedded"])


def _hello(client: Bridge) -> Bridge:
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    return client


def _tokens(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = longhouse(store, "token", "list")["data"]["tokens"]
    return found


def _kept(store: Path, client: str = "other") -> Path:
    return ClientTokens(load({"dir": str(store)}), client).path


def _lead(client: Bridge) -> dict[str, Any]:
    """What comes of a command that leads."""
    made, _ = client.call("jobs", op="call", cmd="jobs.create", args={"title": "a", "prompt": "b"})
    job = made["result"]["job"]["id"]
    answer, _ = client.call("jobs", op="call", cmd="jobs.update", args={"job": job, "title": "c"})
    return answer


@EITHER
def test_a_client_has_a_token_of_its_own_that_only_the_person_can_read(
    bridge: Start, store: Path, how: tuple[str, ...]
) -> None:
    kept = _kept(store)
    for _ in range(2):  # two processes of one client, the second of which would mend the mode
        client = _hello(bridge(*how))
        assert client.call("status")[0]["success"]
        client.close()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    (listed,) = _tokens(store)
    assert (listed["role"], listed["client"]) == ("agent", "other")
    assert json.loads(kept.read_text())["id"] == listed["id"]
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    secret = json.loads(kept.read_text())["token"].encode()
    inside = [file for file in store.parent.rglob("*") if file.is_file()]
    assert inside
    assert not [file for file in inside if secret in file.read_bytes()]


@EITHER
@pytest.mark.parametrize("role", ["manager", "operator"])
def test_an_entry_in_a_repository_makes_nobody_more_than_an_agent(
    bridge: Start, how: tuple[str, ...], role: str
) -> None:
    client = _hello(bridge(*how, "--role", role, "--client", "codex"))
    assert _lead(client)["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("asked", [None, "agent", "manager", "operator", "viewer"])
def test_an_entry_lends_nobody_the_role_of_the_persons_own_token(
    monkeypatch: pytest.MonkeyPatch, asked: str | None
) -> None:
    """The person's token is a manager's, which may not create one for the client."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise Forbidden("system.token.create requires the operator role")

    monkeypatch.setattr(ClientTokens, "__init__", lambda *_: None)
    monkeypatch.setattr(ClientTokens, "obtain", refuse)
    cli: Any = SimpleNamespace(settings=None)
    seeker = Seeker(cli, "session", ServedClient("other", asked, None))
    wire: Any = None
    headers = seeker._credential(wire, refused=False)
    assert headers == {"Longhouse-Role": "viewer" if asked == "viewer" else "agent"}


def test_a_client_may_be_held_to_less_than_its_token(bridge: Start, store: Path) -> None:
    set_up(store, "codex", "--role", "manager")
    assert _lead(bridge("--client", "codex"))["success"]
    assert _lead(bridge("--client", "codex", "--role", "agent"))["error"]["code"] == "FORBIDDEN"


def test_a_revoked_client_ends_alone_and_comes_back_only_by_the_persons_word(
    bridge: Start, store: Path
) -> None:
    theirs, ours = bridge("--client", "codex"), bridge("--client", "claude-code")
    assert theirs.call("status")[0]["success"]
    assert ours.call("status")[0]["success"]
    (token,) = [one["id"] for one in _tokens(store) if one["client"] == "codex"]
    wait = {"op": "call", "cmd": "jobs.wait", "args": {"runner_id": "r1", "timeout_ms": 25_000}}
    waits = theirs.send("tools/call", name="jobs", arguments=wait)
    longhouse(store, "token", "revoke", token)
    ended = theirs.read()
    assert ended["id"] == waits
    assert "was revoked" in json.dumps(ended)
    for client in (theirs, bridge("--client", "codex")):  # nor does a new process get another
        refused, is_error = client.call("status")
        assert is_error
        assert refused["error"]["code"] == "UNAUTHENTICATED"
        assert "longhouse init --client codex" in refused["error"]["recovery"]
    assert ours.call("status")[0]["success"]
    assert len(_tokens(store)) == 2
    set_up(store, "codex")
    assert theirs.call("status")[0]["success"]


def test_an_embedded_client_ends_with_its_token(bridge: Start, store: Path) -> None:
    client = _hello(bridge("--embedded"))
    assert client.call("status")[0]["success"]
    longhouse(store, "token", "revoke", _tokens(store)[0]["id"])
    assert client.process.wait(20) != 0
    assert bridge("--embedded").process.wait(20) != 0
    assert len(_tokens(store)) == 1


def test_another_role_ends_the_token_of_the_role_before(store: Path) -> None:
    set_up(store, "codex", "--role", "manager")
    before = _kept(store, "codex").read_bytes()
    set_up(store, "codex", "--role", "manager")
    assert _kept(store, "codex").read_bytes() == before
    set_up(store, "codex")
    known = {one["role"]: bool(one.get("revoked_at_ms")) for one in _tokens(store)}
    assert known == {"manager": True, "agent": False}
    longhouse(store, "init", "--client", "codex", "--scope", "user", "--remove")
    assert all(one.get("revoked_at_ms") for one in _tokens(store))
    assert not _kept(store, "codex").exists()


def test_a_token_whose_entry_was_removed_by_hand_is_named_until_it_is_revoked(store: Path) -> None:
    def told() -> list[str]:
        checks = longhouse(store, "doctor")["data"]["checks"]
        return [one["fix"] for one in checks if one["name"] == "tokens"]

    set_up(store, "codex")
    assert told() == []
    (entry,) = (store.parent / ".codex").glob("config.toml")
    entry.write_text(
        '# longhouse was here\n[projects."/home/me/longhouse"]\ntrust_level = "trusted"'
    )
    (token,) = (one["id"] for one in _tokens(store))
    assert told() == [f"longhouse token revoke {token}"]
    listed = longhouse(store, "token", "list", text=True)
    assert f"longhouse token revoke {token}" in listed
    longhouse(store, "token", "revoke", token)
    assert told() == []


CODEX, CLAUDE = "config.toml", ".claude.json"
OTHERS = '{"mcpServers": {"docs": {"command": "docs", "args": ["/src/longhouse-site"]}}}'


@pytest.mark.parametrize(
    "file, text, holds",
    [
        (CODEX, '[mcp_servers.longhouse]\ncommand = "longhouse"', True),
        (CODEX, '[mcp_servers.house]\ncommand = "/opt/longhouse"\nargs = ["mcp"]', True),
        (CODEX, '[mcp_servers.h]\ncommand = "uvx"\nargs = ["longhouse@1.2", "mcp"]', True),
        (CODEX, '[mcp_servers.docs]\ncommand = "longhouse-docs"', False),
        (CODEX, '# [mcp_servers.longhouse]\nmodel = "longhouse"', False),
        (CODEX, '[mcp_servers.longhouse]\ncommand = "cut', True),  # cannot be read: not reported
        (CLAUDE, '{"projects": {"/a": {"mcpServers": {"longhouse": {}}}}}', True),
        (CLAUDE, '{"projects": {"/home/me/longhouse": {"mcpServers": {}}}}', False),
        (CLAUDE, OTHERS, False),
        (CLAUDE, "[]", False),
    ],
)
def test_only_a_server_that_is_ours_keeps_a_token_from_being_named(
    tmp_path: Path, file: str, text: str, holds: bool
) -> None:
    (tmp_path / file).write_text(text)
    assert leftover._holds_entry(tmp_path / file) is holds


def test_a_token_is_named_however_many_newer_ones_the_store_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is asked for by its id, so that no page of other tokens hides it."""
    rows = {"TOK-1": {"id": "TOK-1", "client": "codex"}, "TOK-2": {"id": "TOK-2"}}
    rows["TOK-2"]["revoked_at_ms"] = "1"

    def kept(self: ClientTokens) -> Any:
        return SimpleNamespace(id="TOK-1" if self._client == "codex" else "TOK-2")

    def ask(cmd: str, *, id: str) -> Any:
        assert cmd == "system.token.list"
        return {"tokens": [rows[id]]}

    monkeypatch.setattr(ClientTokens, "kept", kept)
    monkeypatch.setattr(leftover, "_starts_us", lambda _client: False)
    assert [row["id"] for row in leftover.leftover(load({}), ask)] == ["TOK-1"]


def test_a_file_that_an_entry_names_lends_nobody_the_token_in_it(
    bridge: Start, store: Path, tmp_path: Path
) -> None:
    """The entry of a repository names the file with the person's own token, or a copy of it."""
    assert bridge().call("status")[0]["success"]
    copied = tmp_path / "copied"
    copied.write_bytes((store / "token").read_bytes())
    copied.chmod(0o600)
    for file in (store / "token", copied):
        for role in ((), ("--role", "operator")):
            client = bridge("--agent-token-file", str(file), *role)
            assert _lead(client)["error"]["code"] == "FORBIDDEN"
    viewer = bridge("--agent-token-file", str(copied), "--role", "viewer")
    refused, _ = viewer.call("vcs", op="call", cmd="vcs.notes.commit", args={"content": "x"})
    assert refused["error"]["code"] == "FORBIDDEN"


def test_but_the_agent_of_a_job_works_on_it_with_the_token_in_its_file(
    bridge: Start, store: Path, tmp_path: Path
) -> None:
    """In each of its processes it is the agent that the claim names."""
    assert bridge().call("status")[0]["success"]  # there is a server
    longhouse(store, "call", "jobs.create", '{"title": "Job", "prompt": "Do it"}')
    claim = json.dumps({"runner_id": "r1", "agent_digest": DIGEST})
    held = longhouse(store, "call", "jobs.claim", claim)["result"]["job"]
    known = {"job": held["id"], "runner_id": "r1", "claim_revision": held["revision"]}
    file = tmp_path / "agent"
    file.write_text(TOKEN)
    file.chmod(0o600)
    for message in ("half done", "nearly done"):
        agent = bridge("--agent-token-file", str(file))
        args = {**known, "message": message, "agent_id": held["id"]}
        assert agent.call("jobs", op="call", cmd="jobs.report", args=args)[0]["success"]


def test_a_link_in_the_place_of_a_kept_token_is_not_followed(bridge: Start, store: Path) -> None:
    kept = _kept(store)
    kept.parent.mkdir(parents=True, mode=0o700)
    elsewhere = store.parent / "stolen.json"
    elsewhere.write_text('{"id": "TOK-x", "token": "lh_x"}')
    kept.symlink_to(elsewhere)
    refused, is_error = bridge().call("status")
    assert is_error
    assert str(kept) in refused["error"]["message"]


# ------------------------------------------------------------------------------ slices

TOKEN = "lh_" + "5" * 64
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()


async def _who(lh: Lh, token: str = TOKEN) -> Any:
    try:
        return await Tokens(lh.house).identify(f"Bearer {token}")
    except Exception as error:
        return type(error).__name__


@pytest.fixture
def claim(lh: Lh) -> dict[str, Any]:
    """A runner under a token of its own, and its claim that names the agent's."""
    made = lh("system.token.create", role="manager", name="ci")
    runner = Outsider(lh, made["id"])
    lh("jobs.create", title="Job", prompt="Do it")
    held = runner("jobs.claim", runner_id="r1", agent_digest=DIGEST)["job"]
    known = {"job": held["id"], "runner_id": "r1", "claim_revision": held["revision"]}
    return {"runner": runner, "token_id": made["id"], "known": known}


async def test_an_agents_token_is_an_agents_in_its_jobs_workspace(
    lh: Lh, claim: dict[str, Any]
) -> None:
    found = await _who(lh)
    assert (found.role.name, found.workspaces, found.name) == ("AGENT", ("acme",), None)
    said = {"longhouse-role": "operator", "longhouse-agent-id": "ci", "longhouse-session": "one"}
    asked = found.caller(said)
    assert (asked.role.name, asked.owner, asked.name) == ("AGENT", DIGEST, None)
    agent = Outsider(lh, found.owner, found.role, workspaces=found.workspaces)
    assert agent("jobs.report", **claim["known"], message="half done")
    end = {"status": "DONE", "summary": "forged"}
    assert agent.refused("jobs.complete", **claim["known"], **end)["code"] == "CONFLICT"
    assert agent.refused("jobs.cancel", job=claim["known"]["job"])["code"] == "FORBIDDEN"
    assert agent.refused("status", workspace="other")["code"] == "WORKSPACE_NOT_ALLOWED"


@pytest.mark.parametrize("how", ["done", "released", "canceled", "lapsed", "taken", "revoked"])
async def test_an_agents_token_ends_with_the_claim(lh: Lh, claim: dict[str, Any], how: str) -> None:
    found = await _who(lh)
    tokens = Tokens(lh.house)
    assert await tokens.ended({found}) == set()
    runner, known = claim["runner"], claim["known"]
    if how == "done":
        runner("jobs.complete", **known, status="FAILED", summary="It did not work.")
    elif how == "released":
        runner("jobs.release", **known, reason="Stopping.")
    elif how == "canceled":
        lh("jobs.cancel", job=known["job"], reason="Enough.")
    elif how == "revoked":
        lh("system.token.revoke", id=claim["token_id"])
    else:
        lh.clock.advance(400_000)
    if how == "taken":
        Outsider(lh, "operator")(
            "jobs.claim", job=known["job"], runner_id="r2", allow_stale=True, agent_digest="7" * 64
        )
    assert await tokens.ended({found}) == {found}
    assert await _who(lh) == "Unauthenticated"


async def test_an_agent_cannot_make_itself_a_token_that_outlives_its_claim(
    lh: Lh, claim: dict[str, Any]
) -> None:
    lh("jobs.create", title="Another", prompt="Do it")
    agent, other = Outsider(lh, DIGEST), "lh_" + "9" * 64
    digest = hashlib.sha256(other.encode()).hexdigest()
    assert agent("jobs.claim", runner_id="mine", agent_digest=digest)["job"]
    assert await _who(lh, other) == "Unauthenticated"


async def test_two_claims_of_one_digest_are_nobodys(lh: Lh, claim: dict[str, Any]) -> None:
    lh("jobs.create", title="Another", prompt="Do it")
    claim["runner"]("jobs.claim", runner_id="r1", agent_digest=DIGEST)
    assert await _who(lh) == "Unauthenticated"
