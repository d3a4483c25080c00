// What time it is at the server, and one timer for everything that shows an age.
import { useContext, useSyncExternalStore } from "react";
import { PastSeq, usePastTime } from "../past/seq";

const TICK_MS = 1000;
/** Clocks that differ by less are called equal. */
const SLACK_MS = 2000;

let offset = 0;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

export const clock = {
  /** The server's time in milliseconds, as well as this browser knows it. */
  now: () => Date.now() + offset,
  /** Learn from the Date header, in whole seconds, of an answer to what was asked at `asked`. It was
   * written at some time in between: an answer that slept with this machine proves no skew. */
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

/** The time, again each second; in a view of the past the time of its moment, which stands still. */
export function useNow(): number {
  const past = useContext(PastSeq);
  const then = usePastTime(past);
  const ticks = useSyncExternalStore(watch, () => (timer ? now : tickless()));
  return then || ticks;
}

/** Before the first tick: a value that stays the same while React compares. */
function tickless(): number {
  const fresh = clock.now();
  if (fresh - now > TICK_MS) now = fresh;
  return now;
}
