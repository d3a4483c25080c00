// The reads behind the views, kept current by the log. A read knows a seq that it includes at least.
// A row that touches it triggers a refresh: immediately after a quiet period, otherwise batched, so
// that a flood of rows costs a fixed share of the server's time, and less from a hidden tab.
// Identical reads are shared by all components of a tab and across tabs: when one tab has read, the
// others take its answer instead of asking again.
import { useCallback, useContext, useSyncExternalStore } from "react";
import { type Args, type CallError, type Cmd, call, type Result } from "../api/calls";
import { session } from "../api/session";
import { type LogRow, log } from "./log";
import { PastSeq, REWOUND, thenError } from "./past";

export interface Read<R> {
  data: R | undefined;
  error: CallError | undefined;
  /** The answer includes the log at least up to this seq. */
  at: number;
}

export interface Keeping {
  /** Whether a row of the log may change the answer. */
  touches?: (row: LogRow) => boolean;
  /** Also refresh after this many milliseconds: for heartbeats, which leave no row. */
  every?: number;
  /** The least pause between two reads, in milliseconds: for figures that are not urgent. */
  rest?: number;
}

/** An answer that one tab shares with the others that are signed in with the same token. */
interface Answered {
  token: string | null;
  at: number;
  data: unknown;
}

const LEAST_REST_MS = 12;
const HIDDEN_REST_MS = 1000;
const MOST_REST_MS = 2000;
/** A read may keep the server busy for this share of the time, after an initial burst. */
const SHARE = 0.25;
const AT_ONCE_MS = 300;
const SPREAD = 0.5;
const FORGET_MS = 30_000;
const EMPTY: Read<never> = { data: undefined, error: undefined, at: 0 };

class Entry {
  read: Read<unknown> = EMPTY;
  keeping: Keeping = {};
  private listeners = new Set<() => void>();
  private busy = false;
  private again = false;
  private ended = 0;
  /** How long it recently kept the server busy; decays over time. */
  private owed = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private forget: ReturnType<typeof setTimeout> | null = null;
  /** The head of the log at the last refresh: an answer up to there satisfies it. */
  private wanted = 0;
  private tabs: BroadcastChannel | null = null;

  constructor(
    private readonly key: string,
    private readonly load: () => Promise<unknown>,
  ) {}

  watch = (listener: () => void) => {
    if (this.forget) clearTimeout(this.forget);
    this.forget = null;
    this.listeners.add(listener);
    this.listen();
    if (this.read.at < log.head || this.read === EMPTY) this.refresh();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      if (this.timer) clearTimeout(this.timer);
      this.timer = null;
      this.forget = setTimeout(() => {
        // After `forgetReads`, a newer entry may have this key.
        if (entries.get(this.key) === this) entries.delete(this.key);
        this.stop();
      }, FORGET_MS);
    };
  };

  private listen(): void {
    if (this.tabs) return;
    this.tabs = new BroadcastChannel(`longhouse.read ${this.key}`);
    this.tabs.onmessage = ({ data: said }: MessageEvent<Answered>) => {
      if (said.token === session.get().token && said.at > this.read.at) this.hear(said);
    };
  }

  stop(): void {
    this.tabs?.close();
    this.tabs = null;
  }

  /** Take another tab's answer to the same read. Its seq is capped at this tab's head: a larger one
   * may come from an older, longer log and would outrank every later read. */
  private hear({ at: told, data }: Answered): void {
    const at = Math.min(told, log.head);
    this.read = { data, error: undefined, at };
    this.ended = performance.now();
    if (at >= this.wanted) {
      if (this.timer) clearTimeout(this.timer);
      this.timer = null;
      this.again = false;
    }
    for (const listener of this.listeners) listener();
  }

  /** The log was replaced, so the answer no longer counts as current. */
  outdate(): void {
    this.read = { ...this.read, at: 0 };
  }

  get shown(): boolean {
    return this.listeners.size > 0;
  }

  /** Read now, or once the pause after the last read is over. */
  refresh(): void {
    this.wanted = log.head;
    if (this.busy) {
      this.again = true;
    } else if (!this.timer) {
      const rest = this.rest();
      const wait = this.ended + rest - performance.now();
      if (wait <= 0) void this.go();
      // Random, so that tabs do not all wake at once: the first one reads for the others.
      else this.timer = setTimeout(() => void this.go(), wait + Math.random() * SPREAD * rest);
    }
  }

  private rest(): number {
    if (this.read === EMPTY) return 0;
    const least = document.visibilityState === "hidden" ? HIDDEN_REST_MS : LEAST_REST_MS;
    const paid = Math.min((this.owed - AT_ONCE_MS) / SHARE, MOST_REST_MS);
    return Math.max(least, paid, this.keeping.rest ?? 0);
  }

  /** The tab is visible again: run the postponed read now. */
  seen(): void {
    if (this.timer) {
      clearTimeout(this.timer);
      void this.go();
    }
    this.tick();
  }

  tick(): void {
    const { every } = this.keeping;
    if (every && this.shown && performance.now() - this.ended > every) this.refresh();
  }

  private async go(): Promise<void> {
    this.timer = null;
    this.busy = true;
    const began = performance.now();
    this.owed = Math.max(0, this.owed - (began - this.ended) * SHARE);
    const at = log.head;
    const { resets } = log;
    const { token } = session.get();
    try {
      const data = await this.load();
      // If the log was reset in the meantime, a seq of the old one means nothing.
      const upto = resets === log.resets ? at : 0;
      // Another tab may have shared a newer answer in the meantime.
      if (upto >= this.read.at) {
        this.read = { data, error: undefined, at: upto };
        this.tabs?.postMessage({ token, at: upto, data } satisfies Answered);
      }
    } catch (error) {
      // An aborted read has not failed: it runs again when it is next shown.
      if ((error as Error).name !== "AbortError") {
        this.read = { ...this.read, error: error as CallError };
      }
    }
    this.busy = false;
    this.ended = performance.now();
    this.owed += this.ended - began;
    for (const listener of this.listeners) listener();
    if (this.again) {
      this.again = false;
      if (this.shown) this.refresh();
    }
  }
}

