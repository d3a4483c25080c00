// The moment that the view shows: now, unless the address names a past seq.
import { createContext, useEffect } from "react";
import { CallError, type Cmd } from "../api/calls";
import { session } from "../api/session";
import { makeStore, useStore } from "../kit/store";
import { log } from "./log";
import { follow } from "./stream";

/** Provided to the view only: the frame around it (waiting items, connection) always shows now. */
export const PastSeq = createContext<number | null>(null);

/** The reads that the server answers as of the moment on show; views pass it to others themselves. */
export const REWOUND: ReadonlySet<Cmd> = new Set([
  "agents.conversation",
  "agents.list",
  "agents.sessions",
  "agents.status",
  "jobs.list",
  "jobs.open",
  "jobs.radar",
  "open",
  "tasks.context",
  "tasks.ready",
  "tool.task_list",
  "tool.task_status",
]);

/** Identifies the log: a seq means something else in another workspace or after a reset. */
function whichLog(): string {
  return `${session.get().workspace} ${log.resets}`;
}

const pastTime = makeStore({ of: "", seq: 0, ms: 0 });

/** The time at a seq of the log on show; 0 while unknown. */
export function usePastTime(seq: number | null): number {
  const then = useStore(pastTime);
  return then.seq === seq && then.of === whichLog() ? then.ms : 0;
}

/** Learn the time at a seq, for everything that shows an age. */
export function useReadTime(seq: number | null): void {
  const { workspace } = useStore(session);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another workspace has another time
  useEffect(() => {
    if (seq === null || Number.isNaN(seq)) return;
    const left = new AbortController();
    void readTime(seq, left.signal).catch(() => {});
    return () => left.abort();
  }, [seq, workspace]);
}

async function readTime(seq: number, signal: AbortSignal): Promise<void> {
  const { token, workspace } = session.get();
  const of = whichLog();
  for await (const { ts_ms } of follow(token ?? "", workspace, seq, signal, { until: seq })) {
    if (ts_ms !== undefined) pastTime.set({ of, seq, ms: ts_ms });
  }
}

/** An error of a read of the past, in words that are true of the past. */
export function thenError(error: CallError): CallError {
  const unknown = /there is no ((?:JOB|TASK|PLAN|PROC)-\d+)/.exec(error.message)?.[1];
  if (!unknown) return error;
  return new CallError("NOT_YET", `${unknown} did not exist yet at that moment.`, null, false);
}
