// An agent's liveness, computed from timestamps alone so that it updates as time passes.
import type { Agent } from "../../api/types";
import type { LogRow } from "../../live/log";

const MINUTE_MS = 60_000;

export type Life = "active" | "quiet" | "stale" | "evicted";

export interface Liveness {
  life: Life;
  /** The newest heartbeat or action. */
  seen: number;
  /** The newest action in the kept part of the log; 0 if there is none. */
  acted: number;
}

export const LIFE_WORDS: Record<Life, string> = {
  active: "Active",
  quiet: "Alive, not progressing",
  stale: "Stale",
  evicted: "Evicted",
};

/** The last action of each agent among the kept rows. */
export function lastActs(rows: readonly LogRow[]): Map<string, LogRow> {
  const found = new Map<string, LogRow>();
  for (const row of rows) if (row.actor) found.set(row.actor, row);
  return found;
}

/** Stale after `stale` minutes of silence, evicted after twice that; otherwise active, or quiet if
 * the agent has a task but did nothing for `stale` minutes. */
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
