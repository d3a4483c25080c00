// The log from its beginning up to a moment: what the past is folded from. It is read once and kept,
// so that going to another moment reads only what lies between.
import { CallError } from "../api/calls";
import { session } from "../api/session";
import { type Batch, type LogRow, log } from "../live/log";
import { follow } from "../live/stream";

/** The part of the log that says how rooms stood; the rest is output and memory. */
const STREAMS = new Set(["crew", "jobs", "work"]);
/** A log that is longer than this is not folded here. */
const MOST_ROWS = 100_000;

interface Known {
  workspace: string | null;
  /** Of which log: after a reset what was read is no longer true. */
  resets: number;
  upto: number;
  rows: LogRow[];
  /** When what was written: each seq with its time. */
  times: [number, number][];
}

let known: Known = { workspace: null, resets: 0, upto: 0, rows: [], times: [] };
let reading: Promise<void> = Promise.resolve();

/** The rows up to a seq, oldest first, and the time of the last of them. */
export async function rowsUpTo(seq: number): Promise<{ rows: LogRow[]; now: number }> {
  const { workspace } = session.get();
  if (seq > MOST_ROWS) {
    throw new CallError(
      "TOO_FAR",
      `More than ${MOST_ROWS.toLocaleString("en")} rows of the log lie before this moment: too many to work out here how things stood.`,
      "open History or Memory, which go back all the way, or choose an earlier moment",
      false,
    );
  }
  const { resets } = log;
  if (known.workspace !== workspace || known.resets !== resets) {
    known = { workspace, resets, upto: 0, rows: [], times: [] };
  }
  const into = known;
  reading = reading.catch(() => {}).then(() => read(into, seq));
  await reading;
  const { rows, times } = into;
  const last = times.findLast(([at]) => at <= seq);
  return { rows: rows.filter((row) => row.seq <= seq), now: last?.[1] ?? 0 };
}

async function read(into: Known, seq: number): Promise<void> {
  const { token } = session.get();
  const over = new AbortController();
  try {
    if (finish(into, seq)) return;
    let end = seq;
    for await (const heard of follow(token ?? "", into.workspace, into.upto, over.signal)) {
      if (heard.hello !== undefined) end = Math.min(seq, heard.hello);
      if (heard.batch) add(into, heard.batch);
      if (into.upto >= end || finish(into, end)) return;
    }
    throw new CallError("UNREACHABLE", "The stream ended too early.", "longhouse up", true);
  } finally {
    over.abort();
  }
}

/** Whether all is known, with what the page has of the log's end anyway. */
function finish(into: Known, seq: number): boolean {
  const rest = log.resets === into.resets && log.head >= seq ? log.since(into.upto) : null;
  if (rest) add(into, rest);
  return into.upto >= seq;
}

function add(into: Known, batch: Batch): void {
  for (const row of batch.rows) {
    into.times.push([row.seq, row.ts_ms]);
    if (STREAMS.has(row.stream)) into.rows.push(row);
  }
  into.upto = Math.max(into.upto, batch.upto);
}
