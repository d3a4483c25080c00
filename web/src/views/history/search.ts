// Rows of the whole log that match the filters, found by the server page by page, newest first.
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { type CallError, call } from "../../api/calls";
import { type LogRow, log } from "../../live/log";
import type { Filter } from "./filter";

/** How many matches are looked for before the user asks for more. */
const ENOUGH = 100;

export class Search {
  /** Newest first. */
  rows: readonly LogRow[] = [];
  /** The end of the log when the search began. */
  readonly head = log.head;
  /** The row back to which the log was searched. */
  floor = this.head;
  done = false;
  busy = false;
  error: CallError | undefined;
  private wanted = ENOUGH;
  private version = 0;
  private stopped = false;
  private listeners = new Set<() => void>();

  constructor(
    private readonly filter: Filter,
    private before: number | null,
    private readonly since: number,
  ) {}

  watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  seen = (): number => this.version;

  stop(): void {
    this.stopped = true;
  }

  older(): void {
    this.wanted = this.rows.length + ENOUGH;
    void this.go();
  }

  async go(): Promise<void> {
    if (this.busy || this.done) return;
    this.busy = true;
    this.tell();
    try {
      while (!this.done && !this.stopped && this.rows.length < this.wanted) await this.page();
      this.error = undefined;
    } catch (error) {
      this.error = error as CallError;
    }
    this.busy = false;
    this.tell();
  }

  private async page(): Promise<void> {
    const { who, item, stream, kind } = this.filter;
    const found = await call("workspace.history", {
      budget_profile: "audit",
      limit: ENOUGH,
      output: stream === "processes",
      ...(who && { actor: who }),
      ...(item && { subject: item }),
      ...(stream && { stream }),
      ...(kind && { kind }),
      ...(this.since > 0 && { since_ms: this.since }),
      ...(this.before !== null && { before: this.before }),
    });
    const rows = found.rows.map((row) => ({ ...row, ref: `${row.subject}@${row.seq}` }) as LogRow);
    this.rows = [...this.rows, ...rows];
    this.before = found.next_before ?? null;
    this.done = !found.has_more;
    this.floor = this.done ? 1 : found.searched_to;
    this.tell();
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}

/** A search of the log up to a moment, if there is something to look for. */
export function useSearch(
  filter: Filter | null,
  past: number | null,
  since: number,
): Search | null {
  const key = filter && JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the filter
  const search = useMemo(
    () => filter && new Search(filter, past === null ? null : past + 1, since),
    [key, past, since],
  );
  useEffect(() => {
    void search?.go();
    return () => search?.stop();
  }, [search]);
  useSyncExternalStore(search?.watch ?? idle, () => search?.seen() ?? 0);
  return search;
}

function idle(): () => void {
  return () => {};
}
