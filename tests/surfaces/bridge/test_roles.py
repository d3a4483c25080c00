"""What a client over stdio may do: it is a separate caller with the role agent by default."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.surfaces.client_tokens import ClientTokens
from tests.surfaces.bridge.kit import HELLO, Bridge, longhouse, set_up


def _jobs(client: Bridge, name: str, **args: Any) -> dict[str, Any]:
    envelope, _ = client.call("jobs", op="call", cmd=f"jobs.{name}", args=args)
    return envelope


@pytest.mark.parametrize("how", [(), ("--embedded",)])
def test_a_client_works_and_does_not_lead(
    bridge: Callable[..., Bridge], store: Path, how: tuple[str, ...]
) -> None:
    made = longhouse(store, "call", "jobs.create", "title=Theirs", "prompt=Do it")
    theirs = made["result"]["job"]["id"]
    longhouse(store, "down", text=True)
    client = bridge(*how)
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    refused = _jobs(client, "cancel", job=theirs)["error"]
    assert refused["code"] == "FORBIDDEN"
    assert f"{theirs} was created by another caller" in refused["message"]
    own = _jobs(client, "create", title="Job", prompt="Do it")["result"]["job"]["id"]
    requeued = _jobs(client, "requeue", job=own)["error"]
    assert requeued["code"] == "FORBIDDEN"
    assert "longhouse init --role manager" in requeued["recovery"]
    assert _jobs(client, "cancel", job=own)["success"], "it created this one"
    token, _ = client.call(
        "system", op="call", cmd="system.token.create", args={"role": "operator"}
    )
    assert token["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("how", [(), ("--embedded",)])
def test_a_client_that_may_lead_does(
    bridge: Callable[..., Bridge], store: Path, how: tuple[str, ...]
) -> None:
    set_up(store, "other", "--role", "manager")
    client = bridge(*how)
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    job = _jobs(client, "create", title="Job", prompt="Do it")["result"]["job"]["id"]
    assert _jobs(client, "cancel", job=job)["success"]


def test_two_clients_are_two_callers(bridge: Callable[..., Bridge]) -> None:
    one, other = bridge(), bridge()
    job = _jobs(one, "create", title="Job", prompt="Do it")["result"]["job"]["id"]
    claim = _jobs(one, "claim", runner_id="by-hand")["result"]["job"]
    known = {"job": job, "runner_id": "by-hand", "claim_revision": claim["revision"]}
    stolen = _jobs(other, "complete", **known, status="DONE", summary="forged")["error"]
    assert "on another connection of this client" in stolen["message"]
    assert _jobs(one, "report", **known, message="mine")["success"]


def test_a_viewers_token_is_told_only_of_reads_whatever_the_entry_says(
    bridge: Callable[..., Bridge], store: Path
) -> None:
    """Also if the file with the token is of a version that did not keep the role."""
    agent = bridge().ask("tools/list")["result"]["tools"]
    set_up(store, "other", "--role", "viewer")
    viewer = bridge().ask("tools/list")["result"]["tools"]
    assert "macro.start" in str(agent)
    assert "macro.start" not in str(viewer)
    kept = ClientTokens(load({"dir": str(store), "workspace": "acme"}), "other").path
    told = json.loads(kept.read_bytes())
    assert told.pop("role") == "viewer"
    kept.write_text(json.dumps(told))
    assert bridge().ask("tools/list")["result"]["tools"] == viewer
