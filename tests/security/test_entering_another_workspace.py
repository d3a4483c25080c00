"""The attacker's token is for one workspace, and it wants to see or write another."""

from __future__ import annotations

from typing import Any

from longhouse.dispatch import ClientSession
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.processes.kit import RECORDED
from tests.security.kit import Outsider
from tests.surfaces.serving import Served, served

__all__ = ["served"]

PARTS = ("events", "output", "output/raw", "wait", "snapshot", "recording")
ACTS: dict[str, dict[str, Any]] = {
    "": {"tool": "bash", "args": {"command": "make"}},
    "/PROC-001/cancel": {},
    "/PROC-001/stdin": {"eof": True},
    "/PROC-001/resize": {"rows": 9, "cols": 9},
    "/PROC-001/signal": {"signal": "INT"},
}


def test_a_limited_token_neither_reads_nor_writes_elsewhere(lh: Lh) -> None:
    lh("vcs.notes.commit", content="ours", workspace="acme")
    lh("vcs.notes.commit", content="theirs", workspace="other")
    guest = Outsider(
        lh, "TOK-a", Role.MANAGER, workspaces=("other",), session=ClientSession(key="TOK-a/1")
    )
    for cmd, args in (
        ("docs.show", {}),
        ("vcs.notes.commit", {"content": "x"}),
        ("workspace.use", {}),
        ("system.cmd.list", {}),  # which needs no workspace
    ):
        error = guest.refused(cmd, **args, workspace="acme")
        assert error["code"] == "WORKSPACE_NOT_ALLOWED"
        assert "use one of: other" in error["recovery"]
    assert [row["workspace"] for row in guest("workspace.list")["workspaces"]] == ["other"]
    # Without a word about it, it is where it may be, not where everybody else is.
    assert guest.envelope("vcs.notes.commit", content="x")["context"]["workspace"] == "other"


def test_the_limit_holds_on_every_path_of_the_server(served: Served) -> None:
    served("vcs.notes.commit", content="x", workspace="secret")
    served("vcs.notes.commit", content="x", workspace="open")
    made = served("system.token.create", role="manager", workspaces=["open"], expires_hours=1)
    assert made["workspaces"] == ["open"]
    with served.client(made["token"]) as http:
        assert http.post("/call/status?workspace=secret").status_code == 403
        assert http.get("/events?workspace=secret").status_code == 403
        assert http.get("/events?workspace=secret&until=1&newest=created").status_code == 403
        assert http.get("/api/sessions?workspace=secret").status_code == 403
        assert "secret" not in http.get("/metrics").text
        assert "secret" not in http.post("/call/workspace.list").text
        for path in ("", "/PROC-001", *(f"/PROC-001/{part}" for part in PARTS)):
            assert http.get(f"/tasks{path}?workspace=secret").status_code == 403, path
        refused = http.post("/recordings?workspace=secret", content=RECORDED).json()
        assert refused["error"]["code"] == "WORKSPACE_NOT_ALLOWED"
        for path, body in ACTS.items():
            for address, given in (
                (f"/tasks{path}?workspace=secret", body),
                (f"/tasks{path}", {**body, "workspace": "secret"}),
            ):
                refused = http.post(address, json=given).json()
                assert refused["error"]["code"] == "WORKSPACE_NOT_ALLOWED", address
        assert http.post("/call/status?workspace=open").status_code == 200
        assert http.post("/call/status").json()["context"]["workspace"] == "open"
