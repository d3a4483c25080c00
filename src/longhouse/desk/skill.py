"""`system.skill`: behaviour packs, short texts that make an agent work well in this house.

A line that names a command names it in braces and is left out where this house has no such command,
so a pack never teaches a call that fails. What matters most stands first: a pack that is cut still
tells it.
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
        "Start with {status}; do the one next action that it gives.",
        "New work begins with {tasks.macro.start}: task, steps, focus, how to go on, in one call.",
        "Work in small steps; after each, write down what is now true and why.",
        "Answers carry complete calls under actions: run them as given.",
        "Resume with {tasks.resume.super} instead of reading everything again.",
    ),
    "strict": (
        "[STRICT]",
        "Done means shown: no claim without a ref or a receipt.",
        "Before you change anything: what do you expect, and what would prove you wrong? Write "
        "both down with {vcs.notes.commit}.",
        "Try to break your own result: one counter-hypothesis, one test that could fail.",
        "Close steps with {tasks.macro.close.step} and their proof, never by hand.",
        "If you cannot verify it, say so and ask; do not guess.",
    ),
    "research": (
        "[RESEARCH]",
        "Answer the question that was asked; note others and leave them.",
        "Keep apart: what you saw (with its source), what you conclude, what is open.",
        "At least two hypotheses; for each the cheapest test that tells them apart.",
        "Card each hypothesis, test and finding with {think.card}; link them.",
        "End with a summary of at most ten lines, refs for each claim, and open risks.",
    ),
    "teamlead": (
        "[TEAMLEAD]",
        "Read {jobs.radar} with fmt=lines: each row ends with the one command to paste.",
        "Delegate with {tasks.macro.delegate}: one goal, how it is verified, where results go.",
        "Split by anchors with {tasks.macro.fanout.jobs}; merge with {tasks.macro.merge.report}.",
        "Answer `?` first ({jobs.message}), then `!`, then `~`.",
        "Accept only what carries proof; send back the rest with what is missing.",
    ),
}
_COMMON = (
    "[CORE LOOP]",
    "1. {status}. 2. {open} a ref before you rely on it. 3. Act. 4. Write it down with "
    "{vcs.notes.commit}: what, why, how to see it.",
    "Reserve paths before you edit them: {agents.reserve}.",
    "On a job, report with {jobs.report}: checkpoint with refs, question when you need a decision.",
    "[PROOF]",
    "A receipt is a line `CMD: <command you ran>` or `LINK: <url>`. A ref is what {open} opens: "
    "notes@12, TASK-001, CARD-..., JOB-001@45.",
    "[ANCHORS]",
    "Tie results to the part of the code they are about (a:<name>): {think.anchor.list}.",
    "[RETRY]",
    "Pass idempotency_key with a write that you may repeat. {system.schema.get} shows the "
    "arguments of a command.",
)


def _lines(result: dict[str, Any]) -> list[str]:
    """The pack alone: `skill profile=… version=…`, then its lines; none looks like JSON."""
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
    """A behaviour pack: how to work well here, to be put into an agent's prompt."""
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
    """A section whose every line was left out."""
    return lines[n].startswith("[") and (n + 1 == len(lines) or lines[n + 1].startswith("["))
