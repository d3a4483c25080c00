// One stream for all tabs of a browser. A lock elects the tab that follows the log; that tab
// broadcasts every batch over a channel. Each tab tracks its own position, so the next leader
// continues from there, and a tab that missed a batch asks for the rows in between.
//
// Browsers offer locks only in secure contexts (https, localhost). Elsewhere each tab follows the
// log on its own.
import { BAD_TOKEN } from "../api/calls";
import { session, signOut } from "../api/session";
import { makeStore } from "../kit/store";
import { clock } from "./clock";
import { type Batch, log } from "./log";
import { follow } from "./stream";

export interface Link {
  state: "connecting" | "live" | "catching-up" | "cut-off";
  /** When the connection was lost, in server time. */
  since: number;
  /** How many rows are still missing while catching up. */
  behind: number;
  leads: boolean;
}

type Said =
  | { batch: Batch }
  | { link: Pick<Link, "state" | "since" | "behind"> }
  | { ask: number }
  | { reset: number };

const RETRY_MS = 500;
const MOST_RETRY_MS = 8000;
const BEAT_MS = 4000;
const SILENT_MS = 3 * BEAT_MS;

export const link = makeStore<Link>({ state: "connecting", since: 0, behind: 0, leads: false });

let stop: (() => void) | null = null;
let retryNow: (() => void) | null = null;

/** Retry the connection now instead of waiting for the next attempt. */
export function retry(): void {
  retryNow?.();
}

/** Follow a workspace's log after a seq, and stop following the previous one. */
export function start(token: string, workspace: string, after: number): void {
  stop?.();
  log.reset(after);
  const over = new AbortController();
  const channel = new BroadcastChannel(`longhouse.log.${workspace}`);
  let heard = performance.now();

  const say = (said: Said) => channel.postMessage(said);
  const show = (change: Pick<Link, "state" | "since" | "behind">) => {
    link.set(change);
    if (link.get().leads) say({ link: change });
  };
  const take = (batch: Batch) => {
    if (!log.take(batch)) say({ ask: log.head });
  };

  channel.onmessage = (event: MessageEvent<Said>) => {
    const said = event.data;
    heard = performance.now();
    const { leads } = link.get();
    if ("ask" in said) {
      if (!leads) return;
      const known = Math.max(said.ask, log.floor);
      if (known > said.ask) say({ reset: known });
      const missing = log.since(known);
      if (missing) say({ batch: missing });
    } else if (leads) {
      return;
    } else if ("batch" in said) {
      take(said.batch);
    } else if ("link" in said) {
      link.set(said.link);
    } else if (said.reset > log.head) {
      log.reset(said.reset);
    }
  };

  const lead = async () => {
    link.set({ leads: true });
    let wait = RETRY_MS;
    while (!over.signal.aborted) {
      const attempt = new AbortController();
      const end = () => attempt.abort();
      addEventListener("offline", end);
      try {
        let goal = 0;
        const signal = AbortSignal.any([over.signal, attempt.signal]);
        for await (const event of follow(token, workspace, log.head, signal)) {
          wait = RETRY_MS;
          if (event.hello !== undefined) goal = event.hello;
          if (event.batch) {
            log.take(event.batch);
            say({ batch: event.batch });
          }
          const behind = Math.max(0, goal - log.head);
          show({ state: behind ? "catching-up" : "live", since: 0, behind });
        }
      } catch (error) {
        if (over.signal.aborted) return;
        const code = (error as { code?: string }).code;
        if (code === "HTTP_401") return signOut(BAD_TOKEN);
        // The log is shorter than what this tab has read: a different store answered. Start over.
        if (code === "HTTP_400") return session.set({ state: "looking" });
      } finally {
        removeEventListener("offline", end);
      }
      const { state, since } = link.get();
      show({ state: "cut-off", since: state === "cut-off" ? since : clock.now(), behind: 0 });
      await pause(wait, over.signal);
      wait = Math.min(wait * 2, MOST_RETRY_MS);
    }
  };

  // The leader broadcasts its state regularly; if it goes silent, the other tabs say so.
  const beat = setInterval(() => {
    const { leads, state, since, behind } = link.get();
    if (leads) say({ link: { state, since, behind } });
    else if (navigator.locks && performance.now() - heard > SILENT_MS) {
      link.set({ state: "cut-off", since: since || clock.now() - SILENT_MS });
    }
  }, BEAT_MS);

  stop = () => {
    over.abort();
    clearInterval(beat);
    channel.close();
    link.set({ state: "connecting", leads: false, since: 0, behind: 0 });
  };

  if (!navigator.locks) {
    void lead();
    return;
  }
  say({ ask: log.head });
  navigator.locks
    .request(`longhouse.log.${workspace}`, { signal: over.signal }, lead)
    .catch((error) => {
      if (!over.signal.aborted) throw error;
    });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    retryNow = () => {
      clearTimeout(timer);
      done();
    };
    signal.addEventListener("abort", () => done(), { once: true });
  });
}

session.watch(() => {
  if (session.get().state !== "signed-in") stop?.();
});
