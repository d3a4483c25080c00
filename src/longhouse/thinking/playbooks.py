"""Playbooks: fixed step-by-step methods for kinds of problems. Reading one writes nothing."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.store.tx import Tx
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import Playbook, PlaybookStep, PlaybookTemplate, ShowPlaybook

__all__ = ["NAMES", "show_playbook"]

Step = tuple[str, str, str]
"""Name, card type, what to do."""

_SKEPTIC: tuple[Step, ...] = (
    ("counter-hypothesis", "hypothesis", "Make the strongest case against it; tag it counter."),
    ("minimal falsifying test", "test", "The cheapest test whose outcome could prove you wrong."),
    ("stop criteria", "decision", "When you would give up, decided before you look."),
)
_BREAKTHROUGH: tuple[Step, ...] = (
    ("tension", "frame", "The two goals that conflict."),
    ("inversion", "question", "How would you make it as bad as possible? Do the opposite."),
    ("assumptions", "hypothesis", "What everyone takes for granted; tag each assumption."),
    ("extremes", "question", "What if there were a thousand times more of it, or none?"),
    ("analogy", "note", "Who has solved this in another field, and how?"),
    ("10x lever", "hypothesis", "The one change that would make it ten times better."),
    ("decisive test", "test", "The smallest test that shows whether the lever works."),
    ("stop criteria", "decision", "The outcome that ends the attempt."),
)
_BOOKS: dict[str, tuple[str, tuple[Step, ...], str, tuple[str, ...]]] = {
    "default": (
        "From a problem to a decision.",
        (
            ("frame", "frame", "What the problem is, and what it is not."),
            ("hypothesis", "hypothesis", "What may be true, in a sentence that could be wrong."),
            ("test", "test", "What to do, and which outcome would disprove it."),
            ("evidence", "evidence", "What was observed, with the command and a link."),
            ("decision", "decision", "What was decided, and why."),
        ),
        "Stop when a decision rests on evidence.",
        ("strict", "debug"),
    ),
    "strict": (
        "Doubt first, then do the simplest thing that works.",
        (
            *_SKEPTIC,
            ("simplest viable solution", "decision", "The least that would do, and why not less."),
            ("10x lever (optional)", "hypothesis", "Only if the simple way falls far short."),
            ("decisive test (optional)", "test", "One test that shows whether the lever works."),
        ),
        "Stop when the test has proved you wrong, or has failed to.",
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
        "Stop at the outcome you named in advance.",
        ("strict",),
    ),
    "debug": (
        "Find where it goes wrong.",
        (
            ("reproduce", "evidence", "The shortest way to make it fail, as a command."),
            ("narrow", "question", "Where is it still right, where already wrong? Then bisect."),
            ("cause", "hypothesis", "What would explain everything you saw, and nothing else."),
            ("confirm", "test", "Change only the cause; the failure must go, and come back."),
            ("fix", "decision", "The change, and the test that guards it."),
        ),
        "Stop when you can turn the failure on and off.",
        ("bisect",),
    ),
    "bisect": (
        "Halve an ordered space until one step is left: commits, flags, configuration.",
        (
            ("order", "frame", "The ordered space, with one good end and one bad end."),
            ("check", "test", "A command that reliably tells good from bad."),
            ("halve", "evidence", "Check the middle; keep the half where it changes. Repeat."),
            ("name", "decision", "The first bad step, and what it changed."),
        ),
        "Stop when good and bad are neighbors.",
        ("debug",),
    ),
    "criteria_matrix": (
        "Choose between options by criteria.",
        (
            ("options", "question", "A vs B, and the option to do nothing."),
            ("criteria", "frame", "What matters, before you look at the options."),
            ("weights", "note", "How much each criterion counts, adding up to 100."),
            ("scores", "evidence", "Each option's score on each criterion, with a reason."),
            ("sensitivity", "test", "Which weight would have to change to flip the result?"),
            ("decision", "decision", "The choice, and what would make you revisit it."),
        ),
        "Stop when no plausible weight flips the result, or name the one that does.",
        ("experiment",),
    ),
    "experiment": (
        "One decisive experiment.",
        (
            ("claim", "hypothesis", "What the experiment will decide."),
            ("prediction", "test", "What you will see if the claim is true, and if it is false."),
            ("run", "evidence", "The command, its output, and a link to it."),
            ("conclusion", "decision", "What the outcome means, according to your prediction."),
        ),
        "Stop after the one experiment that was planned.",
        ("contradiction",),
    ),
    "contradiction": (
        "Two cards disagree: find the test that decides between them.",
        (
            ("both sides", "frame", "What supports it and what blocks it, each at its strongest."),
            ("difference", "question", "What would you see if one were right and not the other?"),
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
    """Get a step-by-step method for a kind of problem."""
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
