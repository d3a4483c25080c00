// The text for a process: its state, command, title and sizes.
import type { TaskView } from "../../api/types";
import type { Tone } from "../../kit/parts";

export type Status = TaskView["status"];
export type Stream = "stdout" | "stderr" | "pty";

export const STATUS: Record<Status, [string, Tone]> = {
  queued: ["Waiting for a runner", "warn"],
  running: ["Running", "ok"],
  exited: ["Exited", "plain"],
  cancelled: ["Canceled", "plain"],
  failed: ["Failed", "bad"],
};

export function stateOf(task: TaskView): [string, Tone] {
  if (task.status === "exited" && task.exit_code !== 0) {
    return [task.signal ? `Ended by ${task.signal}` : `Exit code ${task.exit_code}`, "bad"];
  }
  if (task.status === "exited") return ["Exit code 0", "ok"];
  if (task.status === "running" && task.host === "silent") return ["Not responding", "warn"];
  if (task.status === "running" && task.cancel_reason) return ["Stopping", "warn"];
  if (task.held) return ["Held", "warn"];
  if (task.cause === "policy_denied") return ["Refused by policy", "bad"];
  return STATUS[task.status];
}

export function isOver(task: TaskView): boolean {
  return task.ended_at_ms !== null;
}

export function commandOf(task: TaskView): string {
  const { command, argv } = task.args as { command?: string; argv?: unknown[] };
  return command ?? argv?.map(String).join(" ") ?? task.tool;
}

/** A short title. */
export function titleOf(task: TaskView): string {
  return task.title ?? task.name ?? commandOf(task);
}

export function bytes(count: number): string {
  if (count < 10_000) return `${count.toLocaleString("en")} bytes`;
  if (count < 10_000_000) return `${Math.round(count / 1000).toLocaleString("en")} kB`;
  return `${Math.round(count / 1_000_000).toLocaleString("en")} MB`;
}
