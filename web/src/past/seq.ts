// The moment that a part of the page shows: now, unless the address names a seq of the past.
import { createContext } from "react";
import { session } from "../api/session";
import { makeStore, useStore } from "../kit/store";
import { log } from "../live/log";

/** Given to the view alone: what surrounds it (who waits, the connection) is always about now. */
export const PastSeq = createContext<number | null>(null);

/** Which log is shown: a seq means something else in another workspace, and when it began anew. */
export function whichLog(): string {
  return `${session.get().workspace} ${log.resets}`;
}

/** What time it was at a seq of a log; known as soon as the log up to it was read. */
export const pastTime = makeStore({ of: "", seq: 0, ms: 0 });

/** The same for the log that is shown; 0 while it is not known. */
export function usePastTime(seq: number | null): number {
  const then = useStore(pastTime);
  return then.seq === seq && then.of === whichLog() ? then.ms : 0;
}

/** How much of the log up to a moment has been read while it is being read; else its seq is 0. */
export const pastRead = makeStore<{ seq: number; share: number }>({ seq: 0, share: 0 });

/** Stops the reading for a moment that nobody looks at any more. */
export const leaving: { stop: (() => void) | null } = { stop: null };

/** The commands whose answers are folded from the log; others know the past themselves, or only now. */
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
