// A contiguous range of the log. It grows backward on demand and, unless it ends in the past, forward
// automatically. It has every row from `floor` to `head`, so a row not shown was filtered out.
import { CallError, unreachable } from "../api/calls";
import { session } from "../api/session";
import { type LogRow, log } from "./log";
import { follow } from "./stream";

const PAGE = 500;
const MOST_KEPT = 50_000;
/** How many live rows are kept; rows that were loaded on demand stay. */
const LIVE_KEPT = 3000;

export class Timeline {
  /** Oldest first. */
  rows: readonly LogRow[] = [];
  /** The seq after which `rows` is complete. */
  floor = 0;
  busy = false;
  error: CallError | undefined;
  private listeners = new Set<() => void>();
  private version = 0;
  private resets = log.resets;
  private over: AbortController | null = null;

  private most = LIVE_KEPT;
  private readonly end: number;

  constructor(past: number | null) {
    this.end = past ?? Number.POSITIVE_INFINITY;
    this.begin();
  }

  watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    const stop = log.watch((fresh) => this.hear(fresh));
    if (log.floor > this.head && this.head < this.end) {
      this.begin();
      this.tell();
    } else {
      this.hear(log.rows);
    }
    return () => {
      stop();
      this.over?.abort();
      this.listeners.delete(listener);
    };
  };

  /** A version number that changes whenever the timeline does. */
  seen = (): number => this.version;

  private get head(): number {
    return this.rows.at(-1)?.seq ?? this.floor;
  }

  private begin(): void {
    this.rows = log.rows.filter((row) => row.seq <= this.end);
    this.floor = Math.min(log.floor, this.end);
    this.resets = log.resets;
  }

  private hear(fresh: readonly LogRow[]): void {
    const { head } = this;
    const added = fresh.filter((row) => row.seq > head && row.seq <= this.end);
    if (this.resets !== log.resets) {
      this.over?.abort();
      this.begin();
    } else if (added.length > 0) {
      const rows = [...this.rows, ...added];
      const gone = rows.splice(0, Math.max(0, rows.length - this.most));
      this.floor = gone.at(-1)?.seq ?? this.floor;
      this.rows = rows;
    } else {
      return;
    }
    this.tell();
  }

  /** Read the page of rows before `floor`. */
  async older(): Promise<void> {
    if (this.busy || this.floor === 0 || this.rows.length >= MOST_KEPT) return;
    this.busy = true;
    this.tell();
    const over = new AbortController();
    this.over = over;
    const upto = this.floor;
    const after = Math.max(0, upto - PAGE);
    try {
      const found = await readLog(after, upto, over.signal);
      if (!over.signal.aborted) {
        this.rows = [...found, ...this.rows];
        this.most = Math.max(LIVE_KEPT, this.rows.length);
        this.floor = after;
        this.error = undefined;
      }
    } catch (error) {
      if (!over.signal.aborted) {
        this.error = error instanceof CallError ? error : unreachable();
      }
    } finally {
      over.abort();
      this.busy = false;
      this.tell();
    }
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}

/** The rows after one seq, up to and including another. */
async function readLog(after: number, until: number, signal: AbortSignal): Promise<LogRow[]> {
  const { token, workspace } = session.get();
  const found: LogRow[] = [];
  for await (const { batch } of follow(token ?? "", workspace, after, signal, { until })) {
    if (!batch) continue;
    found.push(...batch.rows);
    if (batch.upto >= until) return found;
  }
  throw unreachable();
}
