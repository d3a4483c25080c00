"""Playbooks: fixed ways to think a kind of problem through; they only read."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.store.tx import Tx
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import Playbook, PlaybookStep, PlaybookTemplate, ShowPlaybook

__all__ = ["NAMES", "show_playbook"]

Step = tuple[str, str, str]
"""Name, card type, what to do."""

_SKEPTIC: tuple[Step, ...] = (
    ("counter-hypothesis", "hypothesis", "Say the strongest case against it; tag it counter."),
    ("minimal falsifying test", "test", "The cheapest test whose outcome could prove you wrong."),
    ("stop criteria", "decision", "When you would give it up, decided before you look."),
)
_BREAKTHROUGH: tuple[Step, ...] = (
    ("tension", "frame", "The two wishes that pull against each other."),
    ("inversion", "question", "How would you make it as bad as possible? Do the opposite."),
    ("assumptions", "hypothesis", "What everybody takes for granted; tag each assumption."),
    ("extremes", "question", "What if there were a thousand times more of it, or none?"),
    ("analogy", "note", "Who has solved this in another field, and how?"),
    ("10x lever", "hypothesis", "The one change that would make it ten times better."),
    ("decisive test", "test", "The smallest test that tells whether the lever works."),
    ("stop criteria", "decision", "What outcome ends the attempt."),
)
_BOOKS: dict[str, tuple[str, tuple[Step, ...], str, tuple[str, ...]]] = {
    "default": (
        "From a problem to a decision.",
        (
            ("frame", "frame", "What the problem is, and what it is not."),
            ("hypothesis", "hypothesis", "What may be so, in a sentence that can be wrong."),
            ("test", "test", "What to do, and which outcome would show it to be wrong."),
            ("evidence", "evidence", "What was seen, with the command and a link."),
            ("decision", "decision", "What is done from now on, and why."),
        ),
        "Stop when a decision rests on evidence.",
        ("strict", "debug"),
    ),
    "strict": (
        "Doubt first, and the simplest thing that works.",
        (
            *_SKEPTIC,
            ("simplest viable solution", "decision", "The least that would do, and why not less."),
            ("10x lever (optional)", "hypothesis", "Only if the simple way falls short by far."),
            ("decisive test (optional)", "test", "One test that decides about the lever."),
        ),
        "Stop when the test has failed to prove you wrong, or has proved it.",
        ("breakthrough", "skeptic"),
    ),
    "skeptic": (
        "Argue against yourself.",
        _SKEPTIC,
        "Stop when the counter-position has been tested as hard as your own.",
        ("strict",),
    ),
    "breakthrough": (
        "Start over from the other end.",
        _BREAKTHROUGH,
        "Stop at the outcome you named before.",
        ("strict",),
    ),
    "debug": (
        "Find where it goes wrong.",
        (
            ("reproduce", "evidence", "The shortest way to see it fail, as a command."),
            ("narrow", "question", "Where is it still right, where already wrong? Then bisect."),
            ("cause", "hypothesis", "What would explain all that you saw, and nothing else."),
            ("confirm", "test", "CardChange only the cause; the failure must go, and come back."),
            ("fix", "decision", "The change, and the test that keeps it."),
        ),
        "Stop when you can switch the failure on and off.",
        ("bisect",),
    ),
    "bisect": (
        "Halve an ordered space until one step is left: commits, flags, configuration.",
        (
            ("order", "frame", "The ordered space, one end that is good and one that is bad."),
            ("check", "test", "A command that tells good from bad, every time."),
            ("halve", "evidence", "Check the middle; keep the half where it changes. Repeat."),
            ("name", "decision", "The first bad step, and what it changed."),
        ),
        "Stop when good and bad are neighbours.",
        ("debug",),
    ),
    "criteria_matrix": (
        "A or B, by criteria.",
        (
            ("options", "question", "A vs B, and the option to do nothing."),
            ("criteria", "frame", "What matters, before you look at the options."),
            ("weights", "note", "How much each criterion counts, adding up to 100."),
            ("scores", "evidence", "Each option under each criterion, with its reason."),
            ("sensitivity", "test", "Which weight would have to change to turn the result?"),
            ("decision", "decision", "The choice, and what would make you look again."),
        ),
        "Stop when no plausible weight turns the result, or name the one that does.",
        ("experiment",),
    ),
    "experiment": (
        "One decisive experiment.",
        (
            ("claim", "hypothesis", "What the experiment is to decide."),
            ("prediction", "test", "What you will see if it is so, and if it is not."),
            ("run", "evidence", "The command, its output, and a link to it."),
            ("conclusion", "decision", "What the outcome means, as you said before."),
        ),
        "Stop after the one experiment that was planned.",
        ("contradiction",),
    ),
    "contradiction": (
        "Two cards disagree: find the test that tells them apart.",
        (
            ("both sides", "frame", "What supports it and what blocks it, each at its best."),
            ("difference", "question", "What would be seen if one were right and not the other?"),
            ("decisive test", "test", "The one test in which the sides predict different things."),
            ("outcome", "evidence", "What it showed; let it support or block the card."),
            ("resolution", "decision", "Reject the side that lost: think.set.status rejected."),
        ),
        "Stop when one side is rejected.",
        ("experiment", "skeptic"),
    ),
}
_GENERIC = "default"
_ALIASES = {"skeptic_loop": "skeptic"}
NAMES = tuple(_BOOKS)


@room.command(
    "think.playbook",
    example=ShowPlaybook(name="contradiction"),
    trim=[
        Drop("template.see_also"),
        Pop("names", leave=1),
        Drop("template.steps.card"),
        Clip("template.steps.do", 40),
        Pop("template.steps", leave=1),
    ],
)
def show_playbook(tx: Tx, req: ShowPlaybook) -> Playbook:
    """A way to think a kind of problem through, step by step."""
    asked = req.name.strip().lower().replace("-", "_")
    name = _ALIASES.get(asked, asked)
    purpose, steps, stop, see_also = _BOOKS.get(name, _BOOKS[_GENERIC])
    return Playbook(
        name=name if name in _BOOKS else req.name,
        known=name in _BOOKS,
        names=list(NAMES),
        template=PlaybookTemplate(
            purpose=purpose,
            steps=[
                PlaybookStep(name=step, do=do, card={"type": kind, "title": step})
                for step, kind, do in steps
            ],
            stop=stop,
            see_also=list(see_also),
        ),
    )
