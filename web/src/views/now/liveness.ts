// How an agent is, from timestamps alone, so that it ticks; and what that rests on.
import type { Agent } from "../../api/types";
import type { LogRow } from "../../live/log";

const MINUTE_MS = 60_000;

export type Life = "active" | "quiet" | "stale" | "evicted";

export interface Liveness {
  life: Life;
  /** The newest sign of any kind. */
  seen: number;
  /** The newest act in the log that is kept here; 0 when there is none. */
  acted: number;
}

export const LIFE_WORDS: Record<Life, string> = {
  active: "Active",
  quiet: "Alive, not progressing",
  stale: "Stale",
  evicted: "Evicted",
};

/** The last act of each agent, from the rows that are kept. */
export function lastActs(rows: readonly LogRow[]): Map<string, LogRow> {
  const found = new Map<string, LogRow>();
  for (const row of rows) if (row.actor) found.set(row.actor, row);
  return found;
}

/** Active, silent for `stale` minutes, or for twice as long; active without acts is quiet. */
export function liveness(
  agent: Agent,
  last: LogRow | undefined,
  stale: number,
  now: number,
  works: boolean,
): Liveness {
  const acted = last?.ts_ms ?? 0;
  const seen = Math.max(Date.parse(agent.last_seen_at), acted);
  const silent = now - seen;
  const limit = stale * MINUTE_MS;
  const started = Date.parse(agent.created_at);
  const life =
    silent >= 2 * limit
      ? "evicted"
      : silent >= limit
        ? "stale"
        : works && now - Math.max(acted, started) >= limit
          ? "quiet"
          : "active";
  return { life, seen, acted };
}
