"""`longhouse recording`: export a task's recording to a file, and import one to view."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import find_task
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def export(cli: Cli, task: str, format: str = "longhouse", output: str = "-") -> Shown | int:
    from longhouse.surfaces.cli.recordings import of_task
    from longhouse.surfaces.cli.upkeep import new_file
    from longhouse.terminals import recording as rec

    recording = of_task(cli, find_task(cli, task)["task_id"])
    header = next(recording)
    lines: Iterator[bytes] = map(rec.encoded, chain([header], recording))
    if format == "asciicast":
        from longhouse.terminals import to_asciicast

        if isinstance(header, rec.Header) and header.mode != "pty":
            raise InvalidInput(
                "an asciicast records a terminal, and this process ran without one",
                recovery=f"longhouse recording export {task}",
            )
        lines = to_asciicast(chain([header], recording))
    digest, size = hashlib.sha256(), 0
    with new_file(output) as target:
        for line in lines:
            target.write(line)
            digest.update(line)
            size += len(line)
    if output == "-":
        return 0
    told = {"file": output, "bytes": size, "sha256": digest.hexdigest()}
    return Shown(told, [f"{output}: {size} bytes, sha256 {told['sha256']}"])


def take_in(cli: Cli, file: str, title: str | None = None) -> Shown:
    from longhouse.surfaces.cli.recordings import of_file, upload
    from longhouse.surfaces.cli.upkeep import readable

    with readable(file) as source:
        for _ in of_file(file, source):  # check the whole file before sending any of it
            pass
        source.seek(0)
        ref = upload(cli, Path(file).name, of_file(file, source))
    made = cli.call("tool.recording_import", artifact=ref, title=title)
    task_id = made["task"]["task_id"]
    return Shown(made, [f"imported as {task_id}", f"next: longhouse replay {task_id}"])


command = Command(
    "recording",
    "Export a recording of a program to a file, or import one",
    children=[
        Command(
            "export",
            "Write the recording of a finished process",
            args=[Arg("task", "its id or name, such as PROC-001")],
            flags=[
                Flag(
                    "format",
                    "the format; asciicast is v3, for asciinema (default: longhouse)",
                    "FORMAT",
                    choices=("longhouse", "asciicast"),
                ),
                Flag("output", "write to this new file (default: stdout)", "FILE", short="o"),
            ],
            run=export,
            details="Secrets are masked, as everywhere, and of typed input only the length is "
            "recorded. The same process always gives the same bytes.",
            examples=["longhouse recording export PROC-001 > session.jsonl"],
        ),
        Command(
            "import",
            "Import a recording as a finished process",
            args=[Arg("file", "a recording or an asciicast v3; - for stdin")],
            flags=[Flag("title", "what it shows", "TEXT")],
            run=take_in,
            details="Nothing is executed, and an imported recording does not count as proof.",
            examples=["longhouse recording import session.jsonl"],
        ),
    ],
)
