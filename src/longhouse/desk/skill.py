"""`system.skill`: behavior packs, short texts that teach an agent to work well with Longhouse.

Commands are written in braces. A line that names a command this house lacks is left out, so a pack
never teaches a call that fails. The most important lines come first and survive truncation.
"""

from __future__ import annotations

import re
from typing import Any

from longhouse.desk.room import room
from longhouse.desk.types.system import GetSkill, Skill
from longhouse.kernel.budget import Clip
from longhouse.kernel.delegation import SkillProfile
from longhouse.kernel.registry import Registry
from longhouse.store.tx import Tx

__all__ = ["skill_pack"]

VERSION = "1.0"
_NAMED = re.compile(r"\{([a-z][a-z0-9_.]*)\}")

_FIRST: dict[SkillProfile, tuple[str, ...]] = {
    "daily": (
        "[DAILY]",
        "Start with {status}; do the next action it suggests.",
        "Start new work with {tasks.macro.start}: task, steps, focus and next call in one call.",
        "Work in small steps; after each, write down what is now true and why.",
        "Answers carry calls under actions: run them as given; add what they name as missing.",
        "Resume with {tasks.resume.super} instead of rereading everything.",
    ),
    "strict": (
        "[STRICT]",
        "Done means proved: no claim without a ref or a receipt.",
        "Before you change anything: what do you expect, and what would prove you wrong? Write "
        "both down with {vcs.notes.commit}.",
        "Try to break your own result: one counter-hypothesis, one test that could fail.",
        "Close steps with {tasks.macro.close.step} and proof, never by hand.",
        "If you cannot verify it, say so and ask; do not guess.",
    ),
    "research": (
        "[RESEARCH]",
        "Answer the question that was asked; note other questions and leave them.",
        "Separate what you saw (with its source), what you conclude and what is open.",
        "State at least two hypotheses, and the cheapest test that decides between them.",
        "Write a card for each hypothesis, test and finding with {think.card}; link them.",
        "End with a summary of at most ten lines, refs for each claim, and open risks.",
    ),
    "teamlead": (
        "[TEAMLEAD]",
        "Read {jobs.radar} with fmt=lines: each row ends with the one command to paste.",
        "Delegate with {tasks.macro.delegate}: one goal, how to verify it, where results go.",
        "Split by anchors with {tasks.macro.fanout.jobs}; merge with {tasks.macro.merge.report}.",
        "Answer `?` first ({jobs.message}), then `!`, then `~`.",
        "Accept only results with proof; send back the rest and say what is missing.",
    ),
}
_COMMON = (
    "[CORE LOOP]",
    "1. {status}. 2. {open} a ref before you rely on it. 3. Act. 4. Write it down with "
    "{vcs.notes.commit}: what, why, how to check it.",
    "Reserve paths before you edit them: {agents.reserve}.",
    "On a job, report with {jobs.report}: checkpoint with refs, question if you need a decision.",
    "[PROOF]",
    "A receipt is a line `CMD: <command you ran> (exit 0)` or `LINK: <url>`. A ref is what {open} "
    "opens: notes@12, TASK-001, CARD-..., JOB-001@45.",
    "[ANCHORS]",
    "Tag results with the part of the code they are about (a:<name>): {think.anchor.list}.",
    "[RETRY]",
    "Pass idempotency_key with a write you may repeat. {system.schema.get} shows the arguments of "
    "a command.",
)


def _lines(result: dict[str, Any]) -> list[str]:
    """Only the pack: `skill profile=… version=…`, then its lines; none looks like JSON."""
    text: str = result["text"]
    return [f"# {line.strip('[]')}" if line[:1] == "[" else line for line in text.splitlines()]


@room.command(
    "system.skill",
    also="prompt skills",
    example=GetSkill(profile="strict"),
    needs_workspace=False,
    lines=_lines,
    trim=[Clip("text", 60)],
)
def skill(tx: Tx, req: GetSkill) -> Skill:
    """Get a behavior pack to put in an agent's prompt: how to work well with Longhouse."""
    text = skill_pack(tx.facts.registry, req.profile)
    return Skill(profile=req.profile, version=VERSION, text=text)


def skill_pack(registry: Registry, profile: SkillProfile) -> str:
    """The text of a pack, with the commands that this house has."""
    lines = [*_FIRST[profile], *_COMMON]
    known = [line for line in lines if all(cmd in registry.commands for cmd in _named(line))]
    shown = [line for n, line in enumerate(known) if not _is_bare_heading(known, n)]
    return "\n".join([f"skill profile={profile} version={VERSION}", *map(_plain, shown)])


def _named(line: str) -> list[str]:
    return _NAMED.findall(line)


def _plain(line: str) -> str:
    return _NAMED.sub(r"`\1`", line)


def _is_bare_heading(lines: list[str], n: int) -> bool:
    """Whether line `n` is a heading whose lines were all left out."""
    return lines[n].startswith("[") and (n + 1 == len(lines) or lines[n + 1].startswith("["))
