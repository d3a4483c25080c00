"""`longhouse policy`: what background processes may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhouse.kernel.tool_tasks import is_programs_tool
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def _show(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    meaning = {"safe": "only what a rule allows", "full-auto": "all except what a rule denies"}
    yield f"profile {result['profile']}: {meaning[result['profile']]}"
    rows = [{"pattern": "*", "justification": "", "pty": False, **one} for one in result["rules"]]
    rows = [{"effect": "allow", **row, "pty": "yes" if row["pty"] else "-"} for row in rows]
    yield from table(rows, ("id", "effect", "tool", "pattern", "pty", "justification"))
    if not rows:
        yield "no rules; to add one: longhouse policy allow bash 'make *'"


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
    """The words of the command line that a call names."""
    left = dict(call)
    args = dict(left.pop("args", {}))
    words = [args.pop("command")] if "command" in args else args.pop("argv", [])
    pty = left.pop("execution_mode", "pipes") == "pty"
    return {**left, "words": words, "pty": pty or None, **({"args": args} if args else {})}


def _show_withdrawn(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['rule']['id']} is withdrawn"]


def wake(cli: Cli, **rule: Any) -> Shown:
    made = cli.call("tool.wakeup_add", **rule)
    return Shown(
        made, [f"{made['rule']['id']} notifies {_who(made['rule'])} of {_what(made['rule'])}"]
    )


def _show_wakeups(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    rows = [{**rule, "notifies": _who(rule), "of": _what(rule)} for rule in result["rules"]]
    yield from table(rows, ("id", "notifies", "of", "message"))
    if not rows:
        yield "no rules; to add one: longhouse policy wakeup add --name tests --agent ada"


def _show_removed(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['rule']['id']} is removed"]


def _who(rule: dict[str, Any]) -> str:
    return str(rule.get("agent") or rule.get("job"))


def _what(rule: dict[str, Any]) -> str:
    """Which exits a rule is about, in words."""
    ends = {"success": "each success", "failure": "each failure"}
    words = [ends.get(rule.get("ending", "any"), "each exit"), "of"]
    words += [rule["tool"]] if rule.get("tool") else []
    words += ["processes", f"named {rule['name']}"] if rule.get("name") else ["processes"]
    return " ".join(words)


TOOL = Arg("tool", "bash, exec, env, or a command such as jobs.list")
command = Command(
    "policy",
    "Show, test and change what background processes may do",
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
            "Show what the policy decides, without starting anything",
            args=[TOOL, Arg("words", "the command line, after --", required=False, many=True)],
            flags=[Flag("pty", "test it for a terminal")],
            run=ask,
            calls="tool.policy_test",
            values_of=_command_line,
            examples=["longhouse policy test bash -- make test"],
        ),
        Command(
            "allow",
            "Add a rule; operators only",
            args=[
                TOOL,
                Arg(
                    "pattern",
                    "the command lines; * matches any word, or at the end the rest of the line",
                    required=False,
                    many=True,
                ),
            ],
            flags=[
                Flag("deny", "deny it instead"),
                Flag("pty", "also allow it in a terminal"),
                Flag("justification", "why; required with --pty", "TEXT"),
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
            "Withdraw a rule",
            args=[Arg("rule", "the rule, such as RULE-001")],
            calls="tool.policy_withdraw",
            show=_show_withdrawn,
            examples=["longhouse policy withdraw RULE-001"],
        ),
        Command(
            "wakeup",
            "Choose who is notified when a background process exits; by default no one is",
            children=[
                Command(
                    "add",
                    "Add a rule; operators only",
                    flags=[
                        Flag("name", "only processes with this name; * matches any text", "NAME"),
                        Flag("tool", "only processes of this tool", "TOOL"),
                        Flag(
                            "ending",
                            "only exits of this kind (default: any)",
                            "HOW",
                            choices=("any", "success", "failure"),
                        ),
                        Flag("agent", "notify this agent with a message", "AGENT"),
                        Flag("job", "notify this job in its thread", "JOB"),
                        Flag("message", "text to add to the notification", "TEXT"),
                    ],
                    run=wake,
                    calls="tool.wakeup_add",
                    details="A rule only sends messages and starts nothing. Each message is "
                    "recorded as an event that names the rule.",
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
                    "Remove a rule",
                    args=[Arg("rule", "the rule, such as WAKE-001")],
                    calls="tool.wakeup_remove",
                    show=_show_removed,
                ),
            ],
        ),
    ],
)
