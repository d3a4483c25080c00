"""`tasks.lint`: gaps in a plan or task, and ready-to-run calls that fix them."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Pop
from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell
from longhouse.memory import find_branch, page_of, view_of
from longhouse.store.tx import Tx
from longhouse.work.lint_rules import PATCH_ORDER, LintFinding, findings
from longhouse.work.lookup import id_of
from longhouse.work.radar import Scene, scene_of
from longhouse.work.room import room
from longhouse.work.types.lint import ContextHealth, FixUp, Lint, Linted

__all__ = [
    "context_health",
    "patch_suggestions",
]


def _lint_lines(result: dict[str, Any]) -> list[str]:
    summary = result["summary"]
    head = f"lint {result['target']} errors={summary['error']} warnings={summary['warning']}"
    return (
        [head]
        + [
            f"{issue['code']} {issue['target']} | {cell(issue['message'], 100)} | fix: "
            f"{cell(issue['recovery'], 100)}"
            for issue in result["issues"]
        ]
        + [f"{patch['id']} | {cell(patch['purpose'], 100)}" for patch in result["patches"]]
    )


@room.command(
    "tasks.lint",
    also="check validate",
    example=Lint(task="TASK-001"),
    lines=_lint_lines,
    trim=[Pop("patches", leave=1), Pop("issues", leave=1), Pop("patches")],
)
def lint(tx: Tx, req: Lint) -> Linted:
    """Find what a plan or task lacks, with calls that fix it."""
    scene = scene_of(tx, id_of(tx, req))
    found = list(findings(tx, scene))
    issues = sorted((f.issue for f in found), key=lambda i: (i.severity, i.kind, i.code, i.target))
    chosen = sorted(patchable(found)[: req.patches_limit], key=lambda f: f.patch_id)
    if chosen:
        tx.suggestions.append(patch_suggestions(found)[0])
    return Linted(
        target=scene.id,
        summary={kind: sum(i.severity == kind for i in issues) for kind in ("error", "warning")},
        issues=issues,
        patches=[_fix(tx, finding) for finding in chosen],
        context_health=context_health(tx, scene),
    )


def patchable(found: list[LintFinding]) -> list[LintFinding]:
    """The findings that a call can fix, most useful first."""
    return sorted((f for f in found if f.request), key=lambda f: (_rank(f), f.patch_id))


def patch_suggestions(found: list[LintFinding]) -> list[Suggestion]:
    """The fixable findings as suggested calls."""
    return [
        Suggestion(finding.request, finding.issue.recovery, action_id=finding.patch_id)
        for finding in patchable(found)
        if finding.request is not None
    ]


def _rank(finding: LintFinding) -> int:
    return (*PATCH_ORDER, finding.patch).index(finding.patch)


def _fix(tx: Tx, finding: LintFinding) -> FixUp:
    assert finding.request is not None
    action = action_for(tx.facts.registry, tx.workspace, Suggestion(finding.request, ""))
    return FixUp(
        id=finding.patch_id,
        purpose=finding.issue.recovery,
        apply={"tool": action.tool, "args": action.args},
        missing=action.missing,
    )


def context_health(tx: Tx, scene: Scene) -> ContextHealth:
    """Whether a plan or task has notes, or only the automatic trace."""
    ref = scene.reasoning_ref
    if find_branch(tx, ref.branch) is None:
        return ContextHealth(status="warn", codes=["REASONING_BRANCH_MISSING"])
    notes, trace = (
        page_of(tx, view_of(tx, ref.branch, doc), cursor=None, limit=1)[0]
        for doc in (ref.notes_doc, ref.trace_doc)
    )
    if notes:
        return ContextHealth(status="ok")
    return ContextHealth(status="warn", codes=["TRACE_ONLY" if trace else "CONTEXT_EMPTY"])
