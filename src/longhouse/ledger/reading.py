"""`jobs.subagent.list`, and `open` for `SUB-…`, its events, and `dispatch:…`."""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.lines import clip
from longhouse.ledger.room import room, sql
from longhouse.ledger.types import (
    ListSubagents,
    Subagent,
    SubagentList,
    SubagentOpened,
    number_of,
    ref_of,
)
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["list_subagents", "open_dispatch", "open_subagent"]

ENDLESS = 2**62
CHILDREN = 50


def _list_lines(result: dict[str, Any]) -> list[str]:
    more = " has_more=true" if result["has_more"] else ""
    rows = [_line(one) for one in result["subagents"]]
    if result.get("next_cursor"):
        rows.append(f"MORE: cursor={result['next_cursor']}")
    return [f"subagents count={result['count']}{more}", *rows]


def _line(one: dict[str, Any]) -> str:
    params = one["params"]
    said = clip(one.get("message") or params["instructions"], 120)
    missing = len(one.get("missing_artifacts", ()))
    tail = f" | missing={missing}" if missing else ""
    return (
        f"{one['ref']} ({one['status']}) {params['prompt_ns']}/{params['prompt_key']} "
        f"depth={one['depth']} | {said}{tail}"
    )


@room.command(
    "jobs.subagent.list",
    example=ListSubagents(status="interrupted"),
    lines=_list_lines,
    trim=[
        Clip("subagents.params.instructions", 160),
        Clip("subagents.message", 160),
        Drop("subagents.params.expected_artifacts"),
        Drop("subagents.artifacts"),
        Drop("subagents.tools"),
        Pop("subagents", leave=1, cursor="id"),
    ],
)
def list_subagents(tx: Tx, req: ListSubagents) -> SubagentList:
    """List dispatched subagents, newest first, by status, parent or session."""
    rows = _page(tx, req)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return SubagentList(
        subagents=[Subagent.from_row(row, tx.now_ms) for row in shown],
        count=len(shown),
        has_more=more,
        cursor=req.cursor,
        next_cursor=ref_of(shown[-1]["n"]) if more else None,
    )


def _page(tx: Tx, req: ListSubagents) -> list[Row]:
    page = {"before": number_of(req.cursor) if req.cursor else ENDLESS, "limit": req.limit + 1}
    now = tx.now_ms
    if req.parent_id:
        return tx.all(
            sql.subagents_of_parent,
            parent_id=req.parent_id,
            session_id=req.session_id,
            status=req.status,
            now=now,
            **page,
        )
    if req.session_id is not None:
        return tx.all(
            sql.subagents_of_session, session_id=req.session_id, status=req.status, now=now, **page
        )
    if req.status == "running":
        return tx.all(sql.subagents_running, now=now, **page)
    if req.status == "interrupted":
        return tx.all(sql.subagents_interrupted, now=now, **page)
    if req.status:
        return tx.all(sql.subagents_of_status, status=req.status, **page)
    return tx.all(sql.subagents_newest, **page)


@room.opens(
    "subagent",
    r"(?P<id>SUB-(?:[0-9]{3}|[1-9][0-9]{3,14}))(?:@(?P<seq>[0-9]{1,16}))?",
    "a dispatched subagent",
    "SUB-001",
)
def open_subagent(tx: Tx, req: Any, match: re.Match[str]) -> SubagentOpened:
    """Open one subagent, with its parent and children."""
    row = tx.one(sql.subagent_one, n=number_of(match["id"]))
    if row is None:
        raise _unknown(f"there is no {match['id']}")
    if match["seq"] is not None:
        event = tx.one(log_sql.log_one, seq=int(match["seq"]))
        if event is None or event["subject"] != match["id"]:
            raise _unknown(f"{match['id']} has no event {match[0]}")
    return _opened(tx, row, match[0])


@room.opens(
    "dispatch",
    r"dispatch:(?P<id>[A-Za-z0-9][A-Za-z0-9._-]{0,127})",
    "a dispatched subagent by its program's own id",
    "dispatch:0a1b2c",
    mention=None,
)
def open_dispatch(tx: Tx, req: Any, match: re.Match[str]) -> SubagentOpened:
    """The same, by `session.scope.dispatch_id`."""
    row = tx.one(sql.subagent_of, dispatch_id=match["id"])
    if row is None:
        raise _unknown(f"there is no record of dispatch {match['id']!r}")
    return _opened(tx, row, match[0])


def _opened(tx: Tx, row: Row, asked: str) -> SubagentOpened:
    subagent = Subagent.from_row(row, tx.now_ms)
    above = row["parent_id"] and tx.one(sql.subagent_of, dispatch_id=row["parent_id"])
    below = tx.all(
        sql.subagents_of_parent,
        parent_id=row["dispatch_id"],
        session_id=None,
        status=None,
        now=tx.now_ms,
        before=ENDLESS,
        limit=CHILDREN + 1,
    )
    return SubagentOpened(
        kind="subagent",
        id=asked,
        ref=subagent.ref,
        subagent=subagent,
        parent=ref_of(above["n"]) if above else None,
        children=[ref_of(child["n"]) for child in reversed(below[:CHILDREN])],
        has_more_children=len(below) > CHILDREN,
    )


def _unknown(what: str) -> UnknownId:
    return UnknownId(
        f"id: {what}",
        recovery="list subagents with jobs.subagent.list",
        suggest=[Suggestion(ListSubagents(), "list the recorded subagents")],
    )
