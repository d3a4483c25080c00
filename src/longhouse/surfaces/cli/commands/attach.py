"""`longhouse attach`: sit down at a program that runs in a terminal elsewhere."""

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
"""How long somebody who is attached waits for a server that went away."""


def run(cli: Cli, task: str) -> int:
    found = find_task(cli, task)
    task_id = found["task_id"]
    if found["execution_mode"] != "pty":
        raise InvalidInput(
            f"{task_id} runs without a terminal, so there is nothing to sit down at",
            recovery=f"see what it prints: longhouse logs {task_id} --follow",
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
    """Refuse where nothing would carry keys to the program."""
    from longhouse.client.doors import RemoteDoor

    if not isinstance(cli.door, RemoteDoor):
        raise Unreachable("no server of this store runs, so no key would arrive", recovery=_UP)


_UP = "start it: longhouse up"


def attend(cli: Cli, task: dict[str, Any]) -> int:
    """Lend the terminal to a task until it ends or Ctrl-] is pressed."""
    from longhouse.client.doors import RemoteDoor
    from longhouse.surfaces.cli.attaching import Attachment
    from longhouse.surfaces.cli.terminal import RawTerminal, Stopped

    need_server(cli)
    assert isinstance(cli.door, RemoteDoor)
    cli.door.patience_s = PATIENCE_S
    task_id = task["task_id"]
    cli.out.progress(f"{task_id} is {task['status']}; Ctrl-] leaves it to itself")
    try:
        with RawTerminal() as terminal:
            attachment = Attachment(cli.door, terminal, task)
            attachment.run()
    except Stopped as stopped:
        return 128 + stopped.number
    except Unreachable as lost:
        lost.recovery = f"it may go on without us; come back: longhouse attach {task_id}"
        raise
    if attachment.failure:
        _say(f"not everything that was typed got there: {attachment.failure}")
    if attachment.detached:
        _say(f"left {task_id} to itself; come back: longhouse attach {task_id}")
        return 0
    ended = find_task(cli, task_id)
    if ended["error"]:
        cli.out.trouble(ended["error"], [])
    return exit_code(ended)


def _last_screen(cli: Cli, task: dict[str, Any]) -> int:
    """What there was to see when it ended, and where to see how that came about."""
    from longhouse.terminals.passive import Passive

    task_id = task["task_id"]
    if task["started_at_ms"] is not None:
        shot = cli.call("tool.task_snapshot", task_id=task_id, budget_profile="audit")
        passive = Passive()
        shown = passive.feed(base64.b64decode(shot["data_b64"]))
        sys.stdout.flush()
        sys.stdout.buffer.write(shown + passive.undo + b"\r\n")
        sys.stdout.buffer.flush()
    _say(f"{task_id} has ended ({task['status']}); how it went: longhouse replay {task_id}")
    return exit_code(task)


def _say(text: str) -> None:
    sys.stderr.write(f"\nlonghouse: {text}\n")
    sys.stderr.flush()


command = Command(
    "attach",
    "Sit down at a program that runs in a terminal",
    args=[Arg("task", "its id or name, such as PROC-001")],
    run=run,
    details="Every key goes to the program, except Ctrl-], which leaves it to itself. Several "
    "people can be attached at once; the size follows whoever typed last. It ends with the "
    "program's exit code when the program ends. A task that has ended shows its last screen.",
    examples=["longhouse attach PROC-001"],
)
