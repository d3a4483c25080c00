"""`longhouse logs`: the output of a background process, or the log of the server."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from longhouse.client.launch import LOG_NAME
from longhouse.kernel.errors import UnknownId
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

PAUSE_S = 0.5
LINES = 40


def run(
    cli: Cli,
    task: str | None = None,
    lines: int | None = None,
    follow: bool = False,
    runner: str | None = None,
    stream: str | None = None,
) -> Shown | int:
    if task is not None:
        return _task(cli, task, lines, stream, follow=follow)
    path, lines = _file(cli.settings.dir, runner), LINES if lines is None else lines
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


def _task(
    cli: Cli, task: str, lines: int | None, stream: str | None, *, follow: bool
) -> Shown | int:
    from longhouse.surfaces.cli.processes import find_task
    from longhouse.surfaces.cli.processes import follow as go_on

    found = find_task(cli, task)
    task_id = found["task_id"]
    streams = [stream] if stream else list(found["artifacts"]["logs"])
    if follow and lines is None:
        return _follow(go_on(cli, task_id, streams=dict.fromkeys(streams, 0)))
    tail = max(1, LINES if lines is None else lines)
    pages = {
        name: cli.call("tool.output_fetch", task_id=task_id, stream=name, tail_lines=tail)
        for name in streams
    }
    if follow:
        begins = {name: page["offset_bytes"] for name, page in pages.items()}
        return _follow(go_on(cli, task_id, streams=begins))
    if found["error"]:
        cli.out.trouble(found["error"], [])
    texts = {name: "".join(p["text"] for p in page["parts"]) for name, page in pages.items()}
    return Shown(
        {"task_id": task_id, **texts}, [line for t in texts.values() for line in t.splitlines()]
    )


def _follow(shown: Iterator[int]) -> int:
    try:
        for _ in shown:
            pass
    except KeyboardInterrupt:
        pass
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
    "Show what a background process printed, or the server's own log",
    args=[Arg("task", "the process's id or name (default: the server's log)", required=False)],
    flags=[
        Flag("stream", "only this stream", "NAME", choices=("stdout", "stderr", "pty")),
        Flag(
            "lines",
            "show the last N lines (default: 40; with --follow, all of a process)",
            "N",
            short="n",
            kind=int,
        ),
        Flag("follow", "keep showing new output until Ctrl-C", short="f"),
        Flag("runner", "show the log of this background runner", "ID"),
    ],
    run=run,
    details="For what agents and people did, see `longhouse events`; for a branch's notes, see "
    "`longhouse log`.",
    examples=["longhouse logs PROC-001 --follow", "longhouse logs -n 200"],
)
