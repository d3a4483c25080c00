"""`tool.task_spawn`: records a task before anything runs, even if it is refused.

A request that does not match its types leaves no record. A wrong tool, wrong arguments or a refusal
by policy becomes a task that was spawned and failed, with the reason in its frames.
"""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from longhouse.kernel.errors import Forbidden, InvalidInput, LonghouseError, Suggestion, UnknownCmd
from longhouse.kernel.redact import redact, redact_text
from longhouse.kernel.refs import seq_ref
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import decode
from longhouse.kernel.tool_policy import PolicyDecision, PolicyRequest
from longhouse.kernel.tool_tasks import is_programs_tool
from longhouse.processes.calling import refuse_above, standing_of
from longhouse.processes.documenting import index_process
from longhouse.processes.frames import logs_of, status_payload
from longhouse.processes.records import Process, name_taken, ref_of
from longhouse.processes.room import room, sql
from longhouse.processes.rules import decided, decision_payload, rules_of
from longhouse.processes.spec import (
    MAX_ARGS,
    BadSpec,
    TaskSpec,
    UnknownToolToRun,
    check_args,
    check_secrets,
    refuse_secret,
    spec_of,
)
from longhouse.processes.state import TaskState
from longhouse.processes.types.tasks import SpawnTask, TaskStatus, ToolTaskSpawned
from longhouse.store.artifacts.owners import refuse_another_owner
from longhouse.store.tx import Refused, Tx

__all__ = ["PolicyDenied", "spawn"]


class PolicyDenied(Forbidden):
    """No policy rule allows this."""

    code = "POLICY_DENIED"


@room.command(
    "tool.task_spawn",
    also=(
        "tool.spawn tool.run tool.start tool.exec tool.bash tool.launch "
        "tool.shell tool.command tool.task_start tool.task_run tool.process "
        "tool.background"
    ),
    writes=True,
    additive=True,
    example=SpawnTask(tool="bash", args={"command": "make test"}, name="tests"),
)
def spawn(tx: Tx, req: SpawnTask) -> ToolTaskSpawned | Refused:
    """Start a program or a command in the background; a runner or the server runs it."""
    if len(msgspec.json.encode(req.args)) > MAX_ARGS:
        raise InvalidInput(
            f"args: more than {MAX_ARGS} bytes",
            recovery="put the script into a file in the workspace and run that",
        )
    refuse_secret("name", req.name)
    refuse_another_owner(tx, req.job)
    if req.name and (taken := name_taken(tx, req.name)):
        raise taken
    if req.lifetime == "job" and req.job is None:
        raise InvalidInput(
            "lifetime: job requires the argument job; fix: lifetime=workspace",
            recovery="pass job=JOB-001, or lifetime=workspace",
        )
    spec = spec_of(req)
    task_id = ref_of(tx.counted("processes") + 1)
    decision = None
    try:
        command = _checked(tx, req)
        decision = _decided(tx, req, command)
        if not decision.allowed:
            raise _denied(req, decision)
        used = [msgspec.to_builtins(rule) for rule in rules_of(tx) if rule.id in decision.rules]
        by = {} if is_programs_tool(req.tool) else standing_of(tx)
        process = _record(tx, req, msgspec.structs.replace(spec, rules=used, by=by), decision)
    except LonghouseError as error:
        return _refused(req, task_id, spec, error, decision)
    tx.suggest(TaskStatus(task_id=process.task_id), "see its current state")
    return ToolTaskSpawned(
        task_id=process.task_id,
        status=process.state.status,
        ref=seq_ref(process.task_id, process.row["last_seq"]),
    )


def _checked(tx: Tx, req: SpawnTask) -> Command | None:
    """Refuse what cannot run; returns the command if the tool is a registry command."""
    check_secrets(req.args)
    if is_programs_tool(req.tool):
        check_args(req.tool, req.args)
        return None
    try:
        command: Command = tx.facts.registry.get(req.tool)
    except UnknownCmd as error:
        raise UnknownToolToRun(
            f"tool: there is no tool {req.tool[:80]!r}; use bash, exec, or a command",
            recovery=error.recovery or "list commands with system.cmd.list",
        ) from None
    if command.cmd.startswith("tool.") or command.reveals or req.execution_mode == "pty":
        raise BadSpec(
            f"tool: {command.cmd} cannot run as a task with execution_mode={req.execution_mode}",
            recovery="call it directly",
        )
    refuse_above(tx, command, req.args)
    try:
        decode(command, req.args)
    except InvalidInput as error:
        raise BadSpec(f"args.{error.message}", recovery=error.recovery) from None
    return command


