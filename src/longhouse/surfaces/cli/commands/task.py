"""`longhouse task`: add work, track it, and close it step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import flat, many
from longhouse.surfaces.cli.spec import AS_OF, Arg, Command, Flag, Shown
from longhouse.surfaces.cli.task_views import (
    bar,
    list_lines,
    next_step_lines,
    pack_lines,
    tree_lines,
)

STATUSES = ("TODO", "ACTIVE", "PARKED", "DONE", "CANCELED")
PRIORITIES = ("LOW", "MEDIUM", "HIGH")
CHECKPOINTS = ("gate", "all")
TARGET = Arg(
    "target",
    "a task or plan, such as TASK-001 (default: the one in focus)",
    required=False,
    others=("task", "plan"),
)


def _at(target: str | None) -> dict[str, Any]:
    return {"target": target} if target else {}


def add(
    cli: Cli,
    title: str,
    plan: str | None = None,
    step: list[str] | None = None,
    template: str | None = None,
    focus: bool = False,
    **more: Any,
) -> Shown:
    if template:
        made = cli.call(
            "tasks.scaffold",
            template=template,
            title=title,
            parent=plan,
            description=more.get("description"),
        )
        task, count = made["task"], len(made["steps"])
    else:
        steps = [{"title": text, "success_criteria": [text]} for text in step or []]
        made = cli.call(
            "tasks.plan.create", title=title, kind="task", parent=plan, steps=steps, **more
        )
        task, count = made["id"], len(steps)
    if focus:
        cli.call("tasks.focus.set", task=task)
    lines = [f"{task} added to {made['plan']}" + (f" with {many(count, 'step')}" if count else "")]
    if not count:
        lines.append(cli.out.style(f'next: longhouse task step {task} "First step"', "dim"))
    return Shown(made, lines)


def start(
    cli: Cli, title: str, plan: str | None = None, step: list[str] | None = None, **more: Any
) -> Shown:
    steps = [{"title": text, "success_criteria": [text]} for text in step or []]
    given = {"task_title": title, "plan": plan, "steps": steps, **more}
    made = cli.call("tasks.macro.start", view="smart", **given)
    steps_made = many(len(made["steps"]), "step")
    line = f"{made['task_id']} started in {made['plan_id']} with {steps_made}; it is now in focus"
    resume = made["resume"]
    shown = {**resume, **resume.get("records", {})}
    return Shown(made, [line, *(tree_lines(cli, shown) if "target" in shown else [])])


def add_steps(
    cli: Cli,
    task: str,
    titles: list[str],
    below: str | None = None,
    criterion: list[str] | None = None,
) -> Shown:
    steps = [{"title": text, "success_criteria": criterion or [text]} for text in titles]
    made = cli.call("tasks.plan.decompose", task=task, steps=steps, parent=below)
    paths = ", ".join(step["path"] for step in made["steps"])
    return Shown(made, [f"{task} has {paths}"])


def _new_steps(call: Mapping[str, Any]) -> dict[str, Any]:
    """The steps' titles, and their success criteria where those differ from the titles."""
    left = dict(call)
    given = [{"title": one} if isinstance(one, str) else one for one in left.get("steps", [])]
    if not all(set(one) <= {"title", "success_criteria"} for one in given):
        return left
    titles = [one["title"] for one in given]
    criteria = [one.get("success_criteria", [one["title"]]) for one in given]
    if criteria != [[title] for title in titles]:
        if any(one != criteria[0] for one in criteria):
            return left
        left["criterion"] = criteria[0]
    left.pop("steps", None)
    return {**left, "titles": titles}


def _new_task(call: Mapping[str, Any]) -> dict[str, Any]:
    """A new task with its steps; a call with nothing specific to tasks creates a plan."""
    left = _new_steps(call)
    if left.get("kind") == "task" or {"parent", "steps", "assignee"} & call.keys():
        left.pop("kind", None)
    else:
        left["kind"] = "plan"
    titles = left.pop("titles", [])
    return {**left, "step": titles} if titles else left


def list_tasks(
    cli: Cli,
    all: bool = False,
    status: str | None = None,
    plan: str | None = None,
    who: str | None = None,
    tag: list[str] | None = None,
    after: str | None = None,
    limit: int | None = None,
    ready: bool = False,
    as_of: int | None = None,
) -> Shown:
    if ready:
        found = cli.call(
            "tasks.ready", plan=plan, assignee=who, cursor=after, limit=limit, as_of=as_of
        )
        page = {**found, "tasks_pagination": {"next_cursor": found.get("next_cursor")}}
        return Shown(found, list(list_lines(cli, page)))
    found = cli.call(
        "tasks.context",
        plans_limit=0,
        include_all=all,
        tasks_status=status,
        tasks_parent=plan,
        assignee=who,
        tags=tag or [],
        tasks_cursor=after,
        tasks_limit=limit,
        as_of=as_of,
    )
    return Shown(found, list(list_lines(cli, found)))


