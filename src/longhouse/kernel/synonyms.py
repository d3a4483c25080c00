"""Words that mean the same: verbs in command names, names of arguments, values of choices.

What only one command, or one field, is called stands with it (`also`). These tables hold what
everybody calls so. A word means something only where exactly one of its meanings is possible.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

__all__ = [
    "VOCABULARY",
    "about",
    "fields_for",
    "is_plural",
    "is_search",
    "is_verb",
    "looks_at",
    "same_words",
    "values_for",
    "verb_adds",
]

_VERBS = {
    "show": "get view read fetch describe inspect info display cat",
    "list": "ls all index enumerate",
    "create": "new add make",
    "delete": "remove rm del destroy erase",
    "edit": "update modify change amend",
    "search": "find grep query lookup",
}
_ADDING_WORDS = "add create new write post make send leave store save record append"
_FILLER_WORDS = "a an the my of to for what is me do bd should i we please now on about"
_LOOKING_WORDS = "get show check read list view see fetch print retrieve search find query load"
_ADDING, _LOOKING, _FILLERS = (
    frozenset(words.split()) for words in (_ADDING_WORDS, _LOOKING_WORDS, _FILLER_WORDS)
)

_NOUNS = {
    "tool": ("process", "proc", "shell", "bash", "terminal", "pane"),
    "tasks": ("task", "issue", "ticket"),
}
"""What the things of a family are called, where it is not named after them alone."""

_FIELDS = (
    "text content body message note comment msg markdown",
    "title name subject label heading",
    "text query q search pattern term keywords",
    "status state transition",
    "limit count n max max_results n_results page_size top top_k first last",
    "from source src base",
    "to target dest destination into target_id recipients recipient",
    "parent under parent_id",
    "rel relation relationship relation_type relationtype link_type edge_type type",
    "scope path file",
    "paths scope files",
    "after depends_on requires needs",
    "reason why because",
    "description details summary",
    "prompt instructions",
    "types type kind",
    "types card_type",
    "type card_type card_kind",
    "tags_any tags tag labels",
    "agent agent_name who name",
    "assignee owner assigned_to",
    "by group_by per",
    "executor_profile profile",
    "targets card card_id id ids cards",
)

_VALUES = {
    "active": "doing in_progress inprogress started wip working ongoing running",
    "running": "in_progress inprogress doing active started ongoing working",
    "queued": "pending waiting todo new scheduled enqueued",
    "todo": "open pending new backlog not_started to_do",
    "done": "completed complete finished success succeeded closed passed",
    "completed": "complete finished success succeeded done",
    "failed": "error errored failure fail",
    "canceled": "cancelled cancel aborted",
    "cancelled": "canceled cancel aborted",
    "parked": "deferred snoozed postponed on_hold",
    "exited": "finished ended",
    "high": "urgent critical highest important asap",
    "medium": "normal default mid moderate",
    "low": "minor lowest trivial",
    "exclusive": "write rw writer",
    "shared": "read ro reader",
    "claude_code": "claude claudecode",
    "codex": "codex_cli",
    "open": "unresolved unsolved",
    "resolved": "closed fixed solved",
    "pipes": "pipe",
    "pty": "tty terminal interactive",
    "day": "days daily date",
    "task": "tasks",
    "agent": "agents",
    "mermaid": "diagram mmd",
    "lines": "line",
    "use_from": "from theirs",
    "use_into": "into ours",
    "any": "all",
    "success": "ok succeeded",
    "failure": "failed error",
}


def _index(table: dict[str, str]) -> dict[str, str]:
    return {word: one for one, words in table.items() for word in words.split()}


_VERB = _index(_VERBS)
_MEANINGS: dict[str, list[str]] = {}
for _value, _words in _VALUES.items():
    for _word in _words.split():
        _MEANINGS.setdefault(_word, []).append(_value)
_GROUPS = tuple(frozenset(group.split()) for group in _FIELDS)
_LONGEST_CHOICE = 80
"""No choice is longer; a longer value is text, and not worth reading."""

VOCABULARY = frozenset(
    (*_VERB, *_VERBS, *_MEANINGS, *_VALUES, *(word for group in _GROUPS for word in group))
)
"""Words with a meaning of their own; none of them is a typo for another."""


def is_verb(word: str) -> bool:
    """Whether a word says what is done with anything, and not with what."""
    return word in _VERB or word in _VERBS


def is_search(word: str) -> bool:
    """Whether a word says to search, which is done everywhere at once."""
    return _VERB.get(word.lower(), word.lower()) == "search"


def is_plural(word: str) -> bool:
    """Whether a name is one word, in the plural."""
    return "." not in word and _singular(word) != word


def verb_adds(verb: str) -> bool | None:
    """Whether a verb that says no more than its noun adds it (`add_note`) or reads it."""
    if verb in _ADDING:
        return True
    return False if verb in _LOOKING else None


def looks_at(name: str) -> str | None:
    """What a name says to look at (`get.card`), which may be nothing; None if it says not to."""
    first, _, rest = name.partition(".")
    return rest if _VERB.get(first, first) == "show" or first in ("open", "see") else None


def about(bare: str, families: Collection[str]) -> tuple[str | None, str]:
    """The family of commands that a name is about (`list_agents`), and the rest of the name."""
    words = bare.split(".")
    for word in words:
        family = next((one for one in families if _singular(word) in _nouns(one)), None)
        if family:
            return family, ".".join(one for one in words if one != word)
    return None, bare


def _nouns(family: str) -> tuple[str, ...]:
    return _NOUNS.get(family) or (_singular(family),)


def same_words(name: str, *, verbs: bool = True) -> frozenset[str]:
    """What a command's name says, in any order: `branch.create` is `create_branch`.

    With `verbs`, it is `new_branch` too.
    """
    found = (_singular(word) for word in re.findall(r"[a-z0-9]+", name.lower()))
    kept = (word for word in found if word not in _FILLERS)
    return frozenset(_VERB.get(word, word) if verbs else word for word in kept)


def fields_for(word: str, fields: Collection[str]) -> Iterator[str]:
    """The fields that this argument's name may mean."""
    bare, whole = word.removesuffix("_id").removesuffix("_name"), f"{word}_id"
    for field in fields:
        if field in (bare, whole) or any(word in g and field in g for g in _GROUPS):
            yield field


def values_for(word: str, *, any_case: bool) -> Iterator[str]:
    """The choices that this word may mean, in every case a choice is written in.

    With `any_case`, also the word itself; without, only if it is known as a choice.
    """
    if len(word) > _LONGEST_CHOICE:
        return
    said = re.sub(r"[\s-]+", "_", word.strip().lower())
    itself = (said,) if any_case or said in _VALUES else ()
    for meant in (*itself, *_MEANINGS.get(said, ())):
        yield from (meant.upper(), meant)


def _singular(word: str) -> str:
    if word.endswith(("ches", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "su" else word
