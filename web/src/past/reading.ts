// How the house stood at a moment: the log up to there, folded row by row while it is read, so that
// what is kept is a state and never the log. The server leaves out what the fold does not need.
import { CallError } from "../api/calls";
import { session } from "../api/session";
import { follow } from "../live/stream";
import { Past } from "./fold";
import { pastRead, pastTime, whichLog } from "./seq";

/** The part of the log that says how rooms stood; the rest is output and memory. */
const STREAMS = ["crew", "jobs", "work"];
/** What is said many times on the way: the next row of the same kind and subject replaces it. */
const NEWEST = ["progress", "job_progress"];
/** So few rows are read sooner than the server finds out which of them are the newest. */
const FEW = 2_000;
/** More rows than this are not folded in a tab. */
const MOST_ROWS = 300_000;
/** A state is kept at multiples of this seq, so that moving the scrubber reads little. */
const STRIDE = 20_000;
const MOST_KEPT = 2;

/** Of which log: what was folded of another one is no longer true. */
let of = "";
let kept: Past[] = [];

/** The state at a seq, from the nearest one that is kept before it. */
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

/** The state at `until`, from an earlier one, which stays as it is. */
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
      // A connection that was cut costs nothing: what was folded stays, the rest is read from there.
      if (signal.aborted || error instanceof CallError) throw error;
    }
    if (past.seq >= until) return past;
  }
  throw new CallError("UNREACHABLE", "The server does not answer.", "longhouse up", true);
}

function tooFar(): CallError {
  return new CallError(
    "TOO_FAR",
    `More than ${MOST_ROWS.toLocaleString("en")} rows of the log say how things stood at this moment: too many to work it out here.`,
    "open History or Memory, which go back all the way, or choose an earlier moment",
    false,
  );
}
