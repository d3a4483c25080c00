// The moment that the view shows: now, unless the address names a past seq.
import { createContext } from "react";
import { session } from "../api/session";
import { makeStore, useStore } from "../kit/store";
import { log } from "../live/log";

/** Provided to the view only: the frame around it (waiting items, connection) always shows now. */
export const PastSeq = createContext<number | null>(null);

/** Identifies the log: a seq means something else in another workspace or after a reset. */
export function whichLog(): string {
  return `${session.get().workspace} ${log.resets}`;
}

/** The time at a seq of a log; known once the log has been read up to it. */
export const pastTime = makeStore({ of: "", seq: 0, ms: 0 });

/** The time at a seq of the log on show; 0 while unknown. */
export function usePastTime(seq: number | null): number {
  const then = useStore(pastTime);
  return then.seq === seq && then.of === whichLog() ? then.ms : 0;
}

/** The progress of reading the log up to a seq; the seq is 0 when nothing is being read. */
export const pastRead = makeStore<{ seq: number; share: number }>({ seq: 0, share: 0 });

/** Stops the read for a moment that is no longer shown. */
export const leaving: { stop: (() => void) | null } = { stop: null };

/** The commands whose past answers are folded from the log; others take `as_of`, or only know now. */
export const FOLDED: ReadonlySet<string> = new Set([
  "agents.conversation",
  "agents.list",
  "agents.sessions",
  "agents.status",
  "jobs.list",
  "jobs.open",
  "jobs.radar",
  "jobs.usage",
  "open",
  "tasks.context",
  "tasks.ready",
  "tool.task_list",
  "tool.task_status",
]);
