// The server's time, and one timer for everything that shows an age.
import { useContext, useSyncExternalStore } from "react";
import { PastSeq, usePastTime } from "./past";

const TICK_MS = 1000;
/** Clocks that differ by less than this are treated as equal. */
const SLACK_MS = 2000;

let offset = 0;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

export const clock = {
  /** The server's time in milliseconds, as well as the browser can tell. */
  now: () => Date.now() + offset,
  /** Learn the skew from the Date header (whole seconds) of the response to a request sent at
   * `asked`. The server wrote it at some time between then and now, so a response that arrives after
   * this machine slept does not prove a skew. */
  heard(date: string | null, asked: number) {
    const theirs = date ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(theirs)) return;
    const least = theirs - Date.now();
    const most = theirs + 1000 - asked;
    const fits = (skew: number) => least - SLACK_MS <= skew && skew <= most + SLACK_MS;
    if (!fits(offset)) offset = fits(0) ? 0 : (least + most) / 2;
  },
};

function tick() {
  now = clock.now();
  for (const listener of listeners) listener();
}

function watch(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The time, updated every second; in a view of the past, the fixed time of that moment. */
export function useNow(): number {
  const past = useContext(PastSeq);
  const then = usePastTime(past);
  const ticks = useSyncExternalStore(watch, () => (timer ? now : tickless()));
  return then || ticks;
}

/** The time before the first tick: stable, because React compares snapshots. */
function tickless(): number {
  const fresh = clock.now();
  if (fresh - now > TICK_MS) now = fresh;
  return now;
}
