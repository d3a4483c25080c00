"""`longhouse attach`: connect this terminal to a program running in one elsewhere."""

from __future__ import annotations

import base64
import sys
from typing import Any

from longhouse.kernel.errors import InvalidInput, Unreachable
from longhouse.kernel.tool_tasks import ENDED
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import exit_code, find_task
from longhouse.surfaces.cli.spec import Arg, Command

PATIENCE_S = 60.0
"""How long an attached terminal waits for a lost server to come back."""


def run(cli: Cli, task: str) -> int:
    found = find_task(cli, task)
    task_id = found["task_id"]
    if found["execution_mode"] != "pty":
        raise InvalidInput(
            f"{task_id} runs without a terminal, so there is nothing to attach to",
            recovery=f"follow its output: longhouse logs {task_id} --follow",
        )
    need_terminal(task_id)
    if found["status"] in ENDED:
        return _last_screen(cli, found)
    return attend(cli, found)


def need_terminal(task: str = "PROC-001") -> None:
    from longhouse.surfaces.cli import terminal

    terminal.need_terminal(
        "attach",
        f"in a script, type with `longhouse keys {task} 'text' Enter` and read with "
        f"`longhouse logs {task}`",
    )


def need_server(cli: Cli) -> None:
    """Refuse if no server is running to carry keys to the program."""
    from longhouse.client import RemoteDoor

    if not isinstance(cli.door, RemoteDoor):
        raise Unreachable(
            "attaching to a terminal needs a server, and none is running", recovery=_UP
        )


_UP = "start it: longhouse up"


def attend(cli: Cli, task: dict[str, Any]) -> int:
    """Lend the terminal to a task until it exits or Ctrl-] is pressed."""
    from longhouse.client import RemoteDoor
    from longhouse.surfaces.cli.attaching import Attachment
    from longhouse.surfaces.cli.terminal import RawTerminal, Stopped

    need_server(cli)
    assert isinstance(cli.door, RemoteDoor)
    cli.door.patience_s = PATIENCE_S
    task_id = task["task_id"]
    cli.out.progress(f"{task_id} is {task['status']}; Ctrl-] detaches")
    try:
        with RawTerminal() as terminal:
            attachment = Attachment(cli.door, terminal, task)
            attachment.run()
    except Stopped as stopped:
        return 128 + stopped.number
    except Unreachable as lost:
        lost.recovery = f"it may still be running; attach again: longhouse attach {task_id}"
        raise
    if attachment.failure:
        _say(f"some keys did not reach the program: {attachment.failure}")
    if attachment.detached:
        _say(f"detached from {task_id}; to return: longhouse attach {task_id}")
        return 0
    ended = find_task(cli, task_id)
    if ended["error"]:
        cli.out.trouble(ended["error"], [])
    return exit_code(ended)


def _last_screen(cli: Cli, task: dict[str, Any]) -> int:
    """Show the screen as it was when the program exited, and how to replay it."""
    from longhouse.terminals import Passive

    task_id = task["task_id"]
    if task["started_at_ms"] is not None:
        shot = cli.call("tool.task_snapshot", task_id=task_id, budget_profile="audit")
        passive = Passive()
        shown = passive.feed(base64.b64decode(shot["data_b64"]))
        sys.stdout.flush()
        sys.stdout.buffer.write(shown + passive.undo + b"\r\n")
        sys.stdout.buffer.flush()
    _say(f"{task_id} has finished ({task['status']}); to replay it: longhouse replay {task_id}")
    return exit_code(task)


def _say(text: str) -> None:
    sys.stderr.write(f"\nlonghouse: {text}\n")
    sys.stderr.flush()


command = Command(
    "attach",
    "Attach to a program running in a terminal",
    args=[Arg("task", "its id or name, such as PROC-001")],
    run=run,
    details="Every key goes to the program, except Ctrl-], which detaches. Several people can be "
    "attached at once; the terminal's size follows the last one to type. When the program exits, "
    "so does attach, with the same exit code. For a finished process it shows the last screen.",
    examples=["longhouse attach PROC-001"],
)
