"""The help text: the only place that explains the protocol, so that answers need not repeat it."""

from __future__ import annotations

from longhouse.kernel.registry import PORTALS, Registry

__all__ = ["help_text"]

_TEXT = """\
Longhouse is shared, durable memory and work for agents and people.

CALL
Ten tools: {portals}. `status` and `open` take flat arguments. The others take an op and its args,
or op=call with cmd and args for any command. `system` with op=cmd.list lists commands,
op=schema.get shows one. Every answer has success, intent, result, actions, warnings and error;
actions run as given; one with `missing` needs those arguments first. Pass fmt=lines for a short
answer to read and paste, max_chars to limit any answer.

DAY
1. status: where you are, what is next. 2. tasks.macro.start starts a task; tasks.resume.super gives
everything you need to continue one; tasks.snapshot shows its state in two lines.
3. open <ref>: read anything by its id. 4. vcs.notes.commit: write down decisions and evidence as
you go, not at the end. 5. tasks.macro.close.step closes a step with a note and proof.
6. jobs.create: hand work to a runner; jobs.report and jobs.complete report back.

REFS
Every record has a stable ref to paste anywhere: notes@12 (an entry), TASK-001, STEP-00000001,
CARD-7, JOB-001 (a job), JOB-001@45 (an event of it). A seq never changes and is never reused.

TAGS
v:canon is shown by default, v:draft only on request; pinned comes first;
step:<id> scopes to a step; a:<name> ties to a part of the system;
counter marks an opposing hypothesis.

PROOF
Done means proved. A receipt is a line `CMD: <command you ran> (exit 0)` or `LINK: <url>`, or a
ref to an existing record. Free text is a note, not proof.

COMMON
Every command also takes workspace, agent_id (who acts), max_chars, max_bytes and max_lines (limits
on the answer), fmt (json or lines) and budget_profile (portal, default or audit: the upper limits);
writes take idempotency_key.

RETRY
Pass idempotency_key with a write: repeating it with the same key has no further effect, and the
answer says so.

COMMANDS
{commands}
"""


def help_text(registry: Registry) -> str:
    """The help text, with the golden commands of this house."""
    rows = "\n".join(f"{c.cmd}: {c.summary}" for c in registry if c.tier == "gold")
    return _TEXT.format(portals=", ".join(PORTALS), commands=rows)
