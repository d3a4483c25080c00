"""`longhouse events`: the workspace's log, past and live."""

from __future__ import annotations

import json
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.output import Cut
from longhouse.surfaces.cli.render import clock_time
from longhouse.surfaces.cli.spec import Command, Flag

RECENT = 50
FOLLOWER_PATIENCE_S = 60.0
"""A follower waits longer than a call for the server to come back."""


def run(
    cli: Cli, after: int | None = None, stream: list[str] | None = None, follow: bool = False
) -> int:
    if follow:
        cli.patience_s = FOLLOWER_PATIENCE_S
    if after is None:
        after = max(0, int(cli.call("status")["seq"]) - RECENT)
    rows = cli.door.events(
        after, streams=tuple(stream or ()), follow=follow, workspace=cli.settings.workspace
    )
    try:
        for row in rows:
            if cli.as_json:
                answer = {"ok": True, "command": "events", "data": row, "error": None}
                cli.out.json(answer, pretty=False)
            else:
                cli.out.line(_text(cli, row))
            if follow:
                cli.out.flush()
    except KeyboardInterrupt:
        if not follow:
            raise
    return 0


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _text(cli: Cli, row: dict[str, Any]) -> str:
    data = row["data"]
    message = data.get("message") or data.get("title") or (_json(data) if data else "")
    said = " ".join(str(message).split())
    head = f"{row['seq']:>6}  {clock_time(row['ts_ms'])}"
    body = f"{row['stream']:<8}  {row['subject']}  {row['kind']}"
    actor = f"  by {row['actor']}" if row.get("actor") else ""
    return Cut(f"{cli.out.style(head, 'dim')}  {body}{actor}  {said[:160]}".rstrip())


command = Command(
    "events",
    "Show the workspace's log, or follow it live",
    flags=[
        Flag("follow", "keep showing new events until Ctrl-C", short="f"),
        Flag("after", f"start after this seq (default: the last {RECENT})", "SEQ", kind=int),
        Flag("stream", "only this stream, such as jobs; may be repeated", "NAME", many=True),
    ],
    run=run,
    details="With --json, each event is printed as a separate one-line answer.",
    examples=["longhouse events --follow", "longhouse events --after 0 --stream jobs --json"],
)
