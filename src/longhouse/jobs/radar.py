"""`jobs.radar`, the manager's inbox: which runners are online, which jobs need you, what to run.

Rows come from an index of unfinished jobs, most urgent first, so the cost does not grow with
history. A reply passed in the call is written before the radar is read.
"""

from __future__ import annotations

from itertools import islice
from typing import Literal

import msgspec

from longhouse.jobs import presence, runners
from longhouse.jobs.autostart import bootstrap
from longhouse.jobs.changes import apply_line
from longhouse.jobs.diagnosis import MOST_ISSUES, diagnose
from longhouse.jobs.holding import held_by
from longhouse.jobs.leading import leaders_of, may_lead
from longhouse.jobs.radar_lines import radar_lines
from longhouse.jobs.reading import usage_of_task
from longhouse.jobs.room import room, sql
from longhouse.jobs.steering import message_job
from longhouse.jobs.types.jobs import MessageJob
from longhouse.jobs.types.radar import (
    Asked,
    Diagnostics,
    Echo,
    JobRadar,
    Last,
    Leases,
    RadarRow,
    RunnerState,
    ShowRadar,
    Unapplied,
)
from longhouse.jobs.values import Attention, JobEvent, RunnerLease, attention_of, job_id
from longhouse.jobs.waiting import Prospects
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import clip
from longhouse.kernel.refs import seq_ref
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = [
    "radar_of_task",
    "show_radar",
]

QUIET_AFTER_S = 600
_MOST_FAILED = 2


@room.command(
    "jobs.radar",
    also="inbox dashboard overview attention watch status runners workers",
    op="radar",
    writes_with=("reply_job", "reply_message"),
    example=ShowRadar(),
    lines=radar_lines,
    trim=[
        Clip("jobs.last.message", 40),
        Drop("jobs.question.reply"),
        Clip("jobs.question.text", 80),
        Drop("jobs.last"),
        Drop("jobs.waiting.fix"),
        Clip("jobs.waiting.why", 80),
        Clip("jobs.changes.why", 40),
        Pop("jobs.holds"),
        Pop("runner_leases_offline.runners"),
        Drop("runner_leases.runners.offers"),
        Pop("runner_diagnostics.issues"),
        Pop("runner_leases.runners"),
        Pop("jobs", leave=1),
        Clip("jobs.title", 40),
    ],
)
def show_radar(tx: Tx, req: ShowRadar) -> JobRadar:
    """Show runners and unfinished jobs, urgent first; reply with reply_job and reply_message."""
    reply = _reply(tx, req)
    rows = _rows(tx, req)
    shown = rows[: req.limit]
    active = [
        RunnerLease.from_row(row, tx.now_ms)
        for row in tx.all(sql.leases_active, now=tx.now_ms, limit=runners.MOST)
    ]
    issues = diagnose(tx, active, shown)
    there = presence.runners_present(tx)
    queued = tx.value(sql.count_up_to, status="QUEUED", limit=1)
    return JobRadar(
        workspace=None if tx.workspace == tx.facts.default_workspace else tx.workspace,
        filter=Echo(
            status=req.status, task=req.task, anchor=req.anchor, stale_after_s=req.stale_after_s
        ),
        runner_status=there,
        runner_leases=_leases(
            [one for one in active if req.runners_status in (None, one.status)], req.runners_limit
        ),
        runner_leases_offline=_leases(
            [
                RunnerLease.from_row(row, tx.now_ms)
                for row in tx.all(
                    sql.leases_offline,
                    now=tx.now_ms,
                    since=tx.now_ms - presence.SHOWN_FOR_MS,
                    limit=req.offline_limit + 1,
                )
            ],
            req.offline_limit,
        ),
        runner_diagnostics=Diagnostics(
            issues=issues[:MOST_ISSUES],
            count=min(len(issues), MOST_ISSUES),
            has_more=len(issues) > MOST_ISSUES,
        ),
        runner_bootstrap=bootstrap(tx) if queued and there.status == "offline" else None,
        jobs=_shown(tx, shown, req.stale_after_s or QUIET_AFTER_S),
        count=len(shown),
        has_more=len(rows) > req.limit,
        usage=usage_of_task(tx, req.task) if req.task else None,
        reply=reply,
    )


