"""Turns the envelope of a portal call into a command and its plain arguments.

    {workspace?, op, cmd?, args, budget_profile?, fmt?}

`status` and `open` are flat. Other fields beside `args` count as arguments too, since some clients
flatten them. The envelope's workspace wins over the one in `args`.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.inputs import check_json
from longhouse.kernel.registry import Command, Registry

__all__ = ["aim", "unwrap"]

_KINDS = {"TASK-": "task", "PLAN-": "plan"}


def unwrap(registry: Registry, tool: str, arguments: Any) -> tuple[str, dict[str, Any]]:
    """The command and plain arguments of a portal call."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidInput('arguments: expected an object; fix: arguments={"op": "call"}')
    check_json(arguments)
    envelope = dict(arguments)
    command = registry.route(tool, _text(envelope, "op"), _text(envelope, "cmd"))
    if command.cmd == command.portal:
        return command.cmd, envelope
    args = envelope.pop("args", None)
    args = {} if args is None else args
    if not isinstance(args, dict):
        raise InvalidInput('args: expected an object; fix: args={"name": "value"}')
    op = str(envelope.pop("op", "") or "call").strip().lower()
    if op == "call" or "cmd" not in command.fields():
        _same_command(command, envelope.pop("cmd", None))
    own = command.fields()
    if "workspace" not in own and envelope.get("workspace") is not None:
        args = {k: v for k, v in args.items() if k != "workspace"}
    return command.cmd, {**envelope, **args}


def aim(command: Command, args: dict[str, Any]) -> dict[str, Any]:
    """Replace a task command's `target` by the `task` or `plan` that it names."""
    own = command.fields()
    if args.get("target") is None or command.portal != "tasks" or "target" in own:
        return args
    target, rest = args["target"], {k: v for k, v in args.items() if k != "target"}
    wanted = target.get("id") if isinstance(target, dict) else target
    kind = next((k for p, k in _KINDS.items() if str(wanted).startswith(p)), None)
    if not isinstance(wanted, str) or kind is None or kind not in own:
        ids = " or ".join(p + "001" for p, k in _KINDS.items() if k in own) or "nothing"
        raise InvalidInput(f"target: expected {ids}; fix: target={ids.partition(' ')[0]}")
    if isinstance(target, dict) and (
        target.keys() - {"id", "kind"} or target.get("kind") not in (None, kind)
    ):
        raise InvalidInput(f'target: expected {{"id", "kind"}} of one kind; fix: target={wanted}')
    for name in _KINDS.values():
        if rest.get(name) is not None:
            raise InvalidInput(
                f"target: expected target or {name}, not both; fix: {kind}={wanted}",
                hints=[
                    {
                        "kind": "choose_one",
                        "fields": ["target", name],
                        "options": [
                            {"keep": "target", "drop": name},
                            {"keep": name, "drop": "target"},
                        ],
                    }
                ],
            )
    return {**rest, kind: wanted}


def _same_command(command: Command, cmd: Any) -> None:
    if cmd is not None and str(cmd).strip().lower() != command.cmd:
        raise InvalidInput(
            f"cmd: op={command.op} means {command.cmd}, not {str(cmd)[:80]!r}; fix: op=call"
        )


def _text(envelope: dict[str, Any], name: str) -> str | None:
    item = envelope.get(name)
    if item is not None and not isinstance(item, str):
        raise InvalidInput(f"{name}: expected text; fix: {name}=call")
    return item
