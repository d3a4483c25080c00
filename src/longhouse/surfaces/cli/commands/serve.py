"""`longhouse serve`: run the server in this process."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag


def run(cli: Cli, idle_exit: int | None = None, log_to_file: bool = False) -> int:
    from longhouse.surfaces.server import serve

    if idle_exit is not None:
        cli.flags["idle_exit_s"] = idle_exit
    serve(cli.settings, log_to_file=log_to_file)
    return 0


command = Command(
    "serve",
    "Run the server in this process",
    flags=[
        Flag("idle-exit", "exit after this many seconds without a request", "SECONDS", kind=int),
        Flag("log-to-file", "log to server.log in the store's folder"),
    ],
    run=run,
    details="For service managers and containers; in a terminal, use `longhouse up`.",
    examples=["longhouse serve --host 0.0.0.0 --port 7331 --token-file /etc/longhouse/token"],
)
