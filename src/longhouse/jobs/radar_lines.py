"""The radar as lines; the format is fixed to the character.

<workspace?> jobs_radar count=… runner=… runners=… status=…? task=…? anchor=…? …
CMD: <how to start a runner>
runner <idle|live> <id> | open id=runner:<id> job=<JOB>? | open id=<JOB>?
runner offline <id> last=…? last_job=…? | open id=runner:<id> | open id=<JOB>?
<!|~> diag <kind> runner=…? job=…? | open id=runner:…? | open id=<JOB>?
<ref> <marker?> <JOB> (<status>) <title> | open id=<ref> | reply reply_job=… reply_message="…"?
                                                         | CMD: <how to apply its changes>?

The preview stands after the title: what it asks, or why it waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.kernel.lines import clip

__all__ = ["MOST_DIAGNOSES", "radar_lines"]

MOST_DIAGNOSES = 5
_OWN_WORDS = ("changes", "starting")
"""Reasons that need no preview: a command line of its own says more, or it ends by itself."""
_MARK = {"error": "!", "stale": "~"}


def radar_lines(result: dict[str, Any]) -> list[str]:
    """Every line of the radar, in order."""
    lines = [_header(result)]
    if boot := result.get("runner_bootstrap"):
        lines.append(f"CMD: {boot['cmd']}")
    lines += [_runner(lease) for lease in result["runner_leases"]["runners"]]
    lines += [_offline(lease) for lease in result["runner_leases_offline"]["runners"]]
    lines += [_diagnosis(i) for i in result["runner_diagnostics"]["issues"][:MOST_DIAGNOSES]]
    lines += [_job(row, started_by=bool(boot)) for row in result["jobs"]]
    return lines


def _header(result: dict[str, Any]) -> str:
    there = result["runner_status"]
    counts = [f"{state}:{there[f'{state}_count']}" for state in ("live", "idle", "offline")]
    none = not any(there[f"{state}_count"] for state in ("live", "idle", "offline"))
    parts = [result["workspace"]] if result.get("workspace") else []
    parts += ["jobs_radar", f"count={result['count']}", f"runner={there['status']}"]
    parts.append(f"runners={'none' if none else ' '.join(counts)}")
    echo = result["filter"]
    names = ("status", "task", "anchor", "stale_after_s")
    parts += [f"{name}={echo[name]}" for name in names if echo.get(name) is not None]
    if result["has_more"]:
        parts.append("has_more=true")
    return " ".join(parts)


def _runner(lease: dict[str, Any]) -> str:
    runner, job = lease["runner_id"], lease.get("active_job_id")
    line = f"runner {lease['status']} {runner} | open id=runner:{runner}"
    return f"{line} job={job} | open id={job}" if job else line


def _offline(lease: dict[str, Any]) -> str:
    runner, job = lease["runner_id"], lease.get("active_job_id")
    last_job = f" last_job={job}" if job else ""
    line = f"runner offline {runner} last={lease['status']}{last_job} | open id=runner:{runner}"
    return f"{line} | open id={job}" if job else line


def _diagnosis(issue: dict[str, Any]) -> str:
    return " ".join(_diagnosis_parts(issue))


def _diagnosis_parts(issue: dict[str, Any]) -> Iterator[str]:
    runner, job = issue.get("runner_id"), issue.get("job_id")
    yield f"{_MARK[issue['severity']]} diag {issue['kind']}"
    if runner:
        yield f"runner={runner}"
    if job:
        yield f"job={job}"
    if runner:
        yield f"| open id=runner:{runner}"
    if job and issue["kind"] != "active_job_unknown":
        yield f"| open id={job}"
    if issue["kind"] == "job_declined_by_all":
        yield f"| requeue job={job}"


def _job(row: dict[str, Any], *, started_by: bool) -> str:
    """The line of one job; `started_by` if a line above starts the missing runner."""
    marker = row["attention"].get("marker")
    mark = f"{marker} " if marker else ""
    line = f"{row['ref']} {mark}{row['id']} ({row['status']}) {_title(row['title'])}"
    if asked := row.get("question"):
        line += f" — asks {asked['ref']}: {_title(asked['text'])}"
    elif (why := row.get("waiting")) and not (
        why["code"] in _OWN_WORDS or (started_by and why["code"] == "no_runner")
    ):
        line += f" — waits: {_title(why['why'], 200)}"
    line += f" | open id={row['ref']}"
    if waits := row.get("changes"):
        line += f" | CMD: {waits['apply']}"
    if marker == "?":
        line += f' | reply reply_job={row["id"]} reply_message="..."'
    return line


def _title(title: str, most: int = 80) -> str:
    """The title on one line, without bars, which separate columns."""
    return clip(title, most).replace("|", "¦")
