"""Why a job failed: the line of its summary or last reports that names the failing test or error.

A summary may be a page of output that begins with what went well. Pure rules over the text, from
the most telling to the least; called for jobs that are shown to somebody who goes on with the work.
"""

from __future__ import annotations

import re

import msgspec

from longhouse.jobs.records import QUIET, STREAM
from longhouse.jobs.room import sql
from longhouse.jobs.values import job_id, job_number
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as store_sql

__all__ = ["failing_line", "failure_of"]

_MOST_CHARS = 20_000
_MOST_LINE = 1_000
_LOOKED_AT = 12
_SHOWN = 220
_ENDLESS = 2**62
_TELLING = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*(?:FAILED|ERROR)\s+\S+(?:::|\.)\S+",  # pytest's summary, unittest
        r"^\s*--- FAIL: |^\s*not ok\b|^\s*[✗✕✘]\s|^\s*FAIL\b[: ]|^test \S+ \.\.\. FAILED",
        r"^\s*error(?:\[\w+\])?: |: error[: ]|\berror TS\d+|^\s*npm ERR! (?!A complete)",
        r"^\s*(?:E\s+)?(?:[\w.]+\.)?\w*(?:Error|Exception|Panic|Failure)\b(?::|\b.* at )",
        r"\b(?:\w+Error|\w+Exception)\b|^panic: |thread '[^']*' panicked|Segmentation fault",
        r"(?i)\b(?:error|fatal|failed|failing|cannot|could not|refused|denied|timed out)\b",
        r"(?i)\b(?:exit(?:ed)?(?: (?:code|with|status))*|exit=)\s*[1-9]\d*",
    )
)


def failing_line(text: str) -> str | None:
    """The line that says what failed; None if no line of the text says so.

    Of equally telling ones the first counts, but of errors with a traceback the last.
    """
    found: dict[int, str] = {}
    for line in text[-_MOST_CHARS:].splitlines():
        said = line.strip()[:_MOST_LINE]
        for rank, pattern in enumerate(_TELLING):
            if pattern.search(said):
                if rank not in found or rank in (3, 4):
                    found[rank] = said
                break
    return found[min(found)] if found else None


def failure_of(tx: Tx, job: str) -> str | None:
    """What failed in a job, on one line: from its summary, else from its last reports."""
    row = tx.one(sql.job_one, n=job_number(job))
    if row is None:
        return None
    said = [row["summary"] or "", *_reports(tx, row)]
    line = next((found for text in said if (found := failing_line(text))), None)
    if line is None:
        line = next((text for text in said if text.strip()), None)
    return clip(line, _SHOWN) if line else None


def _reports(tx: Tx, row: Row) -> list[str]:
    """The last messages of a job, newest first, errors before the rest."""
    events = tx.all(
        store_sql.log_of_subject_before,
        subject=job_id(row["n"]),
        before=_ENDLESS,
        limit=_LOOKED_AT,
    )
    told = [
        (event["kind"] != "error", str(msgspec.json.decode(event["data"]).get("message") or ""))
        for event in events
        if event["stream"] == STREAM and event["kind"] not in QUIET
    ]
    return [text for _, text in sorted(told, key=lambda one: one[0])]
