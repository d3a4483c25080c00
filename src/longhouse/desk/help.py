"""The help text: the one place that explains the protocol, so that no answer has to repeat it."""

from __future__ import annotations

from longhouse.kernel.registry import PORTALS, Registry

__all__ = ["help_text"]

_TEXT = """\
Longhouse is shared, durable memory and work for agents and people.

CALL
Ten tools: {portals}. `status` and `open` take flat arguments. The others take an op and its args,
or op=call with cmd and args for any command. `system` with op=cmd.list lists commands,
op=schema.get shows one. Every answer has success, intent, result, actions, warnings and error;
actions are complete calls that run as given. Pass fmt=lines for a short answer to read and paste,
max_chars to bound any answer.

DAY
1. status: where am I, what is next. 2. tasks.macro.start begins a task; tasks.resume.super gives
all that you need to go on with one; tasks.snapshot tells in two lines where it stands.
3. open <ref>: look at anything by its id. 4. vcs.notes.commit: write down decisions and evidence as
you go, not at the end. 5. tasks.macro.close.step closes a step with its note and proof.
6. jobs.create: hand work to a runner; jobs.report and jobs.complete answer it.

REFS
Every record has a stable ref to paste anywhere: notes@12 (an entry), TASK-001, STEP-00000001,
CARD-7, JOB-001 (a job), JOB-001@45 (an event of it). A seq never changes and is never reused.

TAGS
v:canon is shown by default, v:draft only on request; pinned comes first;
step:<id> scopes to a step; a:<name> binds to an area of the architecture;
counter marks an opposing hypothesis.

PROOF
Done means shown. A receipt is a line `CMD: <command you ran>` or `LINK: <url>`, or a ref to a
record that exists. Free text is a note, not proof.

COMMON
Every command also takes workspace, agent_id (who acts), max_chars, max_bytes and max_lines (how
long the answer may be), fmt (json or lines) and budget_profile (portal, default, audit: the caps);
writes take idempotency_key.

RETRY
Pass idempotency_key with a write: the same call twice has one effect and says so.

COMMANDS
{commands}
"""


def help_text(registry: Registry) -> str:
    """The text, with the commands that this house has."""
    rows = "\n".join(f"{c.cmd}: {c.summary}" for c in registry if c.tier == "gold")
    return _TEXT.format(portals=", ".join(PORTALS), commands=rows)
