"""`longhouse completion`: shell completion for command lines.

A shell's script is short: it runs `longhouse completion words -- WORDS...`, which knows the
commands, the flags and their values, and the ids in the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag, Shown

SHELLS = ("bash", "zsh", "fish")
ASKED = ("words",)
MOST = 50

_IDS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "job": ("jobs.list", {"limit": MOST}, "jobs", "{id}"),
    "task": ("tasks.context", {"plans_limit": 0}, "tasks", "{id}"),
    "plan": ("tasks.context", {"tasks_limit": 0}, "plans", "{id}"),
    "branch": ("vcs.branch.list", {}, "branches", "{name}"),
    "note": ("docs.show", {"doc_kind": "notes", "limit": 20}, "entries", "{doc}@{seq}"),
    "artifact": ("docs.artifact.list", {"limit": 20}, "artifacts", "{handle}"),
    "agent": ("agents.list", {"limit": MOST}, "agents", "{agent_id}"),
    "token": ("system.token.list", {}, "tokens", "{id}"),
    "workspace": ("workspace.list", {"limit": MOST}, "workspaces", "{workspace}"),
}
"""How each kind of id is listed: the call, its arguments, where the rows are, and their id."""

_NAMED = {
    "job": ("job",),
    "after": ("job",),
    "task": ("task",),
    "target": ("task", "plan"),
    "plan": ("plan",),
    "branch": ("branch",),
    "base": ("branch",),
    "a": ("branch",),
    "b": ("branch",),
    "ref": ("branch", "note"),
    "agent": ("agent",),
    "to": ("agent",),
    "assignee": ("agent",),
    "adopt": ("agent",),
    "workspace": ("workspace",),
    "owner": ("job",),
}
"""The kinds of id that an argument or flag of this name takes, in every command."""
_OF_A_COMMAND = {
    "open id": ("job", "task", "plan", "note", "artifact"),
    "artifact id": ("artifact",),
    "token id": ("token",),
    "branch name": ("branch",),
}


def run(cli: Cli, shell: str, words: list[str]) -> Shown:
    if shell == "words":
        *before, begun = words or [""]
        found = sorted(set(_fitting(cli, before, begun)))
        return Shown({"words": found}, found)
    script = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell]
    return Shown({"shell": shell, "script": script}, [script])


def _fitting(cli: Cli, before: Sequence[str], begun: str) -> Iterator[str]:
    """Every word that may come next and starts with the typed prefix."""
    for word in _possible(cli, before, begun):
        if word.startswith(begun):
            yield word


def _possible(cli: Cli, before: Sequence[str], begun: str) -> Iterator[str]:
    from longhouse.surfaces.cli.commands import NAMES
    from longhouse.surfaces.cli.parse import find

    command: Command | None = None
    path, plain, flags = "", 0, _by_name(GLOBALS)
    waiting: Flag | None = None
    for word in before:
        if waiting is not None:
            if waiting in GLOBALS:  # complete ids from the store that the line names
                cli.flags[waiting.key] = word
            waiting = None
        elif word.startswith("-"):
            flag = flags.get(word)
            waiting = flag if flag is not None and flag.value else None
        elif command is None:
            if word not in NAMES:
                return
            path, command = word, find(word)
            flags |= _by_name(command.flags)
        elif (child := command.child(word)) is not None:
            path, command = f"{path} {word}", child
            flags |= _by_name(command.flags)
        else:
            plain += 1
    if waiting is not None:
        yield from waiting.choices or _ids(cli, path, waiting.key)
    elif begun.startswith("-"):
        yield from (name for name in flags if name.startswith("--"))
    elif command is None:
        yield from NAMES
    else:
        yield from (child.name for child in command.children)
        yield from _values(cli, path, _arg_at(command, plain), plain)


def _by_name(flags: Sequence[Flag]) -> dict[str, Flag]:
    names = {f"--{flag.name}": flag for flag in flags}
    return names | {f"-{flag.short}": flag for flag in flags if flag.short}


def _arg_at(command: Command, place: int) -> Arg | None:
    """The positional argument that the next word becomes."""
    if place < len(command.args):
        return command.args[place]
    return command.args[-1] if command.args and command.args[-1].many else None


def _values(cli: Cli, path: str, arg: Arg | None, place: int) -> Iterator[str]:
    if arg is None:
        return
    if path == "call" and place == 0:
        from longhouse.house import registry

        yield from (command.cmd for command in registry())
    elif path == "docs":
        from longhouse.surfaces.cli.commands.docs import pages

        yield from pages()
    yield from arg.choices or _ids(cli, path, arg.name)


def _ids(cli: Cli, path: str, name: str) -> Iterator[str]:
    """The ids in the store; without a store there are none, and none is created."""
    first = path.partition(" ")[0]
    kinds = _OF_A_COMMAND.get(f"{first} {name}") or _NAMED.get(name, ())
    if not kinds or (cli.settings.is_sqlite and not Path(cli.settings.db).exists()):
        return
    for kind in kinds:
        cmd, args, rows, key = _IDS[kind]
        try:
            listed = cli.ask(cmd, args).result()[rows]
            yield from [key.format_map(row) for row in listed]
        except (LonghouseError, LookupError):
            continue


_BASH = """\
# longhouse: completion for bash. Use: eval "$(longhouse completion bash)"
_longhouse() {
  local IFS=$'\\n'
  COMPREPLY=($("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _longhouse longhouse lh"""

_ZSH = """\
# longhouse: completion for zsh. Use: eval "$(longhouse completion zsh)"
_longhouse() {
  local -a found
  found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- "${found[@]}" || _files
}
compdef _longhouse longhouse lh"""

_FISH = """\
# longhouse: completion for fish. Use: longhouse completion fish | source
function __longhouse
  set -l before (commandline -opc)
  $before[1] completion words -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c longhouse -a '(__longhouse)'
complete -c lh -a '(__longhouse)'"""


command = Command(
    "completion",
    "Print a shell completion script",
    args=[
        Arg("shell", "your shell; the scripts use `words`", choices=(*SHELLS, *ASKED)),
        Arg("words", "for `words`: the command line so far, after --", False, True),
    ],
    run=run,
    examples=['eval "$(longhouse completion bash)"', "longhouse completion fish | source"],
)
