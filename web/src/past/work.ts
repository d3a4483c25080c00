// Plans, tasks and steps at a past seq.
import type { EntityOpened, Plan, Task } from "../api/types";
import { type Answers, notYet, type Then } from "./answers";
import type { PastPlan, PastTask } from "./fold";

const CLOSED = new Set(["DONE", "CANCELED"]);

function taskThen(task: PastTask, today: Task | undefined): Task {
  const open = [...task.steps.values()].filter((done) => !done).length;
  return {
    priority: "MEDIUM",
    reasoning_mode: "normal",
    revision: 0,
    ...today,
    kind: "task",
    id: task.id,
    qualified_id: today?.qualified_id ?? task.id,
    plan_id: task.plan,
    title: today?.title ?? task.title,
    status: task.status,
    assignee: task.assignee ?? null,
    steps_total: task.steps.size,
    steps_open: open,
    waits_for: 0,
    created_at_ms: task.created,
    updated_at_ms: task.updated,
  };
}

function planThen(plan: PastPlan, today: Plan | undefined): Plan {
  return {
    priority: "MEDIUM",
    revision: 0,
    created_at_ms: 0,
    updated_at_ms: 0,
    ...today,
    kind: "plan",
    id: plan.id,
    qualified_id: today?.qualified_id ?? plan.id,
    title: today?.title ?? plan.title,
    status: plan.status,
  };
}

function counts(all: Iterable<{ status: string }>): { [status: string]: number } {
  const found: { [status: string]: number } = {};
  for (const { status } of all) found[status] = (found[status] ?? 0) + 1;
  return found;
}

function entityThen({ past, seq }: Then, opened: EntityOpened): EntityOpened {
  const task = past.tasks.get(opened.id);
  const plan = past.plans.get(opened.id);
  if (!task && !plan) throw notYet(opened.id);
  const events = opened.events?.filter((event) => event.seq <= seq);
  if (!task) {
    return { ...opened, target: planThen(plan as PastPlan, opened.target as Plan), events };
  }
  return {
    ...opened,
    target: taskThen(task, opened.target as Task),
    step_focus: null,
    steps: opened.steps
      ?.filter((step) => task.steps.has(step.path))
      .map((step) => ({ ...step, completed: task.steps.get(step.path) ?? false })),
    proofs: opened.proofs?.filter((proof) => Number(/@(\d+)$/.exec(proof.ref)?.[1]) <= seq),
    events,
  };
}

export const workAnswers: Answers = {
  "tasks.context": ({ past }, args, now) => {
    const today = new Map(now.tasks.map((task) => [task.id, task]));
    const plans = new Map(now.plans.map((plan) => [plan.id, plan]));
    const all = [...past.tasks.values()];
    const found = all
      .filter((task) => !args.tasks_parent || task.plan === args.tasks_parent)
      .filter((task) => !args.assignee || task.assignee === args.assignee)
      .filter((task) =>
        args.tasks_status
          ? task.status === args.tasks_status
          : args.unproved || args.include_all
            ? !args.unproved || today.has(task.id)
            : !CLOSED.has(task.status),
      );
    const shown = found.slice(0, args.tasks_limit ?? found.length);
    return {
      ...now,
      by_status: { ...now.by_status, tasks: counts(all), plans: counts(past.plans.values()) },
      plans: [...past.plans.values()]
        .filter((plan) => !CLOSED.has(plan.status))
        .slice(0, args.plans_limit ?? past.plans.size)
        .map((plan) => planThen(plan, plans.get(plan.id))),
      tasks: shown.map((task) => taskThen(task, today.get(task.id))),
      tasks_pagination: {
        ...now.tasks_pagination,
        has_more: shown.length < found.length,
        count: shown.length,
      },
    };
  },
  "tasks.ready": ({ past }, args, now) => {
    const found = [...past.tasks.values()].filter((task) => !CLOSED.has(task.status));
    const tasks = found
      .slice(0, args.limit ?? found.length)
      .map((task) => taskThen(task, undefined));
    return { ...now, tasks, count: tasks.length, has_more: tasks.length < found.length };
  },
  open: (then, _args, now) =>
    "target" in now && (now.kind === "task" || now.kind === "plan")
      ? { ...entityThen(then, now), truncated: now.truncated }
      : now,
};
