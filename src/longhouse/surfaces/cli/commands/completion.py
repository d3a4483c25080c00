"""`longhouse completion`: what a shell needs to complete our command lines, as a script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag, Shown

SHELLS = ("bash", "zsh", "fish")


def run(cli: Cli, shell: str) -> Shown:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
    return Shown({"shell": shell, "script": script}, [script])


def words_by_path() -> dict[str, list[str]]:
    """The words that may follow a command path; the empty path is the program itself."""
    from longhouse.house import registry
    from longhouse.surfaces.cli.commands import NAMES
    from longhouse.surfaces.cli.parse import find

    everywhere = _flags(GLOBALS)
    table = {"": [*NAMES, *everywhere]}
    for name in NAMES:
        for path, command in _walk(name, find(name)):
            words = [child.name for child in command.children]
            words += [choice for arg in command.args for choice in arg.choices]
            table[path] = [*words, *_flags(command.flags), *everywhere]
    table["call"] = [*table["call"], *(command.cmd for command in registry())]
    return table


def _walk(path: str, command: Command) -> Iterator[tuple[str, Command]]:
    yield path, command
    for child in command.children:
        yield from _walk(f"{path} {child.name}", child)


def _flags(flags: Iterable[Flag]) -> list[str]:
    return [f"--{flag.name}" for flag in flags]


def _valued() -> set[str]:
    """Every flag that takes the next word as its value."""
    from longhouse.surfaces.cli.commands import NAMES
    from longhouse.surfaces.cli.parse import find

    flags = [*GLOBALS]
    for name in NAMES:
        flags += [flag for _, command in _walk(name, find(name)) for flag in command.flags]
    return {f"--{flag.name}" for flag in flags if flag.value}


def _bash() -> str:
    cases = "\n".join(
        f'    "{path}") words="{" ".join(words)}" ;;' for path, words in words_by_path().items()
    )
    valued = "|".join(sorted(_valued()))
    return f"""\
# longhouse: completion for bash. Use: eval "$(longhouse completion bash)"
_longhouse() {{
  local cur path word words skip=""
  cur="${{COMP_WORDS[COMP_CWORD]}}"
  path=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [ -n "$skip" ]; then skip=""; continue; fi
    case "$word" in {valued}) skip=1 ;; -*) ;; *) path="${{path:+$path }}$word" ;; esac
  done
  while :; do
    case "$path" in
{cases}
    *) case "$path" in *" "*) path="${{path% *}}"; continue ;; *) words="" ;; esac ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _longhouse longhouse lh"""


def _zsh() -> str:
    return f"""\
# longhouse: completion for zsh. Use: eval "$(longhouse completion zsh)"
autoload -U +X bashcompinit && bashcompinit
{_bash()}"""


def _fish() -> str:
    lines = ["# longhouse: completion for fish. Use: longhouse completion fish | source"]
    for path, words in words_by_path().items():
        seen = " ".join(path.split())
        test = (
            f"__fish_seen_subcommand_from {path.split()[-1]}" if seen else "__fish_use_subcommand"
        )
        lines += [
            f"complete -c {program} -n '{test}' -a '{' '.join(words)}'"
            for program in ("longhouse", "lh")
        ]
    return "\n".join(lines)


command = Command(
    "completion",
    "Print a script that lets your shell complete command lines",
    args=[Arg("shell", "your shell: bash, zsh or fish", choices=SHELLS)],
    run=run,
    examples=['eval "$(longhouse completion bash)"', "longhouse completion fish | source"],
)
