// What views read, kept current by the log. A read knows the seq that it includes at least; a
// row that touches it makes it read again: at once after a quiet while, else together with what
// follows, so that a flood of rows costs a fixed share of the server, and less in a hidden tab.
// The same read is shared by everyone who shows it: within a tab, and with the other tabs, which
// take what one of them has read instead of asking for it, too.
import { useCallback, useContext, useSyncExternalStore } from "react";
import { type Args, type CallError, type Cmd, call, type Result } from "../api/calls";
import { session } from "../api/session";
import { FOLDED, PastSeq } from "../past/seq";
import { type LogRow, log } from "./log";

export interface Read<R> {
  data: R | undefined;
  error: CallError | undefined;
  /** The answer includes the log up to here at least. */
  at: number;
}

export interface Keeping {
  /** Whether a row of the log may change the answer. */
  touches?: (row: LogRow) => boolean;
  /** Read again after so long: for signs of life, which leave no row. */
  every?: number;
  /** Rest at least so long between two reads: for figures that nobody waits for. */
  rest?: number;
}

/** What one tab has read, for the others that are signed in with the same token. */
interface Answered {
  token: string | null;
  at: number;
  data: unknown;
}

const LEAST_REST_MS = 12;
const HIDDEN_REST_MS = 1000;
const MOST_REST_MS = 2000;
/** A read may keep the server busy for this share of the time, and for so long at once. */
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
  /** How long it kept the server busy lately; pays itself off with time. */
  private owed = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private forget: ReturnType<typeof setTimeout> | null = null;
  /** The end of the log when it was last asked for: an answer up to there is what is wanted. */
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
        // When reads were forgotten, another entry may have this key.
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

  /** Another tab has read the same: that counts as if it was read here. A seq past the end of the
   * log that this tab knows may be of an older and longer one, and would outrank every later read. */
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

  /** Another log is true now: what was read says nothing about it. */
  outdate(): void {
    this.read = { ...this.read, at: 0 };
  }

  get shown(): boolean {
    return this.listeners.size > 0;
  }

  /** Read soon: now, or when it has rested from the last time. */
  refresh(): void {
    this.wanted = log.head;
    if (this.busy) {
      this.again = true;
    } else if (!this.timer) {
      const rest = this.rest();
      const wait = this.ended + rest - performance.now();
      if (wait <= 0) void this.go();
      // Tabs that rest together must not wake together: the first one reads for all.
      else this.timer = setTimeout(() => void this.go(), wait + Math.random() * SPREAD * rest);
    }
  }

  private rest(): number {
    if (this.read === EMPTY) return 0;
    const least = document.visibilityState === "hidden" ? HIDDEN_REST_MS : LEAST_REST_MS;
    const paid = Math.min((this.owed - AT_ONCE_MS) / SHARE, MOST_REST_MS);
    return Math.max(least, paid, this.keeping.rest ?? 0);
  }

  /** The tab is seen again: what was put off is read now. */
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
      // Where the log began anew meanwhile, a seq of the old one says nothing.
      const upto = resets === log.resets ? at : 0;
      // What another tab has read meanwhile may be newer.
      if (upto >= this.read.at) {
        this.read = { data, error: undefined, at: upto };
        this.tabs?.postMessage({ token, at: upto, data } satisfies Answered);
      }
    } catch (error) {
      // What was given up for another moment has not failed: it is read again when it is shown.
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

/** Forget what was read in another workspace, or by somebody else. */
export function forgetReads(): void {
  for (const entry of entries.values()) entry.stop();
  entries.clear();
}

function entryOf<C extends Cmd>(key: string, cmd: C, args: Args<C>, past: number | null): Entry {
  let entry = entries.get(key);
  if (!entry) {
    const now = () => call(cmd, { budget_profile: "audit", ...args });
    const then = async (seq: number) =>
      (await import("../past/answers")).answer(cmd, args, seq) as Promise<unknown>;
    entry = new Entry(key, past === null ? now : () => then(past));
    entries.set(key, entry);
  }
  return entry;
}

/** The answer to a reading command, current for as long as it is shown; `null` reads nothing. In a
 * view of the past it is what was answered then. */
export function useRead<C extends Cmd>(
  cmd: C,
  args: Args<C> | null,
  keeping: Keeping = {},
): Read<Result<C>> {
  const shown = useContext(PastSeq);
  const past = FOLDED.has(cmd) ? shown : null;
  const when = past === null ? "" : `as of ${past} `;
  const key = args && `${session.get().workspace} ${when}${cmd} ${JSON.stringify(args)}`;
  const entry = key && args ? entryOf(key, cmd, args, past) : null;
  // What was cannot change any more.
  if (entry) entry.keeping = past === null ? keeping : {};
  const watch = useCallback(
    (listener: () => void) => (entry ? entry.watch(listener) : () => {}),
    [entry],
  );
  return useSyncExternalStore(watch, () => entry?.read ?? EMPTY) as Read<Result<C>>;
}

/** Rows of some streams, for `touches`. */
export function ofStreams(...streams: string[]): (row: LogRow) => boolean {
  return (row) => streams.includes(row.stream);
}
