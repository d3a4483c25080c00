"""The digest of a resume: facts, one line each, in order of importance.

A budget cuts facts from the end, so the order matters: first the work and how to prove it done,
then who waits for whom, then decisions and evidence, and only then the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from longhouse.crew.types.entities import Message, Reservation
from longhouse.desk.types.resume import Fact, PlanAbove, UnmergedBranch, WaitsFor
from longhouse.jobs import JobUsage
from longhouse.jobs.types.radar import RadarRow
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.lines import cell
from longhouse.memory.types.documents import Entry, SearchHit
from longhouse.thinking import DEAD
from longhouse.thinking.types.cards import Card
from longhouse.work import Scene
from longhouse.work.types.entities import Task
from longhouse.work.types.views import ShownReceipt

__all__ = ["FIRST", "Material", "digest", "fact_lines", "is_decision"]

_LONG, _SHORT, _TITLE = 240, 120, 80


class Material(NamedTuple):
    """The input of a digest; lists have the newest or most urgent first."""

    scene: Scene
    asker: str | None = None
    plan: PlanAbove | None = None
    waits_for: Sequence[WaitsFor] = ()
    jobs: Sequence[RadarRow] = ()
    failures: Mapping[str, str] = {}
    """The line that says what failed, of each job that did."""
    usage: JobUsage | None = None
    held: Sequence[Reservation] = ()
    processes: Sequence[dict[str, Any]] = ()
    mail: Sequence[Message] = ()
    cards: Sequence[Card] = ()
    decisions: Sequence[Card] = ()
    evidence: Sequence[ShownReceipt] = ()
    notes: Sequence[Entry] = ()
    branches: Sequence[UnmergedBranch] = ()
    related: Sequence[SearchHit] = ()


def digest(of: Material) -> list[Fact]:
    """The facts, each once: the first few of every kind in order of importance, then the rest."""
    kinds = [(first, list(kind(of))) for first, kind in _ORDER]
    facts = [fact for first, found in kinds for fact in found[:first]]
    facts += [fact for first, found in kinds for fact in found[first:]]
    return list({(fact.about, fact.text): fact for fact in facts}.values())


def fact_lines(facts: Iterable[dict[str, str]]) -> list[str]:
    """The facts as lines: `decision Use one writer | CARD-D1`."""
    return [
        " | ".join([f"{one['about']} {one['text']}", *([one["ref"]] if one.get("ref") else [])])
        for one in facts
    ]


def _fact(about: str, text: str, ref: str | None = None, chars: int = _LONG) -> Fact:
    return Fact(about=about, text=cell(text, chars), ref=ref)


def _work(of: Material) -> Iterator[Fact]:
    target = of.scene.target
    said = [f"{target.status} {cell(target.title, _SHORT)}"]
    if isinstance(target, Task):
        said += [f"assigned to {target.assignee}"] if target.assignee else []
        if target.parked_until_ts_ms:
            said.append(f"parked until {rfc3339(target.parked_until_ts_ms)}")
        said.append(f"{target.steps_total - target.steps_open}/{target.steps_total} steps done")
    elif horizon := of.scene.horizon:
        said.append(f"{horizon.done}/{horizon.total} tasks done, {horizon.active} active")
    yield _fact(target.id, "; ".join(said))
    for other in of.waits_for:
        who = f", {other.assignee}" if other.assignee else ""
        yield _fact("waits for", f"{other.title} ({other.status}{who})", other.id)


def _step(of: Material) -> Iterator[Fact]:
    step = of.scene.step_focus
    if step is None:
        return
    missing = [f"needs {' '.join(step.missing)}"] if step.missing else []
    missing += [f"proof of {' '.join(step.proof_missing)}"] if step.proof_missing else []
    held = [f"held by {step.lease.holder}"] if step.lease else []
    todo = [f"do: {step.next_action}"] if step.next_action else []
    yield _fact(f"step {step.path}", "; ".join([step.title, *todo, *missing, *held]), step.step_id)
    criteria = [_fact("done when", text) for text in step.success_criteria]
    tests = [_fact("test", text) for text in step.tests]
    yield from criteria[:1]
    yield from (*tests, *criteria[1:])


def _blockers(of: Material) -> Iterator[Fact]:
    for text in of.scene.radar.blockers:
        if not text.startswith("Waits for "):
            yield _fact("blocked", text)


def _questions(of: Material) -> Iterator[Fact]:
    for job in of.jobs:
        if job.question is not None:
            yield _fact("question", f"{job.id} asks: {job.question.text}", job.question.ref)


def _mail(of: Material) -> Iterator[Fact]:
    for one in of.mail:
        body = "" if one.body == one.subject else f": {one.body}"
        yield _fact(
            one.category, f"from {one.from_agent}: {one.subject}{cell(body, _LONG)}", one.message_id
        )


def is_decision(entry: Entry) -> bool:
    """Whether a note is a decision: by its kind, or because it starts with the word."""
    meta = entry.meta or {}
    words = (entry.title or "", entry.content)
    return str(meta.get("kind", "")).lower() == "decision" or any(
        text.lstrip("#*-> \t").lower().startswith("decision") for text in words
    )


def _decisions(of: Material) -> Iterator[Fact]:
    """Decision cards and notes together, newest first; then rejected and refuted cards."""
    cards = [
        (card.last_seq, _fact("decision", _said(card), card.id))
        for card in of.decisions
        if card.status not in DEAD
    ]
    notes = [
        (one.seq, _fact("decision", one.content, f"{one.doc}@{one.seq}"))
        for one in of.notes
        if is_decision(one)
    ]
    for _, fact in sorted([*cards, *notes], key=lambda one: -one[0]):
        yield fact
    for card in (*of.decisions, *of.cards):
        if card.status in DEAD:
            yield _fact("rejected", _said(card), card.id)


def _said(card: Card) -> str:
    return ": ".join(part for part in (card.title, card.text) if part) or card.id


def _seen(of: Material) -> Iterator[Fact]:
    """Failures, receipts and evidence cards, interleaved so that the newest of each comes early."""
    known: set[str] = set()
    failing, shown = [], []
    for one in of.evidence:
        receipt = one.receipt
        code = f" (exit {receipt.exit_code})" if receipt.exit_code is not None else ""
        about = f"{receipt.kind.upper()}: {receipt.text}{code} of {one.path}"
        if receipt.exit_code and receipt.text not in known:
            failing.append(_fact("failing", about, one.ref))
        elif not receipt.exit_code:
            shown.append(_fact("evidence" if receipt.proves else "unproved", about, one.ref))
        known.add(receipt.text)
    failing += [
        _fact("failing", _said(card), card.id)
        for card in of.cards
        if card.type == "test" and card.status == "failed"
    ]
    cards = [_fact("evidence", _said(c), c.id) for c in of.cards if c.type == "evidence"]
    yield from (*failing[:1], *shown[:1], *failing[1:], *cards[:1], *shown[1:], *cards[1:])


def _held(of: Material) -> Iterator[Fact]:
    """The first reservation of others, then the caller's own, then the rest of the others'."""
    mine = [one for one in of.held if one.agent_id == of.asker]
    others = [one for one in of.held if one.agent_id != of.asker]
    yield from (_holding(one, one.agent_id) for one in others[:1])
    yield from (_holding(one, "you") for one in mine)
    yield from (_holding(one, one.agent_id) for one in others[1:])


def _holding(one: Reservation, who: str) -> Fact:
    holds, until = "hold" if who == "you" else "holds", _clock_time(one.expires_at)
    text = f"{who} {holds} {one.scope} for {one.bead_id} until {until}"
    return _fact("held", text, one.reservation_id)


def _processes(of: Material) -> Iterator[Fact]:
    for one in of.processes:
        port = f" on port {one['port']}" if one.get("port") else ""
        text = f"{one['name']} {one['state']}{port} since {_clock_time(one['since'])}"
        yield _fact("process", text, one["id"], _SHORT)


def _clock_time(rfc: str) -> str:
    """`09:28 UTC`: an answer is read in many places, so the zone is always said."""
    return f"{rfc[11:16]} UTC"


def _plan(of: Material) -> Iterator[Fact]:
    if of.plan is not None:
        why = f": {of.plan.why}" if of.plan.why else ""
        yield _fact("plan", f"{of.plan.title}{why}", of.plan.id)


def _jobs(of: Material) -> Iterator[Fact]:
    failed = [job for job in of.jobs if job.status == "FAILED"]
    going = [job for job in of.jobs if job.status != "FAILED"]
    cost = _cost(of.usage)
    for job in (*failed[:2], *going, *failed[2:]):
        marker = job.attention.marker or ""
        said = job.last.message if job.last else None
        last = f": {said}" if said and said != job.title else ""
        text = f"{job.title}{last}"
        if failure := of.failures.get(job.id):  # first, because a budget cuts from the end
            text = f"{failure} ({cell(job.title, _TITLE)})"
        text = f"{job.id} {job.status}{marker} {text}{cost}"
        yield _fact("job", text, job.ref, _LONG + _TITLE)
        cost = ""
    if cost:
        yield _fact("cost", cost.removeprefix("; "))


def _cost(usage: JobUsage | None) -> str:
    if usage is None:
        return ""
    tokens = usage.input_tokens + usage.output_tokens
    money = f" ${usage.cost_usd:g}" if isinstance(usage.cost_usd, float | int) else ""
    return f"; jobs so far{money} {tokens} tokens"


def _branches(of: Material) -> Iterator[Fact]:
    for one in of.branches:
        lacking = f"{one.notes} note{'s' * (one.notes > 1)} that {one.base} lacks"
        said = f": {one.newest}" if one.newest else ""
        yield _fact("branch", f"{one.name} has {lacking}{said}", one.ref)


def _why(of: Material) -> Iterator[Fact]:
    target = of.scene.target
    for text in (target.description, target.context):
        if text:
            yield _fact("why", text)


def _open_cards(of: Material) -> Iterator[Fact]:
    wanted = ("question", "hypothesis", "test")
    for card in of.cards:
        if card.type in wanted and card.status == "open":
            yield _fact(f"open {card.type}", _said(card), card.id, _SHORT)


def _notes(of: Material) -> Iterator[Fact]:
    for one in of.notes:
        if not is_decision(one):
            yield _fact("note", one.content, f"{one.doc}@{one.seq}", _SHORT)


def _related(of: Material) -> Iterator[Fact]:
    """What was written elsewhere, unless another fact has it already."""
    told: set[str | None] = {one.ref for one in of.branches}
    told |= {f"{one.doc}@{one.seq}" for one in of.notes}
    told |= {card.id for card in (*of.cards, *of.decisions)}
    for one in of.related:
        if told & {one.ref, one.id} - {None}:
            continue
        said = ": ".join(part for part in (one.title, one.text) if part)
        yield _fact("related", f"{one.type or one.kind} {said}", one.id or one.ref)


_ORDER: tuple[tuple[int, Callable[[Material], Iterable[Fact]]], ...] = (
    (2, _work),
    (3, _step),
    (1, _blockers),
    (1, _questions),
    (2, _mail),
    (1, _decisions),
    (2, _seen),
    (2, _held),
    (2, _processes),
    (1, _plan),
    (2, _jobs),
    (1, _why),
    (2, _branches),
    (1, _open_cards),
    (1, _notes),
    (3, _related),
)
"""The kinds in order of importance, each with how many come first; the rest follow at the end."""

FIRST = sum(first for first, _ in _ORDER)
"""How many facts may come before the rest."""
