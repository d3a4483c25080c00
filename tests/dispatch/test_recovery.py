"""The actions offered after a refusal, and to whom; what a surface learns about waiting calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.dispatch.events import sse
from longhouse.dispatch.offers import offered
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.registry import Role
from longhouse.kernel.values import Request
from longhouse.memory.types.documents import CommitNote, ShowDocument
from tests.kit import Lh


class Unheard(Request[Any], frozen=True):
    """The request of a command that this house does not have."""


def test_a_misspelled_argument_comes_back_as_the_call_that_was_meant(lh: Lh) -> None:
    envelope = lh.envelope("vcs.notes.commit", contnt="kept")
    (again,) = [a for a in envelope["actions"] if a["action_id"].startswith("recover.argument")]
    assert again["action_id"] == "recover.argument::vcs.notes.commit"
    assert lh.portal(again["tool"], **again["args"]).success
    assert lh("docs.show", doc_kind="notes")["entries"][-1]["content"] == "kept"


def test_more_rows_than_may_be_had_are_lowered_and_the_answer_says_so(lh: Lh) -> None:
    lh("vcs.notes.commit", content="a note")
    lh("tasks.macro.start", task_title="Cache")
    for cmd, given, used in (
        (
            "docs.show",
            {"limit": 100_000},
            "limit: 100000 is over the cap of budget_profile=default; 200",
        ),
        (
            "docs.show",
            {"limit": 100_000, "budget_profile": "audit"},
            "limit: 100000 is over the cap",
        ),
        ("open", {"id": "TASK-001", "limit": 60}, "limit: 60 is more than 50; 50 was used"),
        (
            "docs.export",
            {"target": "TASK-001", "notes_limit": 10**6},
            "notes_limit: 1000000 is more than 500; 500 was",
        ),
    ):
        envelope = lh.envelope(cmd, **given)
        assert envelope["success"], envelope["error"]
        (told,) = [w for w in envelope["warnings"] if w["code"] == "BUDGET_MAX_CLAMPED"]
        assert told["message"].startswith(used)
        assert told["recovery"]
    assert lh.refused("docs.show", limit=0)["code"] == "INVALID_INPUT"


def test_offered_calls_go_where_their_caller_may(lh: Lh) -> None:
    lh("vcs.notes.commit", content="theirs", workspace="other")
    guest = Caller(Role.MANAGER, workspaces=("other",))
    refused = lh.house.call("docs.show", {"lmit": 10}, guest)
    (again,) = refused.envelope["actions"]
    assert again["args"]["workspace"] == "other"


def test_only_calls_that_exist_and_that_the_caller_may_make_are_offered(lh: Lh) -> None:
    read, write = Suggestion(ShowDocument(), "look"), Suggestion(CommitNote(content="x"), "write")
    unheard = Suggestion(Unheard(), "no such command")
    last = Suggestion(ShowDocument(), "at least", fallback=True)
    every = [read, write, unheard, last]
    registry = lh.house.registry
    assert offered(registry, None, every) == [read, write]
    assert offered(registry, Caller(Role.OPERATOR), every) == [read, write]
    assert offered(registry, Caller(Role.VIEWER), every) == [read]
    assert offered(registry, Caller(Role.VIEWER), [write, last]) == [last]


@pytest.mark.anyio
async def test_a_surface_counts_the_calls_that_wait_and_no_others(lh: Lh) -> None:
    counts: list[str] = []

    @contextmanager
    def counted() -> Iterator[None]:
        counts.append("in")
        yield
        counts.append("out")

    async def wait(timeout_ms: int, caller: Caller) -> bool:
        args = {"job": "JOB-001", "after_seq": seq, "timeout_ms": timeout_ms}
        return (await lh.house.dispatcher.call_async("jobs.wait", args, caller)).success

    lh("jobs.create", title="Look", prompt="Look.")
    seq = lh("status")["seq"]
    assert await wait(0, Caller(Role.OPERATOR, waits=counted()))
    assert counts == []
    assert await wait(10, Caller(Role.OPERATOR, waits=counted()))
    assert counts == ["in", "out"]
    assert await wait(10, Caller(Role.OPERATOR))


@pytest.mark.parametrize("name, sent", [("jobs", b"jobs"), ("a\nb", b"log"), ("", b"log")])
def test_a_stream_that_the_format_cannot_name_is_sent_as_log(name: str, sent: bytes) -> None:
    assert sse(name, 7, b"{}") == b"id: 7\nevent: " + sent + b"\ndata: {}\n\n"
