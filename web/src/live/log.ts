// The newest part of the log as this tab knows it: every row once and in order.
//
// Rows arrive in batches that name the seq they follow. A batch that starts past the known head
// leaves a gap: it is rejected, and the caller asks for the missing rows.
// Listeners run on a microtask, because animation frames never fire in hidden tabs.
import { useContext, useMemo, useSyncExternalStore } from "react";
import type { LogRow as Row } from "../api/types";
import { PastSeq } from "./past";

export interface LogRow extends Row {
  ref: string;
  clipped?: boolean;
}

export interface Batch {
  after: number;
  upto: number;
  rows: LogRow[];
}

export const KEPT = 1000;
export const WINDOW = 300;

export class Log {
  head = 0;
  /** The seq after which `rows` is complete. */
  floor = 0;
  rows: readonly LogRow[] = [];
  /** Incremented when the known rows are discarded and the log starts over. */
  resets = 0;
  private listeners = new Set<(fresh: readonly LogRow[]) => void>();
  private fresh: LogRow[] = [];
  private queued = false;

  /** Start over after a seq; everything read before must be read again. */
  reset(after: number): void {
    this.head = after;
    this.floor = after;
    this.rows = [];
    this.fresh = [];
    this.resets += 1;
    this.tell([]);
  }

  /** Add a batch's new rows; false if rows between the head and the batch are missing. */
  take(batch: Batch): boolean {
    if (batch.after > this.head) return false;
    const fresh = batch.rows.filter((row) => row.seq > this.head);
    this.head = Math.max(this.head, batch.upto);
    if (fresh.length === 0) return true;
    const rows = [...this.rows, ...fresh];
    if (rows.length > KEPT * 1.25) {
      const gone = rows.splice(0, rows.length - KEPT);
      this.floor = gone.at(-1)?.seq ?? this.floor;
    }
    this.rows = rows;
    this.tell(fresh);
    return true;
  }

  /** Every row after a seq, or null if some of them are no longer kept. */
  since(after: number): Batch | null {
    if (after < this.floor) return null;
    return { after, upto: this.head, rows: this.rows.filter((row) => row.seq > after) };
  }

  watch = (listener: (fresh: readonly LogRow[]) => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private tell(fresh: LogRow[]): void {
    this.fresh.push(...fresh);
    if (this.queued) return;
    this.queued = true;
    queueMicrotask(() => {
      this.queued = false;
      const told = this.fresh;
      this.fresh = [];
      for (const listener of this.listeners) listener(told);
    });
  }
}

export const log = new Log();

/** How often views redraw during a flood of rows; after a quiet period they redraw immediately. */
const PACE_MS = 100;

const views = new Set<() => void>();
let shown: readonly LogRow[] = log.rows;
let drawn = 0;
let timer: ReturnType<typeof setTimeout> | null = null;

function draw(): void {
  timer = null;
  drawn = performance.now();
  shown = log.rows;
  for (const view of views) view();
}

log.watch(() => {
  if (timer) return;
  const wait = drawn + PACE_MS - performance.now();
  if (wait <= 0) draw();
  else timer = setTimeout(draw, wait);
});

function watchRows(view: () => void): () => void {
  views.add(view);
  return () => views.delete(view);
}

/** The kept rows, oldest first; in a view of the past, only those up to its seq. */
export function useLog(): readonly LogRow[] {
  const past = useContext(PastSeq);
  const rows = useSyncExternalStore(watchRows, () => shown);
  return useMemo(
    () => (past === null ? rows : rows.filter((row) => row.seq <= past)),
    [rows, past],
  );
}