def _decided(tx: Tx, req: SpawnTask, command: Command | None) -> PolicyDecision:
    """The policy decision; a command is looked up by its canonical name."""
    tool = command.cmd if command else req.tool
    return decided(tx, PolicyRequest(tool, req.args, req.execution_mode))


def _denied(req: SpawnTask, decision: PolicyDecision) -> PolicyDenied:
    return PolicyDenied(f"{decision.rule}: {decision.why}", recovery=_way_on(req, decision))


def _way_on(req: SpawnTask, decision: PolicyDecision) -> str:
    """What the refused caller can do, or ask the operator to do."""
    if decision.rule.startswith("RULE-"):
        return f"the operator can withdraw the rule: longhouse policy withdraw {decision.rule}"
    if decision.rule.endswith(".unreadable"):
        return (
            "put the line into a script in the workspace; the operator can allow that: "
            "longhouse policy allow exec ./script.sh"
        )
    if decision.rule.endswith(".env"):
        if decision.variable is None:
            return "leave the variable out"
        variable = shlex.quote(decision.variable)
        return f"the operator can allow it: longhouse policy allow env {variable}"
    line = req.args.get("command") or " ".join(map(str, req.args.get("argv", ())))
    words = [req.tool, *([shlex.quote(line[:120])] if line else [])]
    if req.execution_mode == "pty":
        words += ["--pty", "--justification", "'why'"]
    return f"the operator can allow it: longhouse policy allow {' '.join(words)}"


def _refused(
    req: SpawnTask,
    task_id: str,
    spec: TaskSpec,
    error: LonghouseError,
    decision: PolicyDecision | None,
) -> Refused:
    """Answer with the error, and record the task that never ran with the reason."""
    error.hints = (*error.hints, {"kind": "task", "task_id": task_id})
    error.suggest = (
        *error.suggest,
        Suggestion(TaskStatus(task_id=task_id), "see what is recorded"),
    )
    shown = msgspec.structs.replace(spec, args=redact(spec.args))

    def record(after: Tx) -> None:
        process = _record(after, req, shown, decision)
        ended = {
            "status": "failed",
            "ended_at_ms": after.now_ms,
            "error": redact_text(error.message),
        }
        process.write(
            after, [("tool_task_status", status_payload(**ended, cause=error.code.lower()))]
        )

    return Refused(error, (), record)


def _record(tx: Tx, req: SpawnTask, spec: TaskSpec, decision: PolicyDecision | None) -> Process:
    """Add the task's row and its first frames."""
    n = tx.count("processes")
    task_id = ref_of(n)
    lifetime = req.lifetime or ("job" if req.job else "workspace")
    row = tx.one(
        sql.task_add,
        n=n,
        name=req.name,
        tool=redact_text(req.tool),
        mode=req.execution_mode,
        spec=msgspec.json.encode(spec).decode(),
        owner=tx.by.owner,
        identity=tx.by.identity,
        role=int(tx.by.role),
        agent_id=tx.actor,
        job_id=req.job,
        lifetime=lifetime,
        now=tx.now_ms,
        seq=tx.last_seq() + 1,
    )
    assert row is not None
    spawned = {
        "tool_name": redact_text(req.tool),
        "args": spec.args,
        "cwd": spec.args.get("cwd"),
        "title": spec.title,
        "execution_mode": req.execution_mode,
        "origin_session_id": spec.origin_session_id,
        "name": req.name,
        "agent_id": tx.actor,
        "job_id": req.job,
        "step_id": spec.step,
        "lifetime": lifetime,
        "artifacts": {
            "logs": logs_of(task_id, req.execution_mode),
            "artifact_max_bytes": spec.number("artifact_max_bytes"),
            "max_bytes": spec.number("max_bytes"),
        },
    }
    frames: list[tuple[str, dict[str, Any]]] = [("tool_task_spawned", spawned)]
    if decision is not None:
        frames.append(("tool_policy_decided", decision_payload(tx, decision)))
    index_process(tx, row, task_id, row["created_seq"])
    return Process(row, spec, TaskState()).write(tx, frames)
