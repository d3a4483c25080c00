"""`system.diagnostics`: checks the workspace and a plan or task, and suggests fixes."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.desk.room import room
from longhouse.desk.status import golden_path
from longhouse.desk.types.macros import Diagnose, Diagnosis
from longhouse.desk.types.system import Init
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell
from longhouse.kernel.values import Draft
from longhouse.memory import Targeting, last_entry, standing
from longhouse.memory.types.documents import CommitNote
from longhouse.store.tx import Tx
from longhouse.work import (
    context_health,
    findings,
    given_id,
    known_target,
    patch_suggestions,
    scene_of,
    where_to_start,
)
from longhouse.work.types.focus import ClearFocus

__all__ = []

PATCHES = 3
Found = tuple[dict[str, Any], Suggestion]


def _lines(result: dict[str, Any]) -> list[str]:
    """The summary on one line; then one line per problem, with its fix."""
    health = result["context_health"]
    state = [
        f"diagnostics {result['summary']}",
        f"checkout={result['checkout'] or '-'}",
        f"context={' '.join([health['status'], *health['codes']])}",
        f"ref={result['target'] or '-'}",
    ]
    rows = [
        f"{one['severity']} {one['code']} {cell(one['message'], 120)}"
        f" | fix: {cell(one['recovery'], 120)}"
        for one in result.get("issues", ())
    ]
    return [" | ".join(state), *rows]


@room.command(
    "system.diagnostics",
    also="health doctor check diagnose tasks.diagnostics",
    example=Diagnose(),
    lines=_lines,
    trim=[Clip("issues.message", 40), Pop("issues"), Drop("reasoning_ref")],
)
def diagnostics(tx: Tx, req: Diagnose) -> Diagnosis:
    """Check the workspace and a plan or task for problems, with fixes."""
    at = standing(tx)
    asked = given_id(req)
    found = list(_of_workspace(tx, at))
    codes = [issue["code"] for issue, _ in found]
    issues = [issue for issue, _ in found]
    tx.suggestions.extend(suggestion for _, suggestion in found)
    target, ref = asked or at.focus, None
    if target is None:
        tx.suggestions.extend(where_to_start(tx)[:1])
    elif asked or known_target(tx, target):
        scene = scene_of(tx, target)
        linted = list(findings(tx, scene))
        ref = scene.reasoning_ref
        codes += [code for code in context_health(tx, scene).codes if code not in codes]
        issues += [msgspec.to_builtins(finding.issue) for finding in linted]
        tx.suggestions.extend(patch_suggestions(linted)[:PATCHES])
    return Diagnosis(
        workspace=tx.workspace,
        checkout=at.checkout,
        focus=at.focus,
        target=target,
        summary=f"{len(issues)} to check" if issues else "no problems",
        issues=sorted(issues, key=lambda issue: issue["severity"]),
        context_health={"status": "warn" if codes else "ok", "codes": codes},
        reasoning_ref=ref,
        golden_path=golden_path(tx),
    )


def _of_workspace(tx: Tx, at: Targeting) -> list[Found]:
    """Problems that do not depend on the target."""
    found: list[Found] = []

    def note(code: str, message: str, recovery: str, request: Any, action_id: str) -> None:
        issue = {
            "severity": "warning",
            "kind": "context",
            "code": code,
            "message": message,
            "recovery": recovery,
        }
        found.append((issue, Suggestion(request, recovery, action_id=action_id)))

    if at.checkout is None:
        note(
            "NO_CHECKOUT",
            "no branch is checked out",
            "check out 'main' with system.init",
            Init(),
            "recover.init",
        )
    if last_entry(tx) is None:
        note(
            "CONTEXT_EMPTY",
            "no document has an entry",
            "write down what you are working on, with vcs.notes.commit",
            Draft(CommitNote, {}, ["content"]),
            "recover.first.note",
        )
    if at.focus is not None and known_target(tx, at.focus) is None:
        note(
            "FOCUS_MISSING",
            f"{at.focus} is in focus but no longer exists",
            "clear the focus with tasks.focus.clear",
            ClearFocus(),
            "recover.focus",
        )
    return found
