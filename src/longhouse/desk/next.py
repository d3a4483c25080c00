"""The best next action, from the advice of all rooms; shared by `status` and `tasks.execute.next`.

A room registers an adviser with `@room.advises`. Advice has a fingerprint of the room's state, what
`status` shows of it, and suggested calls. Reading has no side effects and never starts a runner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.refs import ref_grammar
from longhouse.kernel.values import Draft
from longhouse.memory import Targeting, standing
from longhouse.memory.types.documents import CommitNote
from longhouse.store.tx import Tx

__all__ = ["OPEN_FOCUS", "Next", "derive_next"]

OPEN_FOCUS = "next::open.focus"
"""The action to fall back on: whatever else is as urgent comes before it."""


class Next(NamedTuple):
    """The state of the workspace and what to do about it."""

    targeting: Targeting
    state_fingerprint: str
    shown: dict[str, Any]
    suggestions: Sequence[Suggestion]


def derive_next(tx: Tx) -> Next:
    """Join the advice of all rooms; the same state gives the same actions in the same order."""
    at = standing(tx)
    advice: list[Advice] = [adviser(tx) for adviser in tx.facts.registry.advisers]
    parts = [f"ws={tx.workspace}", f"focus={at.focus or '-'}", f"checkout={at.checkout or '-'}"]
    parts += [one.fingerprint for one in advice if one.fingerprint]
    shown = {name: item for one in advice for name, item in one.shown.items()}
    suggestions = [*_of_focus(tx, at.focus), *(s for one in advice for s in one.suggestions)]
    if not suggestions:
        suggestions.append(
            Suggestion(
                Draft(CommitNote, {}, ["content"]),
                "write down what you are working on",
                action_id="next::vcs.notes.commit",
            )
        )
    return Next(at, ";".join(parts), shown, suggestions)


def _of_focus(tx: Tx, focus: str | None) -> list[Suggestion]:
    if not focus or not ref_grammar().kinds_of(focus):
        return []
    from longhouse.work import CLOSED, known_target  # needed only if something is in focus

    known, name = known_target(tx, focus), OPEN_FOCUS
    opened = Draft("open", {"id": focus})
    if known is not None and known.status in CLOSED:
        ended = f"see how {focus} ended"
        return [Suggestion(opened, ended, priority="low", action_id=name)]
    return [
        Suggestion(opened, "open what is in focus", action_id=name),
        Suggestion(Draft("tasks.snapshot", {}), "see its current state", priority="medium"),
    ]
