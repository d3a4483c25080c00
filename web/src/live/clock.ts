// What time it is at the server, and one timer for everything that shows an age.
import { useSyncExternalStore } from "react";

const TICK_MS = 1000;

let offset = 0;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;
const listeners = new Set<() => void>();

export const clock = {
  /** The server's time in milliseconds, as well as this browser knows it. */
  now: () => Date.now() + offset,
  /** Learn from a Date header, which has whole seconds: small differences are no skew. */
  heard(date: string | null) {
    const theirs = date ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(theirs)) return;
    const skew = theirs + 500 - Date.now();
    offset = Math.abs(skew) > 2000 ? skew : 0;
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

/** The time, again each second. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => (timer ? now : tickless()));
}

/** Before the first tick: a value that stays the same while React compares. */
function tickless(): number {
  const fresh = clock.now();
  if (fresh - now > TICK_MS) now = fresh;
  return now;
}
