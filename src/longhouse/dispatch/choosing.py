"""Which command a word means that is the name of none, by the arguments that come with it.

Only one reading is taken. A word of another tool is never carried out: its exact call is offered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhouse.dispatch.meaning import fit, is_its_name, misfit, takes_ids
from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.names import PORTALS, is_id, plain_name
from longhouse.kernel.refs import ref_grammar
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.schema import decode, split_common
from longhouse.kernel.synonyms import is_search, is_verb, looks_at, same_words

__all__ = ["choose", "elsewhere", "unclear"]

Meant = tuple[Command, dict[str, Any]]


def choose(registry: Registry, tool: str, word: str, args: Mapping[str, Any]) -> Meant | None:
    """The one command of a tool that a word means with these arguments, and what the word adds.

    Of several, it is the one that takes all the arguments, then the one whose name is nearest, that
    lacks the fewest, and that is about the tool's own things; of several left, the only read. If
    none takes them, and they name a step, what is meant may be done with steps.
    """
    found = _chosen(registry, tool, word, args)
    if found is not None and misfit(*found)[0] and _STEP & args.keys():
        bare = plain_name(word).removeprefix(f"{tool}.")
        of_step = _chosen(registry, tool, f"{tool}.step.{bare}", args)
        if of_step is not None and not misfit(*of_step)[0]:
            return of_step
    return found


_STEP = frozenset({"path", "step", "step_id"})


def _chosen(registry: Registry, tool: str, word: str, args: Mapping[str, Any]) -> Meant | None:
    ranked = []
    for level, command, preset in registry.called(tool, word):
        strange, lacks = misfit(command, {**preset, **args})
        elsewhere = not command.cmd.startswith(f"{tool}.")
        said_so = elsewhere and word.strip().lower().startswith(f"{tool}.")
        if command.writes and not args:
            lacks = max(1, lacks)  # a bare word does not say what to change
        ranked.append(((strange, level, said_so, lacks, elsewhere), command, preset))
    if not ranked:
        return None
    least = min(rank for rank, _, _ in ranked)
    best = [(command, preset) for rank, command, preset in ranked if rank == least]
    if len(best) > 1 and not least[0]:  # arguments that no read takes may mean the write
        best = [one for one in best if not one[0].writes]
    if len(best) != 1:
        return None
    command, preset = best[0]
    return command, {**preset, **args}


def elsewhere(
    registry: Registry, tool: str, found: Meant | None, word: str, args: Mapping[str, Any]
) -> Suggestion | None:
    """The call of another tool that the word means, if no command here takes the arguments.

    It reads, and takes all that was said. Something that is only to be shown is opened by its id.
    """
    if found is not None and (is_its_name(found[0], word) or not misfit(*found)[0]):
        return None
    meant = _by_word(registry, tool, word, args) or _opened(registry, word, args)
    if meant is None:
        return None
    command, given = meant
    own, _ = split_common(command, given)
    return Suggestion(
        decode(command, own),
        "the same call, with the right names",
        action_id=f"recover.portal::{command.cmd}",
        common={name: item for name, item in given.items() if name not in own and item},
    )


def _by_word(registry: Registry, tool: str, word: str, args: Mapping[str, Any]) -> Meant | None:
    if is_verb(plain_name(word)) and not is_search(word):
        return None  # any tool shows, lists or makes something
    ranked = []
    for level, command, preset in (
        one for other in PORTALS if other != tool for one in registry.called(other, word)
    ):
        given = {**preset, **args}
        if args and not command.writes_given(given) and misfit(command, given) == (0, 0):
            fitted = fit(command, given)[0]
            own = same_words(word) == same_words(command.cmd.partition(".")[2])
            rank = (not own, level)
            ranked += [(rank, command, fitted)] if takes_ids(command, fitted) else []
    least = min((rank for rank, _, _ in ranked), default=None)
    best = [(command, given) for rank, command, given in ranked if rank == least]
    return best[0] if len(best) == 1 else None


def _opened(registry: Registry, word: str, args: Mapping[str, Any]) -> Meant | None:
    """`open`, for a word that says only to look, with the one id of what is to be seen."""
    named = [item for item in args.values() if item is not None]
    if len(named) != 1 or not is_id(named[0]) or "open" not in registry:
        return None
    looks = looks_at(plain_name(word))
    if looks is None or (looks and not any(looks in one.kind for one in ref_grammar().kinds)):
        return None
    return registry.get("open"), {"id": named[0]}


def unclear(
    registry: Registry, tool: str, word: str, error: LonghouseError, args: Mapping[str, Any]
) -> LonghouseError:
    """The refusal of a word, with the commands that it may mean here, else in other tools.

    `open` is meant only if something is named that could be opened.
    """
    if error.hints and error.hints[0].get("nearest") == "open":
        if not any(is_id(value) for value in args.values()):
            error.hints = ({**error.hints[0], "nearest": None}, *error.hints[1:])
            error.recovery = "list the tool's commands with system.cmd.list"
        return error
    found = sorted(registry.called(tool, word) if word else (), key=lambda one: one[0])
    meant = [command for _, command, _ in found]
    if not meant and word and not any(hint.get("nearest") for hint in error.hints):
        meant = _named_elsewhere(registry, tool, plain_name(word), args)
        if len(meant) == 1:
            error.hints = ({**error.hints[0], "nearest": meant[0].cmd}, *error.hints[1:])
            error.recovery = f"use {meant[0].where}"
    if len(meant) > 1:
        ways = [one.how if one.portal == tool else one.where for one in meant][:4]
        error.recovery = f"it may mean {', '.join(ways[:-1])} or {ways[-1]}"
    return error


def _named_elsewhere(
    registry: Registry, tool: str, name: str, args: Mapping[str, Any]
) -> list[Command]:
    """The commands of other tools that are called so; those of a family are listed by its name.

    A single word is general, so it must be the name of a command that takes what was said.
    """
    if is_verb(name):
        return []
    found: dict[str, tuple[int, Command]] = {}
    for other in (one for one in PORTALS if one != tool):
        families = {one.cmd.partition(".")[0] for one in registry if one.portal == other}
        word = f"{name}.list" if name in families else name
        for level, command, preset in registry.called(other, word):
            strange, lacks = misfit(command, args)
            sure = level <= _EXACT or (not lacks and (not command.writes or len(args) > 1))
            fits = bool(args) and not strange and sure
            if level <= _DECLARED and not preset and ("." in word or command.cmd == name or fits):
                found.setdefault(command.cmd, (level, command))
    least = min((level for level, _ in found.values()), default=0)
    return [command for level, command in found.values() if level == least]


_EXACT, _DECLARED = 1, 2
"""The levels of `Registry.called` up to which a word is the name, or a name, of the command."""
