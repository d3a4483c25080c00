"""Starts a real server (or the embedded MCP server) for a test, with two things added.

A command that waits, so that cancelling can be tried, and a record of every program that this
process starts or becomes, which must stay empty.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from longhouse import house
from longhouse.config import load
from longhouse.kernel.registry import Registry
from longhouse.kernel.rooms import Room
from longhouse.kernel.values import Request, Result
from longhouse.store.tx import Tx, Wait

PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pty.spawn")

room = Room("probe")


class AwaitSeq(Request, frozen=True, kw_only=True):
    seq: int
    timeout_ms: int = 60_000


class Reached(Result, frozen=True, kw_only=True):
    seq: int
    reached: bool


@room.command("system.probe.wait", example=AwaitSeq(seq=0))
def await_seq(tx: Tx, req: AwaitSeq) -> Reached | Wait:
    """Wait until the workspace's log is at a seq."""
    at = tx.last_seq()
    if at >= req.seq:
        return Reached(seq=at, reached=True)
    return Wait(Reached(seq=at, reached=False), req.timeout_ms)


class FailNow(Request, frozen=True, kw_only=True):
    pass


@room.command("system.probe.fail", example=FailNow())
def fail(tx: Tx, req: FailNow) -> Reached:
    """Fail in a way that nobody foresaw."""
    raise RuntimeError("secret detail")


def main(how: str, flags: dict[str, Any]) -> None:
    rooms = house.registry().rooms
    house.registry = lambda: Registry([*rooms, room])
    given = {key: value for key, value in flags.items() if key != "stall_s"}
    settings = load(given, environ={}, cwd=Path(flags["dir"]).parent)
    record = Path(flags["dir"]).parent / "programs"

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in PROGRAMS:
            with record.open("a") as file:
                file.write(f"{event} {args[:1]}\n")

    sys.addaudithook(audit)
    if "stall_s" in flags:
        from longhouse.surfaces.http import events

        events.STALL_S = flags["stall_s"]
    if how == "mcp":
        from longhouse.surfaces.mcp.stdio import serve_stdio

        serve_stdio(settings)
        return
    from longhouse.kernel.errors import LonghouseError
    from longhouse.surfaces.http.access import is_loopback
    from longhouse.surfaces.server import serve

    def only_127_0_0_1(host: str) -> bool:
        return host == "127.0.0.1"

    is_local = only_127_0_0_1 if how == "serve-for-others" else is_loopback
    try:
        serve(settings, announce=lambda _running, url: print(url, flush=True), is_local=is_local)
    except LonghouseError as error:
        print(f"{error.code}: {error.message} | {error.recovery}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
