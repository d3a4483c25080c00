"""`longhouse policy`: what background processes may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhouse.kernel.tool_tasks import is_programs_tool
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def _show(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    meaning = {"safe": "only what a rule allows", "full-auto": "all but what a rule forbids"}
    yield f"profile {result['profile']}: {meaning[result['profile']]}"
    rows = [{"pattern": "*", "justification": "", "pty": False, **one} for one in result["rules"]]
    rows = [{"effect": "allow", **row, "pty": "yes" if row["pty"] else "-"} for row in rows]
    yield from table(rows, ("id", "effect", "tool", "pattern", "pty", "justification"))
    if not rows:
        yield "no rules; add one: longhouse policy allow bash 'make *'"


def ask(cli: Cli, tool: str, words: Sequence[str] = (), pty: bool = False) -> Shown:
    args: dict[str, Any] = {}
    if is_programs_tool(tool):
        args = {"command": " ".join(words)} if tool == "bash" else {"argv": list(words)}
    mode = "pty" if pty else "pipes"
    result = cli.call("tool.policy_test", tool=tool, args=args, execution_mode=mode)
    return Shown(result, [f"{result['decision']} by {result['rule']}: {result['why']}"])


def allow(
    cli: Cli, tool: str, pattern: Sequence[str] = (), deny: bool = False, **more: Any
) -> Shown:
    effect = "deny" if deny else "allow"
    made = cli.call(
        "tool.policy_allow", tool=tool, pattern=" ".join(pattern) or None, effect=effect, **more
    )
    rule = made["rule"]
    said = f"{rule['id']} {effect}s {rule['tool']} {rule.get('pattern', '')}".rstrip()
    return Shown(made, [said])


def _effect(call: Mapping[str, Any]) -> dict[str, Any]:
    left = dict(call)
    denied = left.pop("effect", "allow") == "deny"
    return {**left, "deny": denied or None}


def _command_line(call: Mapping[str, Any]) -> dict[str, Any]:
    """The program that a call names, as words."""
    left = dict(call)
    args = dict(left.pop("args", {}))
    words = [args.pop("command")] if "command" in args else args.pop("argv", [])
    pty = left.pop("execution_mode", "pipes") == "pty"
    return {**left, "words": words, "pty": pty or None, **({"args": args} if args else {})}


def _show_withdrawn(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['rule']['id']} holds no more"]


def wake(cli: Cli, **rule: Any) -> Shown:
    made = cli.call("tool.wakeup_add", **rule)
    return Shown(
        made, [f"{made['rule']['id']} tells {_who(made['rule'])} of {_what(made['rule'])}"]
    )


def _show_wakeups(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    rows = [{**rule, "tells": _who(rule), "of": _what(rule)} for rule in result["rules"]]
    yield from table(rows, ("id", "tells", "of", "message"))
    if not rows:
        yield "nobody is told; add a rule: longhouse policy wakeup add --name tests --agent ada"


def _show_removed(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['rule']['id']} tells nobody any more"]


def _who(rule: dict[str, Any]) -> str:
    return str(rule.get("agent") or rule.get("job"))


def _what(rule: dict[str, Any]) -> str:
    """Which ends a rule is about, in words."""
    ends = {"success": "each success", "failure": "each failure"}
    words = [ends.get(rule.get("ending", "any"), "each end")]
    words += [f"of {rule['tool']}"] if rule.get("tool") else []
    words += [f"named {rule['name']}"] if rule.get("name") else []
    return " ".join(words)


TOOL = Arg("tool", "bash, exec, env, or a command such as jobs.list")
command = Command(
    "policy",
    "Show, try and change what background processes may do",
    children=[
        Command(
            "show",
            "Show the profile and the rules",
            calls="tool.policy_show",
            show=_show,
            examples=["longhouse policy show"],
        ),
        Command(
            "test",
            "Ask what policy says, without starting anything",
            args=[TOOL, Arg("words", "the command line, after --", required=False, many=True)],
            flags=[Flag("pty", "in a terminal")],
            run=ask,
            calls="tool.policy_test",
            values_of=_command_line,
            examples=["longhouse policy test bash -- make test"],
        ),
        Command(
            "allow",
            "Add a rule; the operator's alone",
            args=[
                TOOL,
                Arg(
                    "pattern",
                    "which command lines; * is any word, or the rest of the line at its end",
                    required=False,
                    many=True,
                ),
            ],
            flags=[
                Flag("deny", "forbid it instead"),
                Flag("pty", "in a terminal, too"),
                Flag("justification", "why; a rule for terminals needs one", "TEXT"),
            ],
            run=allow,
            calls="tool.policy_allow",
            values_of=_effect,
            examples=[
                "longhouse policy allow bash 'make *'",
                "longhouse policy allow env GITHUB_TOKEN",
            ],
        ),
        Command(
            "withdraw",
            "Take a rule back",
            args=[Arg("rule", "the rule, such as RULE-001")],
            calls="tool.policy_withdraw",
            show=_show_withdrawn,
            examples=["longhouse policy withdraw RULE-001"],
        ),
        Command(
            "wakeup",
            "Say who is told when a background process ends; nobody is without a rule",
            children=[
                Command(
                    "add",
                    "Add a rule; the operator's alone",
                    flags=[
                        Flag("name", "only of processes with this name; * is any letters", "NAME"),
                        Flag("tool", "only of this tool", "TOOL"),
                        Flag(
                            "ending",
                            "only of such ends (default: any)",
                            "HOW",
                            choices=("any", "success", "failure"),
                        ),
                        Flag("agent", "who is told: an agent, by a message", "AGENT"),
                        Flag("job", "who is told: a job, in its thread", "JOB"),
                        Flag("message", "what to say beside how it ended", "TEXT"),
                    ],
                    run=wake,
                    calls="tool.wakeup_add",
                    details="A message is all that a rule sends: nothing is started. Each one is "
                    "an event that names the rule.",
                    examples=["longhouse policy wakeup add --name tests --agent ada"],
                ),
                Command(
                    "list",
                    "List the rules",
                    calls="tool.wakeup_list",
                    show=_show_wakeups,
                ),
                Command(
                    "remove",
                    "Take a rule back",
                    args=[Arg("rule", "the rule, such as WAKE-001")],
                    calls="tool.wakeup_remove",
                    show=_show_removed,
                ),
            ],
        ),
    ],
)