def _reply(tx: Tx, req: ShowRadar) -> JobEvent | None:
    if req.reply_job is None and req.reply_message is None:
        return None
    if req.reply_job is None or req.reply_message is None:
        raise InvalidInput(
            "reply: pass reply_job and reply_message together",
            recovery='pass reply_job=JOB-001 reply_message="…"',
        )
    message = MessageJob(job=req.reply_job, message=req.reply_message, refs=req.reply_refs)
    return message_job(tx, message).event


def _rows(tx: Tx, req: ShowRadar) -> list[Row]:
    """The most urgent jobs, one more than the limit; an expired claim counts as urgent."""
    most = req.limit + 1
    if req.task:
        rows = tx.all(
            sql.radar_of_task, task=req.task, anchor=req.anchor, status=req.status, limit=most
        )
    elif req.anchor:
        rows = tx.all(sql.radar_of_anchor, anchor=req.anchor, status=req.status, limit=most)
    elif req.status in ("DONE", "FAILED", "CANCELED"):
        return tx.all(sql.radar_of_status, status=req.status, limit=most)
    elif req.status:
        rows = tx.all(sql.radar_one_status, status=req.status, limit=most)
    else:
        rows = tx.all(sql.radar_active, limit=most)
    if not req.task and not req.anchor and req.status != "QUEUED":
        known = {row["n"] for row in rows}
        stale = tx.all(sql.radar_stale, now=tx.now_ms, limit=most)
        rows += [row for row in stale if row["n"] not in known]
    return sorted(rows, key=lambda row: (-_weight(row, tx.now_ms), row["n"]))[:most]


def radar_of_task(tx: Tx, task: str, limit: int) -> list[RadarRow]:
    """The unfinished jobs of a task, most urgent first, then those that failed, at least two."""
    going, failed = (
        tx.all(sql.radar_of_task, task=task, anchor=None, status=status, limit=limit)
        for status in (None, "FAILED")
    )
    kept = going[: limit - min(_MOST_FAILED, len(failed))]
    return _shown(tx, [*kept, *failed][:limit], QUIET_AFTER_S)


def _weight(row: Row, now_ms: int) -> float:
    """The stored urgency; an expired claim ranks between needing attention and just running."""
    lapsed = row["status"] == "RUNNING" and row["claim_expires_at_ms"] <= now_ms
    return max(float(row["urgency"]), 2.5 if lapsed else 0.0)


def _shown(tx: Tx, rows: list[Row], quiet_after_s: int) -> list[RadarRow]:
    """The jobs with their last events and runners' states, read in one round trip."""
    holders = sorted({row["runner_id"] for row in rows if row["status"] == "RUNNING"})
    events = [tx.ask(log_sql.log_one, seq=row["last_seq"]) for row in rows]
    leases = [tx.ask(sql.lease_one, runner_id=runner) for runner in holders]
    marks = {row["n"]: attention_of(row, tx.now_ms) for row in rows}
    asking = [row for row in rows if marks[row["n"]].needs_manager]
    questions = [tx.ask(log_sql.log_one, seq=row["last_question_seq"]) for row in asking]
    causes = {row["n"]: _cause(row, marks[row["n"]]) for row in rows}
    begins = [tx.ask(log_sql.log_time, upto=seq) for seq in causes.values() if seq]
    marked = [row["n"] for row in rows if marks[row["n"]].marker]
    waiting = [tx.ask(sql.after_this_in_all, n=n) for n in marked]
    prospects = Prospects(tx)
    answers = iter(tx.answers([*events, *leases, *questions, *begins, *waiting]))
    found = list(islice(answers, len(rows)))
    states = {runner: _state(tx, held) for runner, held in zip(holders, answers, strict=False)}
    asked = dict(zip((r["n"] for r in asking), answers, strict=False))
    began = {
        n: at[0]["ts_ms"] for n, at in zip((n for n in causes if causes[n]), answers, strict=False)
    }
    frees = {n: counted[0]["frees"] for n, counted in zip(marked, answers, strict=True)}
    return [
        msgspec.structs.replace(
            _row(
                tx, row, last[0], states.get(row["runner_id"]), quiet_after_s, asked.get(row["n"])
            ),
            frees=frees.get(row["n"], 0),
            since_ms=began.get(row["n"]) or _lapsed(row, marks[row["n"]]),
            waiting=prospects.why(row),
        )
        for row, last in zip(rows, found, strict=True)
    ]


