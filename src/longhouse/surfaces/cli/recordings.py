"""Recordings on the command line: read from a file or a task, and uploaded to the store."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import find_task
from longhouse.surfaces.cli.upkeep import readable
from longhouse.terminals import read_either
from longhouse.terminals import recording as rec

__all__ = ["Recording", "of_file", "of_task", "recording_named", "upload"]

Recording = Iterator[rec.Header | rec.Event]
"""The header and the events of a recording; BadRecording where it breaks off."""

_BLOCK = 1 << 18
_PART = 1_000_000
_KEEP_PARTS_S = 3_600


def recording_named(cli: Cli, name: str) -> Recording:
    """The recording in a file, or of a task by its id or name."""
    if not name.startswith("PROC-") and (name == "-" or Path(name).is_file()):
        with readable(name) as file:
            yield from of_file(name, file)
    else:
        yield from of_task(cli, find_task(cli, name)["task_id"])


def of_file(name: str, file: BinaryIO) -> Recording:
    """The recording in an open file, in either format; InvalidInput if it is damaged."""
    try:
        yield from read_either(iter(lambda: file.read(_BLOCK), b""))
    except rec.BadRecording as error:
        raise InvalidInput(
            f"{name} is not a complete recording: {error}",
            recovery="create one: longhouse recording export PROC-001 > FILE",
        ) from None


def of_task(cli: Cli, task_id: str) -> Recording:
    """The recording of a finished task."""
    return rec.read(rec.lines_of(_pages(cli, task_id)))


def _pages(cli: Cli, task_id: str) -> Iterator[bytes]:
    cursor = None
    while True:
        page = cli.call("tool.recording_export", task_id=task_id, cursor=cursor)
        yield base64.b64decode(page["data_b64"])
        cursor = page["next_cursor"]
        if cursor is None:
            return


def upload(cli: Cli, name: str, lines: Iterable[rec.Header | rec.Event]) -> str:
    """Store a recording in parts that fit one call each; the parts expire after an hour."""
    parts: list[str] = []
    whole, waiting = hashlib.sha256(), b""
    for line in lines:
        data = rec.encoded(line)
        whole.update(data)
        waiting += data
        if len(waiting) >= _PART - rec.MOST_LINE:
            parts.append(_part(cli, f"{name} part {len(parts)}", waiting))
            waiting = b""
    parts.append(_part(cli, f"{name} part {len(parts)}", waiting))
    about = {"name": name, "media_type": "application/jsonl", "expires_in_s": _KEEP_PARTS_S}
    joined = cli.call("docs.artifact.join", parts=parts, digest=whole.hexdigest(), **about)
    return str(joined["ref"])


def _part(cli: Cli, name: str, data: bytes) -> str:
    coded = base64.b64encode(data).decode()
    added = cli.call("docs.artifact.add", name=name, content_b64=coded, expires_in_s=_KEEP_PARTS_S)
    return str(added["artifact"]["handle"])
