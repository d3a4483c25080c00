"""`longhouse job`: delegate work, follow it, and answer its questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.applying import apply
from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.commands.call import pair
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Cut
from longhouse.surfaces.cli.render import ago, fields, flat, table
from longhouse.surfaces.cli.speaking import in_prose, why_it_waits
from longhouse.surfaces.cli.spec import AS_OF, Arg, Command, Flag, Shown

STATUSES = ("QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED")
JOB = Arg("job", "the job, such as JOB-001")


def create(
    cli: Cli,
    title: str,
    prompt: str | None = None,
    isolation: str | None = None,
    model: str | None = None,
    path: Sequence[str] = (),
    meta: Sequence[str] = (),
    **more: Any,
) -> Shown:
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        prompt = sys.stdin.read()
    if not prompt or prompt.isspace():
        raise InvalidInput(
            "--prompt is missing",
            recovery="describe the work with --prompt TEXT, or with --prompt - < spec.md",
        )
    given = {name: value for name, value in more.items() if value is not None}
    asked = {"isolation": isolation, "executor_model": model}
    if noted := {name: value for name, value in asked.items() if value} | dict(map(pair, meta)):
        given["meta"] = noted
    if path:
        given["paths"] = list(path)
    answer = cli.ask("jobs.create", {"title": title, "prompt": prompt, **given})
    made = answer.result()
    warned = (answer.envelope or {}).get("warnings", ())
    lines = [
        f"{made['job']['id']} is queued",
        *(cli.out.style(_warning(one), "yellow") for one in warned),
    ]
    if waiting := made.get("waiting"):
        hint = f"it waits: {why_it_waits(waiting)}"
        if waiting["code"] == "starting":
            hint = f"{waiting['why']}; to watch: {spoken()} radar --watch"
        lines.append(cli.out.style(hint, "yellow"))
    return Shown(made, lines)


def _warning(one: Mapping[str, Any]) -> str:
    """A warning with its fix; how to use a tool better next time is of no use on a command line."""
    if one["code"] == "UNDERSTOOD":
        return str(one["message"])
    return f"{one['message']}: {in_prose(one['recovery'])}"


def _noted(call: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata for the runner; model and isolation have their own flags."""
    left = dict(call)
    meta = dict(left.pop("meta", {}))
    said = {"isolation": meta.pop("isolation", None), "model": meta.pop("executor_model", None)}
    pairs = [
        f"{name}={one if isinstance(one, str) else json.dumps(one)}" for name, one in meta.items()
    ]
    if dict(map(pair, pairs)) != meta:
        return dict(call)
    return {**left, **said, "meta": pairs or None}


def _outcome(call: Mapping[str, Any]) -> dict[str, Any]:
    left = dict(call)
    dropped = left.pop("outcome", None) == "dropped"
    return {**left, "drop": dropped or None}


