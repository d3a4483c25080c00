"""Unreserved changes: files changed without a reservation are logged, and holders are notified.

The server never reads files: a runner reports what changed while its agent worked, an agent reports
what changed in its checkout, and this module compares that with the reservations of that time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Any

from longhouse.crew.agents import proved
from longhouse.crew.holdings import scope_of
from longhouse.crew.identity import TOKEN
from longhouse.crew.messages import touch
from longhouse.crew.protocol import inform
from longhouse.crew.reservations import MOST_RECORDED, note_incursions, tell_if_job
from longhouse.crew.room import binds, room, sql
from longhouse.crew.scopes import FileScope, ancestors, scope_in
from longhouse.crew.types.reservations import (
    ChangeOutside,
    ChangesReported,
    FileOutside,
    ReportChanges,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.changes import ChangedFiles
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx

__all__ = ["KIND", "changes_outside", "note_outside", "outside_of", "tell_holder"]

KIND = "changed_outside"
LOOK_BACK = 200
FILES_SHOWN = 12
"""How many files of one record an answer names; the log has more."""
MOST_FOLDERS = 40
"""How many folders above a file are considered, starting at the project root."""
RECENT_MS = 3_600_000
"""How long agents' reports do not record the same file again."""
LONGEST_MS = 86_400_000
"""Reservations released longer ago than this are ignored, whatever period a report covers."""
RECORD_CHARS = 10_000
"""The most characters of paths in one record, since later reports read the recent records."""


@room.command(
    "agents.changed",
    also="changes edited modified files.changed",
    writes=True,
    additive=True,
    idempotent=True,
    trim=[Pop("outside", leave=1)],
    example=ReportChanges(
        agent="amber-otter", agent_token=TOKEN, changed=ChangedFiles(paths=["docs/guide.md"])
    ),
)
def changed(tx: Tx, req: ReportChanges) -> ChangesReported:
    """Report which files changed in your checkout; unreserved changes are recorded.

    Several agents may share a checkout, and it is unknown which of them changed a file, so a change
    to files that another agent holds is attributed to that holder. Only if the caller works there
    `alone` does it count as a conflict, and then the holder is notified. A report is not a sign of
    life, because a bridge sends it automatically.
    """
    me = proved(tx, req.agent, req.agent_token)["agent_id"]
    files = req.changed
    found = outside_of(tx, files, req.root, lambda row: row["agent_id"] == me)
    recent = list(_newest(tx, LOOK_BACK, tx.now_ms - RECENT_MS))
    known = {
        (one["path"], _crossing(row.data["agent"], one.get("reservation")))
        for row in recent
        for one in row.data["files"]
    }
    crossings = {file: _crossing(me, row["seq"] if row else None) for file, row in found.items()}
    fresh = {file: found[file] for file, how in crossings.items() if (str(file), how) not in known}
    ref = None
    if fresh or (files.more and not any(row.data["more"] for row in recent)):
        item = f"agent:{me}"  # the bare name could be the id of a work item
        seq, told = note_outside(tx, me, None, item, fresh, files.more, only_news=False)
        ref = f"{item}@{seq}"
        heard = {how for _, how in known}
        for row in told:
            if _crossing(me, row["seq"]) not in heard:
                tell_holder(tx, me, me, item, row, f"ask {me} with agents.send")
    shown = [
        FileOutside(path=str(file), holder=row["agent_id"] if row else None)
        for file, row in found.items()
    ]
    return ChangesReported(outside=shown, count=len(shown), ref=ref)


def _crossing(agent: str, reservation: int | None) -> tuple[str, int] | None:
    """The agent and the reservation it crossed; None if nothing was reserved."""
    return None if reservation is None else (agent, reservation)


def outside_of(
    tx: Tx,
    files: ChangedFiles,
    checkout: str | None,
    mine: Callable[[Row], bool],
    *,
    applied: bool = False,
) -> dict[FileScope, Row | None]:
    """The files that no reservation of `mine` covers, each with the reservation it crossed, if any.

    If others work in the same tree, changes to files that they hold, or released in the meantime,
    may be their own. Changes that were `applied` have been compared before, so only current
    reservations count.
    """
    named = dict.fromkeys(scope_in(tx, path, checkout, literal=True) for path in files.paths)
    found: dict[FileScope, Row | None] = {}
    since_ms = tx.now_ms - min(files.over_ms, LONGEST_MS)
    for file, rows in coverage(tx, list(named), since_ms).items():
        if any(mine(row) for row in rows):
            continue
        holder = next((row for row in rows if _holds_now(tx, row)), None)
        its_own = files.alone or not rows
        if (files.alone or applied) if holder else (its_own and not applied):
            found[file] = holder
    return found


