"""`longhouse runner`: run delegated jobs here; `longhouse runner status`: who runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longhouse.runner.options import OPTIONS
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Command, Flag


def run(
    cli: Cli,
    once: bool = False,
    dry_run: bool = False,
    log_to_file: bool = False,
    attach: bool = False,
    **flags: Any,
) -> int:
    from longhouse.runner.event_log import EventLog
    from longhouse.runner.options import load_options
    from longhouse.runner.start import build
    from longhouse.supervisor import adopt_strays

    settings = cli.settings
    options = load_options(flags, settings.dir)
    if options.url is None and not attach:
        from longhouse.client import launch
        from longhouse.surfaces.cli.commands.up import server_arguments, server_environment

        launch.start(settings, server_arguments(cli), environment=server_environment(cli))
    path = None
    if log_to_file:
        name = re.sub(r"[^\w.-]+", "-", options.runner_id)
        path = settings.dir / "runners" / f"{name}.log"
    log = EventLog(as_json=cli.as_json, path=path)
    adopt_strays()
    return build(settings, options, log, once=once, dry_run=dry_run, attach=attach).run()


def show_status(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    leases = [*result["runner_leases"]["runners"], *result["runner_leases_offline"]["runners"]]
    rows = [
        {
            "runner": lease["runner_id"],
            "state": lease["status"] if lease["lease_active"] else "offline",
            "job": lease.get("active_job_id", "-"),
            "executors": ",".join(lease.get("offers", {}).get("executors", [])) or "-",
            "parallel": lease.get("offers", {}).get("max_parallel", 1),
        }
        for lease in sorted(leases, key=lambda lease: str(lease["runner_id"]))
    ]
    yield from table(rows, ("runner", "state", "job", "executors", "parallel"))
    if not rows:
        yield "no runner is there"
    for issue in result["runner_diagnostics"]["issues"]:
        whose = [issue[key] for key in ("runner_id", "job_id") if issue.get(key)]
        said = issue["kind"].replace("_", " ")
        yield cli.out.style(f"{', '.join(whose)}: {said}", "yellow")
    if boot := result.get("runner_bootstrap"):
        yield cli.out.style(f"jobs wait; start one: {boot['cmd']}", "yellow")


def _flags() -> Iterator[Flag]:
    for option in OPTIONS:
        name = option.name.replace("_", "-")
        help_text = option.help
        if option.default is not None and "default" not in help_text:
            help_text += f" (default: {option.default})"
        yield Flag(
            name,
            help_text,
            "N" if option.is_number else "TEXT",
            kind=int if option.is_number else str,
            choices=option.choices,
            variable=f"LONGHOUSE_{option.name.upper()}",
        )


command = Command(
    "runner",
    "Run delegated jobs on this machine, with Codex, Claude Code or an agent of your own",
    flags=[
        *_flags(),
        Flag("once", "take one job, or none, and leave"),
        Flag("dry-run", "go through the motions without starting any agent"),
        Flag("attach", "start no server, and leave when there is none"),
        Flag("log-to-file", "log to runners/<id>.log in the store's folder"),
    ],
    run=run,
    children=[
        Command(
            "status",
            "Show who runs jobs here, and what is wrong with that",
            calls="jobs.radar",
            show=show_status,
        ),
    ],
    details="SIGTERM or Ctrl-C lets running slices finish for a while and gives their jobs back; "
    "a second one hurries.",
    examples=[
        "longhouse runner --max-parallel 3",
        "longhouse runner --runner-id r1 --workspace acme",
        "longhouse runner --once --dry-run",
    ],
)
