// Processes at a past seq, from the times each was requested, started and ended.
import { call } from "../api/calls";
import type { TaskView } from "../api/types";
import { type Answers, notYet } from "./answers";
import type { Past } from "./fold";

const PAGE = 500;
/** How many pages are searched for processes in one state. */
const MOST_PAGES = 4;

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

/** How many frames it had: a binary search, since each frame names its row in the log. */
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

const numbered = (n: number) => `PROC-${String(n).padStart(3, "0")}`;

/** The cursor where the list started then: ids only grow, so a binary search finds the newest. */
async function listThen(past: Past): Promise<string | null> {
  const newest = async (cursor: string | null) =>
    (await call("tool.task_list", { limit: 1, cursor })).tasks[0];
  const last = await newest(null);
  if (!last || last.created_at_ms <= past.now) return null;
  let [low, high] = [1, Number(last.task_id.slice("PROC-".length))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const before = await newest(numbered(middle));
    if (!before || before.created_at_ms <= past.now) low = middle;
    else high = middle - 1;
  }
  return numbered(low);
}

export const processAnswers: Answers = {
  "tool.task_list": async ({ past }, { status, limit }, now) => {
    const wanted = limit ?? PAGE;
    const found: TaskView[] = [];
    let cursor = await listThen(past);
    let more = true;
    for (let page = 0; more && page < MOST_PAGES && found.length <= wanted; page++) {
      const asked = { limit: PAGE, cursor, budget_profile: "audit" as const };
      const { tasks, next_cursor, has_more } = await call("tool.task_list", asked);
      const then = tasks.map((task) => taskThen(past, task));
      found.push(...then.filter((task) => isOf(task, status ?? null)));
      cursor = next_cursor;
      more = has_more;
    }
    const tasks = found.slice(0, wanted);
    return { ...now, tasks, count: tasks.length, has_more: more || found.length > wanted };
  },
  "tool.task_status": async ({ past, seq }, _args, now) => {
    const { task } = now;
    if (task.created_at_ms > past.now) throw notYet(task.task_id);
    return { ...now, task: { ...taskThen(past, task), next_seq: await framesThen(task, seq) } };
  },
};
