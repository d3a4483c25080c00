"""`longhouse logs`: what the server, or a runner that it started, wrote down."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from longhouse.client.launch import LOG_NAME
from longhouse.kernel.errors import UnknownId
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown

PAUSE_S = 0.5


def run(cli: Cli, lines: int = 40, follow: bool = False, runner: str | None = None) -> Shown | int:
    path = _file(cli.settings.dir, runner)
    if not follow:
        last = _last(path, lines)
        return Shown({"file": str(path), "lines": last}, last)
    try:
        for text in _last(path, lines):
            cli.out.line(text)
        with path.open(encoding="utf-8", errors="replace") as file:
            file.seek(0, 2)
            while True:
                while text := file.readline():
                    cli.out.line(text.rstrip("\n"))
                cli.out.flush()
                time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        return 0


def _file(folder: Path, runner: str | None) -> Path:
    path = folder / LOG_NAME if runner is None else folder / "runners" / f"{Path(runner).name}.log"
    if path.is_file():
        return path
    kept = sorted(one.stem for one in (folder / "runners").glob("*.log"))
    raise UnknownId(
        f"there is no log at {path}",
        recovery=f"use --runner {kept[0]}" if runner and kept else "start a server: longhouse up",
    )


def _last(path: Path, count: int) -> list[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        return [text.rstrip("\n") for text in deque(file, maxlen=max(0, count))]


command = Command(
    "logs",
    "Show what the server of this store wrote to its log",
    flags=[
        Flag("lines", "how many of the last lines (default: 40)", "N", short="n", kind=int),
        Flag("follow", "go on with what it writes from now, until Ctrl-C", short="f"),
        Flag("runner", "the log of a runner that the server started", "ID"),
    ],
    run=run,
    details="What agents and people did is shown by `longhouse events`, the notes of a branch by "
    "`longhouse log`.",
    examples=["longhouse logs --follow", "longhouse logs -n 200"],
)
