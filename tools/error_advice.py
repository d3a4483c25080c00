"""Advice for docs/errors.md on errors whose recovery depends on the call.

Errors with a fixed recovery have it in their class (`fix`) and are not listed here.
"""

from __future__ import annotations

__all__ = ["ADVICE"]

ADVICE = {
    "ACK_FORBIDDEN": "call as the agent that the message was sent to",
    "ADOPTION_REJECTED": "register a new identity, or show uncommitted work of the earlier one",
    "AMBIGUOUS_SESSION": "name the agent and pass its token",
    "BATCH_FAILED": "fix the operation that the message names, then send the batch again",
    "CANNOT_EDIT": "fix or remove the file that the message names, then run the command again",
    "CHECKPOINTS_NOT_CONFIRMED": "confirm the checkpoints that the message lists",
    "CONFLICT": "read the current state with the offered action, then decide",
    "DUPLICATE_AGENT_ID": "register under another name, or adopt the identity if it is yours",
    "EXECUTOR_MISSING": "install the program that the message names, or start another runner",
    "FORBIDDEN": "use a token with the role that the message names",
    "INVALID_AGENT_ID": "choose a name of the form that the message gives",
    "INVALID_ARGS": "correct the argument that the message names; the refused process is recorded",
    "INVALID_INPUT": "correct the argument that the message names; see the offered schema",
    "INVALID_MESSAGE": "give both a subject and a body",
    "INVALID_NAME": "choose a name of the form that the recovery gives",
    "MERGE_NOT_SUPPORTED": "merge into the branch's own base, which the message names",
    "NO_ROOM": "free the resource that the message names; the runner retries automatically",
    "NO_WORKTREE": "start the runner in a git repository, or without worktrees",
    "PROJECT_GUARD_MISMATCH": "use the workspace of this project, or the other project's checkout",
    "PROJECT_NOT_BOUND": "`longhouse workspace bind NAME` in the project where it is done",
    "READ_FORBIDDEN": "call as the agent that the message was sent to",
    "RANGE_NOT_SATISFIABLE": "request a range inside the log and outside its gap",
    "RELEASE_FORBIDDEN": "ask the owner to release it, or wait until it expires",
    "RESERVATION_CONFLICT": "work elsewhere, wait, or write to the agent that the message names",
    "OUTPUT_LOST": "read the task's frames, or restore its output from a backup",
    "OUTPUT_REMOVED": "read the task's frames; keep what must stay with `tool.output_store`",
    "POLICY_DENIED": "ask an operator to allow it with `longhouse policy allow`",
    "ROUTING_REFUSED": "claim another job, or run a runner that offers what this one needs",
    "SERVER_FAILED": "read the log that the message names, then run `longhouse up` again",
    "STEP_LEASE_HELD": "work on another step, or wait until the lease expires",
    "STEP_LEASE_NOT_HELD": "claim the step first with `tasks.step.lease.claim`",
    "UNKNOWN_CMD": "use the closest command, which the recovery names, or see `system.cmd.list`",
    "UNKNOWN_ID": "copy an id from `status`, or list the existing ones with the offered action",
    "UNKNOWN_OP": "use an op that the recovery lists, or `op=call` with a command",
    "UNKNOWN_TASK_TOOL": "run `bash`, `exec`, or a command that `system.cmd.list` lists",
    "UNKNOWN_TOOL": "look up the name with `system.migration.lookup`",
    "WORKSPACE_LOCKED": "leave `workspace` out, or pass the one that the message names",
    "WORKSPACE_NOT_ALLOWED": "pass a workspace that the recovery lists",
}
