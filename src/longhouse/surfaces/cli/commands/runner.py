"""`longhouse runner`: run delegated jobs here; start, stop and list runners."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from longhouse.config import own_argv
from longhouse.executors import OPTIONS
from longhouse.kernel.errors import Conflict, UnknownId
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.speaking import why_it_waits
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

START_S = 45.0


def run(
    cli: Cli,
    once: bool = False,
    dry_run: bool = False,
    log_to_file: bool = False,
    attach: bool = False,
    **flags: Any,
) -> int:
    from longhouse.executors import load_options
    from longhouse.presence import Noted, announced, log_path, settings_digest
    from longhouse.runner import EventLog, build
    from longhouse.supervisor import adopt_strays

    settings = cli.settings
    options = load_options(flags, settings.place)

    def start_server() -> None:
        from longhouse.client import launch
        from longhouse.surfaces.cli.commands.up import server_arguments, server_environment

        launch.start(settings, server_arguments(cli), environment=server_environment(cli))

    if options.url is None and not attach:
        cli.need_a_store()
        start_server()
    path = log_path(settings.dir, options.runner_id) if log_to_file else None
    log = EventLog(as_json=cli.as_json, path=path)
    adopt_strays()
    runner = build(
        settings,
        options,
        log,
        once=once,
        dry_run=dry_run,
        attach=attach,
        start_server=start_server,
    )
    digest = settings_digest(options, settings.policy)
    noted = Noted(options.runner_id, settings.workspace, os.getpid(), log_to_file, digest)
    with announced(settings.dir, noted):
        return runner.run()


def start(cli: Cli, **flags: Any) -> Shown:
    """Start a runner in the background, and wait until it has recorded its presence."""
    from longhouse.executors import load_options
    from longhouse.presence import log_path, runners_here

    settings = cli.settings
    cli.need_a_store()
    settings.make_dir()
    named = load_options(flags, settings.place).runner_id
    named = str(flags.get("runner_id") or f"{named.rpartition('-')[0]}-{os.urandom(3).hex()}")
    words = ["runner", "--dir", str(settings.dir), "--workspace", settings.workspace]
    words += ["--log-to-file", "--runner-id", named]
    if cli.flags.get("policy"):
        words += ["--policy", str(cli.flags["policy"])]
    for option in OPTIONS:
        if option.name != "runner_id" and (value := flags.get(option.name)) is not None:
            words += [f"--{option.name.replace('_', '-')}", str(value)]
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            own_argv(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        ends = time.monotonic() + START_S
        while not any(one.pid == child.pid for one in runners_here(settings.dir)):
            if child.poll() is not None or time.monotonic() > ends:
                child.kill()
                said.seek(0)
                why = said.read(2_000).decode("utf-8", "replace").strip() or "no error message"
                raise Conflict(
                    f"the runner did not start: {why.splitlines()[0]}",
                    recovery="run it in a terminal to see why: longhouse runner",
                )
            time.sleep(0.05)
    path = log_path(settings.dir, named)
    return Shown(
        {"runner_id": named, "pid": child.pid, "log": str(path)},
        [
            f"runner {named} (pid {child.pid}) takes jobs from workspace {settings.workspace}",
            f"log: {path}",
            "to stop it: longhouse runner stop",
        ],
    )


def stop(cli: Cli, runner: str | None = None) -> Shown:
    """Stop this store's runners on this machine, letting running slices finish."""
    from longhouse.client import launch
    from longhouse.executors import load_options
    from longhouse.presence import end, runners_here

    settings = cli.settings
    here = [one for one in runners_here(settings.dir) if runner in (None, one.runner_id)]
    if runner and not here:
        raise UnknownId(
            f"runner: no runner {runner!r} of this store is on this machine",
            recovery="list the runners: longhouse runner status",
        )
    options = load_options({}, settings.place)
    patience_s = options.drain_s + options.kill_grace_s + 20.0
    if here:
        cli.out.progress(f"running slices have {options.drain_s} s to finish …")
    left = [one for one in here if end(one, patience_s)]
    if len(left) < len(here):
        still = ", ".join(f"{one.runner_id} (pid {one.pid})" for one in here if one not in left)
        raise Conflict(
            f"still finishing: {still}",
            recovery="repeat `longhouse runner stop`: a second signal ends slices at once",
        )
    lines = [f"{one.runner_id} stopped; its unfinished jobs are queued again" for one in left]
    lines = lines or ["no runner of this store is on this machine"]
    if settings.runner_autostart and left and launch.alive(settings.dir):
        lines.append("the server starts another while jobs wait; `longhouse down` prevents that")
    return Shown({"stopped": [one.runner_id for one in left]}, lines)


def show_status(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    leases = [*result["runner_leases"]["runners"], *result["runner_leases_offline"]["runners"]]
    rows = [
        {
            "runner": lease["runner_id"],
            "state": lease["status"] if lease["lease_active"] else "offline",
            "job": lease.get("active_job_id", "-"),
            "executors": _agents(lease) or "-",
            "parallel": lease.get("offers", {}).get("max_parallel", 1),
        }
        for lease in sorted(leases, key=lambda lease: str(lease["runner_id"]))
    ]
    yield from table(rows, ("runner", "state", "job", "executors", "parallel"))
    if not rows:
        yield "no runners"
    for issue in result["runner_diagnostics"]["issues"]:
        whose = [issue[key] for key in ("runner_id", "job_id") if issue.get(key)]
        said = issue["kind"].replace("_", " ")
        yield cli.out.style(f"{', '.join(whose)}: {said}", "yellow")
    waits = next((row["waiting"] for row in result["jobs"] if row.get("waiting")), None)
    if waits:
        yield cli.out.style(f"jobs wait: {why_it_waits(waits)}", "yellow")


def _agents(lease: dict[str, Any]) -> str:
    """The executors that can run jobs there; a missing program is said."""
    offers = lease.get("offers", {})
    here = offers.get("available", {})
    return ",".join(
        name if here.get(name, True) else f"{name} (missing)"
        for name in offers.get("executors", [])
    )


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
    "Run delegated jobs on this machine with Codex, Claude Code or your own agent",
    flags=[
        *_flags(),
        Flag("once", "run at most one job, then exit"),
        Flag("dry-run", "claim and report jobs without starting any agent"),
        Flag("attach", "use the running server, and exit when it is stopped"),
        Flag("log-to-file", "log to runners/<id>.log in the store's folder"),
    ],
    run=run,
    children=[
        Command(
            "start",
            "Start a runner in the background, with the current settings",
            flags=[*_flags()],
            run=start,
            calls="jobs.runner.start",
            examples=["longhouse runner start --max-parallel 3"],
        ),
        Command(
            "stop",
            "Stop this store's runners on this machine, letting running slices finish",
            args=[Arg("runner", "only this runner", required=False)],
            run=stop,
        ),
        Command(
            "status",
            "Show the runners and any problems with them",
            calls="jobs.radar",
            show=show_status,
        ),
    ],
    details="On SIGTERM or Ctrl-C it gives running slices a while to finish and returns their jobs "
    "to the queue; a second one ends them at once.",
    examples=[
        "longhouse runner --max-parallel 3",
        "longhouse runner --runner-id r1 --workspace acme",
        "longhouse runner --once --dry-run",
    ],
)