def _holds_now(tx: Tx, row: Row) -> bool:
    return bool(row["state"] == "active" and row["expires_at_ms"] > tx.now_ms)


def coverage(tx: Tx, files: list[FileScope], since_ms: int) -> dict[FileScope, list[Row]]:
    """The reservations, by any holder, that have covered each file since `since_ms`."""
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
    job: str | None,
    item: str,
    found: dict[FileScope, Row | None],
    more: int,
    *,
    only_news: bool,
) -> tuple[int | None, list[Row]]:
    """Record these files, each with the reservation that it crossed, if any.

    `more` counts files of the same change that the report did not name, so they were not compared.

    Returns the seq of the record and the reservations whose holders have not been notified yet;
    with `only_news`, nothing is recorded if there are none.
    """
    news: dict[int, Row] = {}
    crossed = [(file, row) for file, row in found.items() if row is not None]
    hint = f"{job or me} changed it: review its changes before you continue"
    first = {row["seq"]: file for file, row in reversed(crossed)}
    crossed.sort(key=lambda one: first[one[1]["seq"]] != one[0])  # one file per holder comes first
    for file, row in crossed[:MOST_RECORDED]:
        for met, _seq, new in note_incursions(tx, me, item, file, [row], hint):
            if new:
                news[met["seq"]] = met
    if only_news and not news:
        return None, []
    files = [
        {"path": str(file)}
        | ({"holder": row["agent_id"], "reservation": row["seq"]} if row else {})
        for file, row in sorted(found.items(), key=lambda one: one[1] is None)
    ]
    chars = accumulate(len(one["path"]) for one in files)
    named = sum(so_far <= RECORD_CHARS for so_far in chars)
    data = {"agent": me, **({"job": job} if job else {}), "files": files[:named], "more": more}
    if files[named:]:
        data["unnamed"] = len(files[named:])
    seq = tx.append("crew", item, KIND, data)
    touch(tx, item, me)
    return seq, list(news.values())


def tell_holder(tx: Tx, me: str, who: str, item: str, row: Row, how: str) -> None:
    """Notify the holder of a reservation that `who` changed files in it, and how to review that."""
    scope = str(scope_of(row))
    name = who.partition(" ")[0]
    body = f"{who} changed files that you hold ({scope}). Review its changes before you continue: "
    tell_if_job(tx, row, f"{name} changed files in {scope}, which this job holds")
    inform(tx, me, row["agent_id"], item, f"{name} changed files in {scope}", body + how)


def changes_outside(
    tx: Tx, agent: str | None, bead_id: str | None, limit: int
) -> list[ChangeOutside]:
    """The newest records, of everyone, one agent or one work item."""
    most = LOOK_BACK if agent or bead_id else limit
    shown = [
        _change(row)
        for row in _newest(tx, most)
        if agent in (None, row.data["agent"]) and bead_id in (None, row.subject)
    ]
    return shown[:limit]


def _newest(tx: Tx, limit: int, since_ms: int = 0) -> Iterator[LogRow]:
    rows = tx.all(sql.changes_outside_newest, limit=limit, since=since_ms)
    return map(LogRow.from_row, rows)


def _change(row: LogRow) -> ChangeOutside:
    data: dict[str, Any] = row.data
    files = data["files"]
    return ChangeOutside(
        seq=row.seq,
        ref=row.ref,
        agent_id=data["agent"],
        job_id=data.get("job"),
        bead_id=row.subject,
        at=rfc3339(row.ts_ms),
        files=[
            FileOutside(path=one["path"], holder=one.get("holder")) for one in files[:FILES_SHOWN]
        ],
        unnamed=len(files[FILES_SHOWN:]) + data.get("unnamed", 0),
        more=data["more"],
    )
