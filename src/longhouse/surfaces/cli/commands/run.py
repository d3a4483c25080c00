"""`longhouse run`: start a program in the background and watch it, or detach."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.commands import attach
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import exit_code, find_task, follow
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown

FOLLOWER_PATIENCE_S = 60.0


def run(
    cli: Cli,
    words: Sequence[str] = (),
    shell: str | None = None,
    env: Sequence[str] = (),
    cwd: str | None = None,
    detach: bool = False,
    timeout: int | None = None,
    idle_timeout: int | None = None,
    pty: bool = False,
    **more: Any,
) -> Shown | int:
    args: dict[str, Any] = {"command": shell} if shell else {"argv": list(words)}
    if bool(shell) == bool(words):
        raise InvalidInput(
            "run: expected a program, or a shell command line with -c",
            recovery="longhouse run -- make test",
        )
    if cwd:
        args["cwd"] = cwd
    if env:
        args["env"] = dict(map(_variable, env))
    if pty:
        more["execution_mode"] = "pty"
    if attaches := pty and not (detach or cli.as_json):
        args |= _size_here(cli)
    limits = {"timeout_ms": timeout, "idle_timeout_ms": idle_timeout}
    made = cli.call(
        "tool.task_spawn",
        tool="bash" if shell else "exec",
        args=args,
        **{name: seconds * 1000 for name, seconds in limits.items() if seconds},
        **more,
    )
    if detach or cli.as_json:
        return Shown(made, [made["task_id"]])
    if attaches:
        return attach.attend(cli, find_task(cli, made["task_id"]))
    cli.patience_s = FOLLOWER_PATIENCE_S
    return _attend(cli, made["task_id"])


def _size_here(cli: Cli) -> dict[str, int]:
    """The size of this terminal, which the program's terminal starts with."""
    from longhouse.surfaces.cli.terminal import need_terminal

    need_terminal("run --pty", "detach it with -d, and type with `longhouse keys`")
    attach.need_server(cli)
    columns, rows = os.get_terminal_size(sys.stdin.fileno())
    return {"rows": max(1, rows), "cols": max(1, columns)}


def _attend(cli: Cli, task_id: str) -> int:
    """Show output until it exits; Ctrl-C stops it, and a second Ctrl-C detaches."""
    cli.out.progress(f"{task_id} is queued; Ctrl-C stops it")
    after, asked = -1, False
    while True:
        try:
            if asked:
                cli.call("tool.task_cancel", task_id=task_id, reason="Ctrl-C")
            for seen in follow(cli, task_id, after):
                after = seen
            break
        except KeyboardInterrupt:
            if asked:
                sys.stderr.write(f"\nlonghouse: detached from {task_id}\n")
                return 130
            asked = True
            sys.stderr.write(f"\nlonghouse: stopping {task_id}; Ctrl-C again detaches\n")
    task = find_task(cli, task_id)
    if task["error"]:
        cli.out.trouble(task["error"], [])
    return exit_code(task)


def _variable(text: str) -> tuple[str, Any]:
    """`NAME=value`, or `NAME` to take the variable from the host it runs on."""
    name, equals, value = text.partition("=")
    return (name, value) if equals else (name, {"from": f"env:{name}"})


def _values_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """A spawn call as words and flags, with its milliseconds as seconds."""
    left = dict(call)
    args = dict(left.pop("args", {}))
    said = {"shell": args.pop("command", None), "words": args.pop("argv", [])}
    said |= {"cwd": args.pop("cwd", None)}
    for flag in ("timeout", "idle_timeout"):
        if left.get(f"{flag}_ms", 1) % 1000 == 0:
            said[flag] = left.pop(f"{flag}_ms") // 1000
    if left.get("tool") == ("bash" if said["shell"] else "exec"):
        del left["tool"]
    if left.get("execution_mode") in ("pipes", "pty"):
        said["pty"] = True if left.pop("execution_mode") == "pty" else None
    return {**left, **said, **({"args": args} if args else {})}


command = Command(
    "run",
    "Run a program in the background and watch it",
    args=[Arg("words", "the program and its arguments, after --", required=False, many=True)],
    flags=[
        Flag("shell", "a bash command line instead of a program", "LINE", short="c"),
        Flag("detach", "print its id and return at once", short="d"),
        Flag("pty", "run it in a terminal and attach; Ctrl-] detaches"),
        Flag("name", "a name to find it by, reusable once it has exited", "NAME"),
        Flag("title", "what it is for", "TEXT"),
        Flag("cwd", "the working folder, below the workspace's root", "DIR"),
        Flag("env", "a variable: NAME=VALUE, or NAME to take it from the host", "NAME", many=True),
        Flag("timeout", "stop it after this many seconds", "S", kind=int),
        Flag("idle-timeout", "stop it after this many seconds without output", "S", kind=int),
        Flag("job", "the job it belongs to", "JOB"),
        Flag("lifetime", "stop it with its job, or not", "WHAT", choices=("job", "workspace")),
    ],
    run=run,
    calls="tool.task_spawn",
    values_of=_values_of,
    details="The exit code is the program's. Ctrl-C stops the program; a second Ctrl-C detaches "
    "without waiting for that. Only programs that the policy allows are started: "
    "`longhouse policy show`.",
    examples=[
        "longhouse run -- make test",
        "longhouse run --pty -- python3",
        "longhouse run -d --name dev -- npm run dev",
    ],
)