def show_list(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    rows = [
        {**job, "updated": ago(job["updated_at_ms"]), "runner": job.get("runner", "-")}
        for job in result["jobs"]
    ]
    yield from table(rows, ("id", "status", "priority", "runner", "updated", "title"))
    if not rows:
        yield "no jobs"
    if cursor := result.get("next_cursor"):
        yield cli.out.style(f"more: --cursor {cursor}", "dim")


def show_one(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    job, attention = result["job"], result["attention"]
    wants = [
        name for name in ("needs_manager", "needs_proof", "has_error", "stale") if attention[name]
    ]
    yield cli.out.style(flat(f"{job['id']}  {job['title']}"), "bold")
    usage = job.get("usage", {})
    yield from fields(
        [
            ("status", f"{job['status']} {attention.get('marker', '')}".strip()),
            ("waits", why_it_waits(result["waiting"]) if result.get("waiting") else None),
            ("attention", ", ".join(wants).replace("_", " ")),
            ("priority", job["priority"]),
            ("runner", job.get("runner")),
            ("changes", job.get("changes")),
            ("task", job.get("task_id")),
            ("anchor", job.get("anchor_id")),
            ("after", ", ".join(result.get("after", []))),
            ("holds", ", ".join(result.get("holds", []))),
            ("created", ago(job["created_at_ms"])),
            ("limits", ", ".join(_limits(job.get("limits") or {}))),
            ("summary", job.get("summary")),
            ("refs", ", ".join(job.get("refs", []))),
            ("used", ", ".join(f"{name} {count}" for name, count in usage.items())),
        ]
    )
    if prompt := result.get("prompt"):
        yield "prompt"
        yield from (f"  {line}" for line in prompt.splitlines())
    yield "events"
    yield from _events(cli, reversed(result["events"]))


def _limits(limits: dict[str, Any]) -> Iterator[str]:
    if deadline := limits.get("deadline_ms"):
        yield f"deadline {ago(deadline)}"
    if tokens := limits.get("max_tokens"):
        yield f"at most {tokens} tokens"
    if cost := limits.get("max_cost_usd"):
        yield f"at most ${cost:.2f}"


def tail(cli: Cli, job: str, after: int = 0, follow: bool = False) -> Shown | int:
    page = cli.call("jobs.tail", job=job, after_seq=after)
    if not follow:
        return Shown(page, list(_events(cli, page["events"])))
    try:
        while True:
            for event in page["events"]:
                cli.out.line(next(_events(cli, [event])))
            cli.out.flush()
            if not page["has_more"] and page.get("status") in STATUSES[2:]:
                return 0
            at = page["next_cursor"]
            if not page["has_more"]:
                cli.call("jobs.wait", job=job, after_seq=at)
            page = cli.call("jobs.tail", job=job, after_seq=at)
    except KeyboardInterrupt:
        return 0


def show_moved(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['job']['id']} is {result['job']['status']} ({result['event']['ref']})"]


def _events(cli: Cli, events: Iterable[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        refs = f"  [{', '.join(event['refs'])}]" if event.get("refs") else ""
        said = " ".join(str(event.get("message", "")).split())
        ref = cli.out.style(event["ref"], "dim")
        yield Cut(f"  {ref}  {event['kind']}  {said}{refs}")


command = Command(
    "job",
    "Delegate work and follow it",
    children=[
        Command(
            "create",
            "Queue a job for a runner",
            args=[Arg("title", "a short title")],
            flags=[
                Flag("prompt", "what to do; - reads standard input", "TEXT", short="p"),
                Flag(
                    "priority",
                    "how soon it is claimed (default: medium)",
                    "P",
                    choices=("low", "medium", "high"),
                ),
                Flag("task", "the task it belongs to", "TASK"),
                Flag("anchor", "the part of the code it is about", "ANCHOR"),
                Flag("kind", "the kind of work", "KIND"),
                Flag("executor", "codex, claude_code or a plug-in's name (default: auto)", "NAME"),
                Flag(
                    "executor-profile",
                    "how thorough to be (default: fast)",
                    "PROFILE",
                    choices=("fast", "deep", "audit"),
                ),
                Flag("model", "the model for the executor to use, such as opus", "NAME"),
                Flag(
                    "isolation",
                    "where it works: in the checkout, or in its own worktree",
                    "WHERE",
                    choices=("none", "worktree"),
                ),
                Flag(
                    "path",
                    "a file or folder reserved for it; may be repeated",
                    "PATH",
                    many=True,
                    field="paths",
                ),
                Flag("meta", "metadata for its runner; may be repeated", "NAME=VALUE", many=True),
                Flag("after", "wait until this job is done; may be repeated", "JOB", many=True),
                Flag("max-attempts", "how many times to try (default: 1)", "N", kind=int),
                Flag("require-proof", "accept DONE only with proof"),
            ],
            run=create,
            calls="jobs.create",
            values_of=_noted,
            examples=[
                "longhouse job create 'Find the slow query' --prompt 'Profile the search page.'",
                "longhouse job create 'Add the index' --after JOB-001 --prompt - < spec.md",
            ],
        ),
        Command(
            "list",
            "List jobs, newest first",
            flags=[
                Flag("status", "only jobs with this status", "STATUS", choices=STATUSES),
                Flag("task", "only jobs of this task", "TASK"),
                Flag("anchor", "only jobs of this anchor", "ANCHOR"),
                Flag("limit", "how many (default: 25)", "N", kind=int),
                Flag("cursor", "continue after this job", "JOB"),
                AS_OF,
            ],
            calls="jobs.list",
            show=show_list,
        ),
        Command(
            "show",
            "Show a job and its newest events",
            args=[JOB],
            flags=[
                Flag("include-prompt", "include the prompt"),
                Flag("max-events", "how many events (default: 10)", "N", kind=int),
                AS_OF,
            ],
            calls="jobs.open",
            show=show_one,
        ),
        Command(
            "tail",
            "Show a job's events, or follow them until it finishes",
            args=[JOB],
            flags=[
                Flag("follow", "wait for more", short="f"),
                Flag("after", "start after this seq", "SEQ", kind=int, field="after_seq"),
            ],
            run=tail,
            calls="jobs.tail",
        ),
        Command(
            "reply",
            "Answer or steer a job",
            args=[JOB, Arg("message", "what to tell its agent")],
            calls="jobs.message",
            show=show_moved,
            examples=["longhouse job reply JOB-001 'Use the staging database.'"],
        ),
        Command(
            "apply",
            "Land a job's pending changes on longhouse/landed, or drop them",
            args=[JOB],
            flags=[
                Flag("drop", "drop them"),
                Flag("merged", "record that you have merged them by hand"),
                Flag(
                    "including-configuration",
                    "accept files that later sessions run or follow, such as .claude/ or CI",
                ),
            ],
            run=apply,
            calls="jobs.apply",
            values_of=_outcome,
            examples=["longhouse job apply JOB-001", "longhouse job apply JOB-001 --drop"],
        ),
        Command(
            "cancel",
            "Cancel a job",
            args=[JOB],
            flags=[Flag("reason", "why", "TEXT")],
            calls="jobs.cancel",
            show=show_moved,
        ),
        Command(
            "requeue",
            "Queue a finished job again, or offer a declined one again",
            args=[JOB],
            flags=[Flag("reason", "why", "TEXT")],
            calls="jobs.requeue",
            show=show_moved,
        ),
    ],
)
