"""`longhouse keys`: type into a program running in a terminal, from a script."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import carried_out, find_task
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(
    cli: Cli, task: str, words: Sequence[str] = (), literal: bool = False, eof: bool = False
) -> Shown:
    found = find_task(cli, task)
    typed = {"keys": list(words)} if words else {}
    if words and literal:
        text = "".join(words).encode(errors="surrogateescape")
        typed = {"chunk_b64": base64.b64encode(text).decode()}  # type: ignore[dict-item]
    frame = carried_out(cli, found, "tool.task_write_stdin", eof=eof or None, **typed)
    return Shown(frame, [f"{frame['bytes']} bytes typed into {found['task_id']}"])


def _text(call: Mapping[str, Any]) -> dict[str, Any]:
    """Printable bytes as a literal word."""
    left = dict(call)
    with suppress(ValueError):
        text = base64.b64decode(left["chunk_b64"]).decode() if "chunk_b64" in left else ""
        if text.isprintable() and text:
            del left["chunk_b64"]
            left |= {"literal": True, "keys": [text]}
    return left


command = Command(
    "keys",
    "Type into a program running in a terminal",
    args=[
        Arg("task", "its id or name, such as PROC-001", field="task_id"),
        Arg("words", "text, and keys such as Enter, Tab, Up, C-c and M-x", False, True, (), "keys"),
    ],
    flags=[
        Flag("literal", "type every word as text, even if it names a key", short="l"),
        Flag("eof", "close its input afterwards"),
    ],
    run=run,
    calls="tool.task_write_stdin",
    values_of=_text,
    details="Key names are those of tmux; every other word is typed as it is, with nothing between "
    "words. Only the number of bytes typed is recorded, not the text.",
    examples=["longhouse keys PROC-001 'print(6 * 7)' Enter", "longhouse keys PROC-001 C-c"],
)
