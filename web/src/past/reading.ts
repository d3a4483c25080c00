// The state of the house at a past seq: the log up to there, folded row by row as it is read, so only
// the state is kept, never the rows. The server omits rows that the fold does not need.
import { CallError, unreachable } from "../api/calls";
import { session } from "../api/session";
import { follow } from "../live/stream";
import { Past } from "./fold";
import { pastRead, pastTime, whichLog } from "./seq";

/** The streams that carry the rooms' state; the others are output and memory. */
const STREAMS = ["crew", "jobs", "work"];
/** Kinds of which only the newest row of a subject matters. */
const NEWEST = ["progress", "job_progress"];
/** Up to this many rows are faster to read than to have the server pick the newest ones. */
const FEW = 2_000;
/** The most rows that a tab will fold. */
const MOST_ROWS = 300_000;
/** States are cached at multiples of this seq, so that moving the scrubber reads little. */
const STRIDE = 20_000;
const MOST_KEPT = 2;

/** The log that `kept` belongs to; states folded from another log are discarded. */
let of = "";
let kept: Past[] = [];

/** The state at a seq, starting from the nearest cached state before it. */
export async function readPast(seq: number, signal: AbortSignal): Promise<Past> {
  const here = whichLog();
  if (of !== here) kept = [];
  of = here;
  try {
    let base = kept.findLast((one) => one.seq <= seq) ?? new Past();
    const mark = seq - (seq % STRIDE);
    if (mark > base.seq) {
      base = await readOn(base, mark, seq, signal);
      if (of === here) keep(base);
    }
    const past = await readOn(base, seq, seq, signal);
    pastTime.set({ of: here, seq, ms: past.now });
    return past;
  } finally {
    if (!signal.aborted) pastRead.set({ seq: 0, share: 0 });
  }
}

function keep(past: Past): void {
  kept = [...kept.slice(1 - MOST_KEPT), past].sort((a, b) => a.seq - b.seq);
}

/** The state at `until`, folded from an earlier state, which is not modified. */
async function readOn(from: Past, until: number, goal: number, signal: AbortSignal): Promise<Past> {
  if (from.seq === until && until > 0) return from;
  const past = from.copy();
  const { token, workspace } = session.get();
  let at = -1;
  while (past.seq > at) {
    at = past.seq;
    const newest = until - at > FEW ? NEWEST : [];
    const stretch = { until, streams: STREAMS, newest };
    try {
      for await (const { ts_ms, batch } of follow(token ?? "", workspace, at, signal, stretch)) {
        if (ts_ms !== undefined) past.now = ts_ms;
        for (const row of batch?.rows ?? []) past.add(row);
        past.seq = Math.max(past.seq, batch?.upto ?? 0);
        pastRead.set({ seq: goal, share: past.seq / Math.max(1, goal) });
        if (past.rows > MOST_ROWS) throw tooFar();
      }
    } catch (error) {
      // After a lost connection the fold keeps its state and continues reading from there.
      if (signal.aborted || error instanceof CallError) throw error;
    }
    if (past.seq >= until) return past;
  }
  throw unreachable();
}

function tooFar(): CallError {
  return new CallError(
    "TOO_FAR",
    `Rebuilding this moment takes more than ${MOST_ROWS.toLocaleString("en")} rows of the log, too many for a page.`,
    "open History or Memory, which reach all the way back, or choose an earlier moment",
    false,
  );
}