def show(cli: Cli, target: str | None = None) -> Shown:
    found = cli.call("tasks.resume.pack", **_at(target))
    return Shown(found, list(pack_lines(cli, found)))


def tree(cli: Cli, target: str | None = None) -> Shown:
    found = cli.call("tasks.radar", **_at(target))
    if found["target"]["kind"] == "plan":
        page = cli.call(
            "tasks.context",
            plans_limit=0,
            include_all=True,
            tasks_limit=200,
            tasks_parent=found["target"]["id"],
        )
        found = {**found, "tasks": page["tasks"]}
    return Shown(found, list(tree_lines(cli, found)))


def next_step(cli: Cli, target: str | None = None) -> Shown:
    if not target and not cli.call("tasks.focus.get")["focus"]:
        found = cli.call("tasks.ready", limit=5)
        lines = list(list_lines(cli, {**found, "tasks_pagination": {}}))
        if found["tasks"]:
            lines.append(
                cli.out.style(f"next: longhouse task focus {found['tasks'][0]['id']}", "dim")
            )
        return Shown(found, lines)
    outcome = cli.ask("tasks.snapshot", _at(target))
    found = outcome.result()
    actions = outcome.envelope["actions"] if outcome.envelope else []
    return Shown(found, list(next_step_lines(cli, found, actions)))


def close(
    cli: Cli,
    path: str | None = None,
    task: str | None = None,
    checkpoints: str = "gate",
    proof: list[str] | None = None,
) -> Shown:
    step = "step_id" if path and path.startswith("STEP-") else "path"
    where = {**({"task": task} if task else {}), **({step: path} if path else {})}
    closing = {**where, "checkpoints": checkpoints}
    if proof:
        given = {**where, "checks": proof, "checkpoint": "tests"}
        done = cli.call(
            "tasks.batch",
            operations=[
                {"cmd": "tasks.evidence.capture", "args": given},
                {"cmd": "tasks.step.close", "args": closing},
            ],
        )
        moved = done["operations"][1]["result"]
    else:
        moved = cli.call("tasks.step.close", **closing)
    left = cli.call("tasks.radar", task=moved["task"])
    lines = [f"{moved['task']} {moved['path']} is closed  {bar(left['target'])}"]
    if said := left["radar"]["next"]:
        over = left["target"]["steps_open"] == 0
        lines.append(f"next: longhouse task {'done' if over else 'next'} {moved['task']}")
        lines.append(cli.out.style(f"      {said[0]}", "dim"))
    return Shown(moved, lines)


def show_moved(cli: Cli, result: dict[str, Any]) -> list[str]:
    it = result.get("task") or result["plan"]
    return [f"{it['id']} is {it['status']}  {flat(it['title'])}"]


def show_focus(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['focus']} is now in focus"]


def done(
    cli: Cli,
    target: str | None = None,
    status: str = "DONE",
    park_s: int | None = None,
    hanging: str | None = None,
) -> Shown:
    given = {"hanging": hanging} if hanging else {}
    moved = cli.call("tasks.complete", status=status, parked_for_s=park_s, **given, **_at(target))
    settled = [
        f"{one['outcome']}: {one['kind']} {one['ref']} ({one['what']})"
        for one in moved.get("hanging", ())
    ]
    return Shown(moved, [*show_moved(cli, moved), *settled])


def focus(cli: Cli, target: str) -> Shown:
    moved = cli.call("tasks.focus.set", target=target)
    return Shown(moved, show_focus(cli, moved))


