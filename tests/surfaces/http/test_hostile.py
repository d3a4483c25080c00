"""Hostile bytes and values over real HTTP: a typed answer each time, and nothing half-written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longhouse.house import registry
from tests.surfaces.serving import Served

COMMANDS = sorted(registry().commands)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
STARTS = "jobs.runner.start"
"""What it starts writes by itself, later on: in a workspace where nobody counts."""

FIELDS = sorted({field for command in registry() for field in command.fields()})
tries = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def answered(served: Served, cmd: str, body: bytes) -> dict[str, Any]:
    workspace = "started" if cmd == STARTS else "hostile"
    answer = served.http.post(f"/call/{cmd}?workspace={workspace}", content=body)
    assert answer.status_code < 500, answer.text
    if answer.headers["content-type"].startswith("text/plain"):
        return {"success": answer.status_code == 200}
    envelope: dict[str, Any] = answer.json()
    assert envelope["success"] == (answer.status_code == 200)
    if not envelope["success"]:
        assert envelope["error"]["code"] != "INTERNAL_ERROR"
        assert envelope["error"]["message"]
    return envelope


@tries
@given(cmd=st.sampled_from(COMMANDS), body=st.binary(max_size=60))
def test_any_bytes_get_a_typed_answer(served: Served, cmd: str, body: bytes) -> None:
    answered(served, cmd, body)


@tries
@given(
    cmd=st.sampled_from([cmd for cmd in COMMANDS if not cmd.startswith("system.token")]),
    args=st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), JSON, max_size=4),
)
def test_any_values_get_a_typed_answer_and_a_refusal_writes_nothing(
    served: Served, cmd: str, args: dict[str, Any]
) -> None:
    import json

    before = served("status", workspace="hostile")["seq"]
    envelope = answered(served, cmd, json.dumps(args).encode())
    after = served("status", workspace="hostile")["seq"]
    if not envelope["success"]:
        assert after == before


@tries
@given(path=st.text(max_size=20))
@example(path="0/")
def test_any_path_gets_the_one_error_shape(served: Served, path: str) -> None:
    from urllib.parse import quote

    answer = served.http.post(f"/call/{quote(path, safe='')}", content=b"{}")
    assert answer.status_code in (200, 400, 404, 405)
    assert "success" in answer.json()


@pytest.mark.parametrize("size", [2**53, 2**63, 2**64, 10**400])
def test_a_huge_number_is_refused_or_lowered_and_not_an_accident(served: Served, size: int) -> None:
    envelope = answered(served, "docs.show", b'{"doc_kind": "notes", "limit": %d}' % size)
    lowered = [warning["code"] for warning in envelope["warnings"]] == ["BUDGET_MAX_CLAMPED"]
    assert lowered or envelope["error"]["code"] == "INVALID_INPUT"
    envelope = answered(served, "docs.show", b'{"doc_kind": "notes", "as_of": %d}' % size)
    assert envelope["success"] or envelope["error"]["code"] == "INVALID_INPUT"
