"""Files that a job changed and had not reserved: recorded in the log, and told to their holders.

The server never looks at files: a runner tells what changed while its agent worked, and it is
compared here with what was held in that time.
"""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import Any

from longhouse.crew.messages import touch
from longhouse.crew.reservations import MOST_RECORDED, note_incursions
from longhouse.crew.room import binds, sql
from longhouse.crew.scopes import FileScope, ancestors
from longhouse.crew.types.reservations import ChangeOutside, FileOutside
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx

__all__ = ["KIND", "changes_outside", "coverage", "note_outside"]

KIND = "changed_outside"
LOOK_BACK = 200
FILES_SHOWN = 12
"""How many files of one change an answer names; the log has up to 200."""
MOST_FOLDERS = 40
"""How many folders above a file are looked at, from the root of the project down."""


def coverage(tx: Tx, files: list[FileScope], since_ms: int) -> dict[FileScope, list[Row]]:
    """The reservations that each file lay in, then or since, whoever held them."""
    over: dict[str, list[Row]] = defaultdict(list)
    paths = {one: dict.fromkeys([one.path, *ancestors(one.path)[-MOST_FOLDERS:]]) for one in files}
    for part in binds(path for above in paths.values() for path in above):
        for row in tx.all(sql.reservations_covering, **part, since=since_ms):
            if row["expires_at_ms"] > since_ms:
                over[row["path"]].append(row)
    return {
        one: sorted((row for path in above for row in over[path]), key=itemgetter("seq"))
        for one, above in paths.items()
    }


def note_outside(
    tx: Tx,
    me: str,
    job: str,
    item: str,
    found: dict[FileScope, Row | None],
    more: int,
    *,
    only_news: bool,
) -> list[Row]:
    """Record these files, each with the reservation that it crossed, if any.

    `more` files of the same change were not named by its runner, and so compared with nothing.

    What is returned are the reservations whose holders have not been told of it before; with
    `only_news` nothing is recorded when there are none.
    """
    news: dict[int, Row] = {}
    crossed = [(file, row) for file, row in found.items() if row is not None]
    hint = f"{job} changed it: look at its changes before you go on"
    first = {row["seq"]: file for file, row in reversed(crossed)}
    crossed.sort(key=lambda one: first[one[1]["seq"]] != one[0])  # so that every holder is told
    for file, row in crossed[:MOST_RECORDED]:
        for met, _seq, new in note_incursions(tx, me, item, file, [row], hint):
            if new:
                news[met["seq"]] = met
    if only_news and not news:
        return []
    files = [
        {"path": str(file)}
        | ({"holder": row["agent_id"], "reservation": row["seq"]} if row else {})
        for file, row in found.items()
    ]
    tx.append("crew", item, KIND, {"agent": me, "job": job, "files": files, "more": more})
    touch(tx, item, me)
    return list(news.values())


def changes_outside(
    tx: Tx, agent: str | None, bead_id: str | None, limit: int
) -> list[ChangeOutside]:
    """The newest of them, of everyone, one agent or one work item."""
    most = LOOK_BACK if agent or bead_id else limit
    rows = (LogRow.from_row(row) for row in tx.all(sql.changes_outside_newest, limit=most))
    shown = [
        _change(row)
        for row in rows
        if agent in (None, row.data["agent"]) and bead_id in (None, row.subject)
    ]
    return shown[:limit]


def _change(row: LogRow) -> ChangeOutside:
    data: dict[str, Any] = row.data
    files = data["files"]
    return ChangeOutside(
        seq=row.seq,
        ref=row.ref,
        agent_id=data["agent"],
        job_id=data["job"],
        bead_id=row.subject,
        at=rfc3339(row.ts_ms),
        files=[
            FileOutside(path=one["path"], holder=one.get("holder")) for one in files[:FILES_SHOWN]
        ],
        unnamed=len(files[FILES_SHOWN:]),
        more=data["more"],
    )