def _row(
    tx: Tx,
    row: Row,
    last: Row,
    runner_state: RunnerState | None,
    quiet_after_s: int,
    asked: list[Row] | None,
) -> RadarRow:
    job = job_id(row["n"])
    running = row["status"] == "RUNNING"
    event = JobEvent.from_log(LogRow.from_row(last))
    quiet_s = (tx.now_ms - event.ts_ms) // 1000
    return RadarRow(
        ref=seq_ref(job, row["last_seq"]),
        id=job,
        status=row["status"],
        title=row["title"],
        attention=attention_of(row, tx.now_ms),
        runner=row["runner_id"],
        runner_state=runner_state if running else None,
        task_id=row["task_id"],
        anchor_id=row["anchor_id"],
        percent=row["percent"],
        waits_for=row["waits"],
        updated_at_ms=row["updated_at_ms"],
        quiet_s=quiet_s if running and quiet_s >= quiet_after_s else None,
        last=Last(ref=event.ref, kind=event.kind, message=clip(event.message or "", 160) or None),
        question=_asked(tx, row, asked[0]) if asked else None,
        holds=held_by(tx, row),
        yours=may_lead(tx, row),
        changes=_unapplied(job, row["changes"]) if row["changes"] else None,
    )


def _cause(row: Row, attention: Attention) -> int:
    """The seq of the event by which a job came to need attention; 0 if there is none."""
    if attention.needs_manager:
        return int(row["last_question_seq"])
    if row["status"] == "FAILED":
        return int(row["last_seq"])
    if attention.needs_proof:
        return int(row["last_proof_gate_seq"])
    return int(row["last_error_seq"]) if attention.has_error else 0


def _lapsed(row: Row, attention: Attention) -> int | None:
    return int(row["claim_expires_at_ms"]) if attention.stale else None


def _asked(tx: Tx, job: Row, row: Row) -> Asked:
    event = JobEvent.from_log(LogRow.from_row(row))
    text = clip(event.message or "", 300)
    if not may_lead(tx, job):
        return Asked(ref=event.ref, text=text, ask=leaders_of(job))
    call = {"op": "radar", "args": {"reply_job": job_id(job["n"])}}
    reply = {"tool": "jobs", "args": call, "missing": ["reply_message"]}
    return Asked(ref=event.ref, text=text, reply=reply)


def _unapplied(job: str, why: str) -> Unapplied:
    return Unapplied(why=clip(why, 160), apply=apply_line(job), drop=f"{apply_line(job)} --drop")


def _state(tx: Tx, leases: list[Row]) -> RunnerState | None:
    """The state of a job's runner; None if the claim was made by hand, without a runner."""
    if not leases:
        return None
    if leases[0]["lease_expires_at_ms"] <= tx.now_ms:
        return "offline"
    status: Literal["idle", "live"] = leases[0]["status"]
    return status


def _leases(leases: list[RunnerLease], limit: int) -> Leases:
    shown = leases[:limit]
    return Leases(runners=shown, count=len(shown), has_more=len(leases) > limit)