command = Command(
    "task",
    "Plan work, track it, and close it with proof",
    children=[
        Command(
            "add",
            "Add a task",
            args=[Arg("title", "a short title")],
            flags=[
                Flag(
                    "plan",
                    "its plan, by id or title (default: the one in focus, else Inbox)",
                    "PLAN",
                    field="parent",
                ),
                Flag("step", "a step; may be repeated", "TEXT", many=True),
                Flag("template", "use the steps of this template, such as basic-task", "NAME"),
                Flag("description", "why it matters", "TEXT"),
                Flag("priority", "how urgent it is", "LEVEL", choices=PRIORITIES),
                Flag("assignee", "who works on it", "AGENT"),
                Flag("focus", "set your focus to it"),
            ],
            run=add,
            also={"tasks.plan.create": "TITLE"},
            values_of=_new_task,
            examples=["longhouse task add 'Index the search' --step Measure --step Index --focus"],
        ),
        Command(
            "start",
            "Start a task: add it with steps, focus on it, show it",
            args=[Arg("title", "a short title", field="task_title")],
            flags=[
                Flag(
                    "plan",
                    "its plan, by id or title (default: the one in focus, else Inbox)",
                    "PLAN",
                ),
                Flag("step", "a step; may be repeated", "TEXT", many=True),
                Flag("template", "use the steps of this template (default: basic-task)", "NAME"),
                Flag("description", "why it matters", "TEXT"),
                Flag("assignee", "who works on it", "AGENT"),
            ],
            run=start,
            calls="tasks.macro.start",
            examples=["longhouse task start 'Find the slow query'"],
        ),
        Command(
            "list",
            "List open tasks",
            flags=[
                Flag("all", "include closed tasks", field="include_all"),
                Flag("ready", "only tasks that can be worked on now, most urgent first"),
                Flag(
                    "status",
                    "only tasks with this status",
                    "STATE",
                    choices=STATUSES,
                    field="tasks_status",
                ),
                Flag("plan", "only tasks of this plan", "PLAN", field="tasks_parent"),
                Flag("who", "only tasks assigned to this agent", "AGENT", field="assignee"),
                Flag("tag", "only with this tag; may be repeated", "TAG", many=True, field="tags"),
                Flag("limit", "how many", "N", kind=int, field="tasks_limit"),
                Flag("after", "continue after this task", "TASK", field="tasks_cursor"),
                AS_OF,
            ],
            run=list_tasks,
            calls="tasks.context",
            also={"tasks.ready": "--ready"},
        ),
        Command(
            "show",
            "Show a task or plan with its evidence and events",
            args=[TARGET],
            run=show,
            calls="tasks.resume.pack",
        ),
        Command(
            "tree",
            "Show a task's steps as a tree, with progress",
            args=[TARGET],
            run=tree,
            calls="tasks.radar",
        ),
        Command(
            "next",
            "Show the next step, or the tasks that are ready",
            args=[TARGET],
            run=next_step,
            calls="tasks.snapshot",
        ),
        Command(
            "step",
            "Add steps to a task",
            args=[
                Arg("task", "the task, such as TASK-001"),
                Arg("titles", "a title for each step", many=True),
            ],
            flags=[
                Flag("below", "add them below this step", "PATH", field="parent"),
                Flag(
                    "criterion",
                    "when a step counts as done (default: its title); may be repeated",
                    "TEXT",
                    many=True,
                ),
            ],
            run=add_steps,
            also={"tasks.plan.decompose": "TASK TITLE"},
            values_of=_new_steps,
        ),
        Command(
            "close",
            "Confirm a step's checkpoints and close it",
            args=[
                Arg(
                    "path",
                    "the step, such as s:0 or STEP-… (default: the first open one)",
                    required=False,
                    others=("step_id",),
                )
            ],
            flags=[
                Flag("task", "its task (default: the one in focus)", "TASK"),
                Flag(
                    "checkpoints", "which to confirm (default: gate)", "WHICH", choices=CHECKPOINTS
                ),
                Flag(
                    "proof",
                    "the proof: 'CMD: make test (exit 0)', a link, a ref; may be repeated",
                    "TEXT",
                    many=True,
                ),
            ],
            run=close,
            calls="tasks.step.close",
            examples=["longhouse task close --proof 'CMD: make test (exit 0)'"],
        ),
        Command(
            "done",
            "Finish a task or plan, or set another status",
            args=[TARGET],
            flags=[
                Flag("status", "the new status (default: DONE)", "STATE", choices=STATUSES),
                Flag(
                    "park-s",
                    "with --status PARKED: wake it after this many seconds",
                    "S",
                    kind=int,
                    field="parked_for_s",
                ),
                Flag(
                    "hanging",
                    "with --status CANCELED: end or keep its jobs, processes and reservations",
                    "HOW",
                    choices=("end", "keep"),
                ),
            ],
            run=done,
            calls="tasks.complete",
        ),
        Command(
            "focus",
            "Set your focus to a task or plan",
            args=[TARGET._replace(help="a task or plan, such as TASK-001", required=True)],
            run=focus,
            calls="tasks.focus.set",
        ),
    ],
)