const entries = new Map<string, Entry>();
let resets = 0;
let reader: string | null = null;

log.watch((fresh) => {
  const all = resets !== log.resets;
  resets = log.resets;
  for (const entry of entries.values()) {
    if (all) entry.outdate();
    if (!entry.shown) continue;
    const { touches } = entry.keeping;
    if (all || (touches && fresh.some(touches))) entry.refresh();
  }
});
setInterval(() => {
  if (document.visibilityState === "visible") for (const entry of entries.values()) entry.tick();
}, 1000);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") for (const entry of entries.values()) entry.seen();
});
session.watch(() => {
  const { token } = session.get();
  if (token !== reader) forgetReads();
  reader = token;
});

/** Drop all reads, after the workspace or the token has changed. */
export function forgetReads(): void {
  for (const entry of entries.values()) entry.stop();
  entries.clear();
}

function entryOf<C extends Cmd>(key: string, cmd: C, args: Args<C>, past: number | null): Entry {
  let entry = entries.get(key);
  if (!entry) {
    const read = (moment: object) => call(cmd, { budget_profile: "audit", ...args, ...moment });
    const then = (as_of: number) =>
      read({ as_of }).catch((error) => Promise.reject(thenError(error)));
    entry = new Entry(key, past === null ? () => read({}) : () => then(past));
    entries.set(key, entry);
  }
  return entry;
}

/** The answer to a read command, kept current while it is shown; `null` args read nothing. In a view
 * of the past, the answer as of that seq. */
export function useRead<C extends Cmd>(
  cmd: C,
  args: Args<C> | null,
  keeping: Keeping = {},
): Read<Result<C>> {
  const shown = useContext(PastSeq);
  const past = REWOUND.has(cmd) ? shown : null;
  const when = past === null ? "" : `as of ${past} `;
  const key = args && `${session.get().workspace} ${when}${cmd} ${JSON.stringify(args)}`;
  const entry = key && args ? entryOf(key, cmd, args, past) : null;
  // The past does not change.
  if (entry) entry.keeping = past === null ? keeping : {};
  const watch = useCallback(
    (listener: () => void) => (entry ? entry.watch(listener) : () => {}),
    [entry],
  );
  return useSyncExternalStore(watch, () => entry?.read ?? EMPTY) as Read<Result<C>>;
}

/** A `touches` predicate that matches the rows of these streams. */
export function ofStreams(...streams: string[]): (row: LogRow) => boolean {
  return (row) => streams.includes(row.stream);
}
