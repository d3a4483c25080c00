"""`longhouse note`: record what was found or decided."""

from __future__ import annotations

import sys

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(cli: Cli, text: str, **where: str) -> Shown:
    content = sys.stdin.read() if text == "-" else text
    result = cli.call("vcs.notes.commit", content=content, **where)
    entry = result["entry"]
    return Shown(result, [f"{cli.out.style(result['ref'], 'yellow')} on {entry['branch']}"])


command = Command(
    "note",
    "Write a note on the task in focus, or on the checked-out branch",
    args=[Arg("text", "the note; - reads stdin", field="content")],
    flags=[
        Flag("title", "a one-line title", "TITLE"),
        Flag("target", "the plan or task it is about", "ID"),
        Flag("branch", "the branch to write on", "BRANCH"),
        Flag("doc", "the document (default: notes)", "DOC"),
    ],
    run=run,
    calls="vcs.notes.commit",
    examples=[
        "longhouse note 'The index was missing.' --title Cause",
        "git diff | longhouse note - --title 'What I tried' --branch idea/cache",
    ],
)
