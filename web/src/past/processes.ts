// Processes as they stood, from when each was asked for, started and ended.
import { call } from "../api/calls";
import type { TaskView } from "../api/types";
import { type Answers, notYet } from "./answers";
import type { Past } from "./fold";

const MOST = 500;

function isOf(task: TaskView, status: TaskView["status"] | "active" | null): boolean {
  if (status === "active") return task.ended_at_ms === null;
  return status === null || task.status === status;
}

function taskThen(past: Past, task: TaskView): TaskView {
  const over = task.ended_at_ms !== null && task.ended_at_ms <= past.now;
  if (over) return task;
  const runs = task.started_at_ms !== null && task.started_at_ms <= past.now;
  return {
    ...task,
    status: runs ? "running" : "queued",
    started_at_ms: runs ? task.started_at_ms : null,
    ended_at_ms: null,
    exit_code: null,
    signal: null,
    cause: null,
    error: null,
    cancel_reason: null,
    leftovers: [],
    ports: runs ? task.ports : [],
    queue_position: null,
    host: null,
  };
}

/** How many frames it had: found by halving, since each frame names its row of the log. */
async function framesThen(task: TaskView, seq: number): Promise<number> {
  let [low, high] = [0, task.next_seq];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const asked = { task_id: task.task_id, after_seq: middle - 1, limit: 1 };
    const [frame] = (await call("tool.task_stream_events", asked)).frames;
    if (Number(String(frame?.id).split("@")[1]) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const processAnswers: Answers = {
  "tool.task_list": async ({ past }, { status, limit }, now) => {
    const all = await call("tool.task_list", { limit: MOST, budget_profile: "audit" });
    const tasks = all.tasks
      .filter((task) => task.created_at_ms <= past.now)
      .map((task) => taskThen(past, task))
      .filter((task) => isOf(task, status ?? null));
    const shown = tasks.slice(0, limit ?? tasks.length);
    return { ...now, tasks: shown, count: shown.length, has_more: shown.length < tasks.length };
  },
  "tool.task_status": async ({ past, seq }, _args, now) => {
    const { task } = now;
    if (task.created_at_ms > past.now) throw notYet(task.task_id);
    return { ...now, task: { ...taskThen(past, task), next_seq: await framesThen(task, seq) } };
  },
};
