// What needs the user, from every room, kept current with the log.
import { useMemo } from "react";
import { usePerson } from "../../api/person";
import type { ProtocolEvent, Sessions } from "../../api/types";
import { type Act, usePending } from "../../live/acts";
import type { LogRow } from "../../live/log";
import { ofStreams, useRead } from "../../live/reads";
import { useRadar } from "../jobs/radar";
import { type Need, rank } from "./ranking";

export interface Needs {
  all: readonly Need[];
  pending: Map<string, Act>;
  ready: boolean;
}

export function useNeeds(): Needs {
  const me = usePerson();
  const jobs = useRadar();
  const failed = useRead(
    "jobs.radar",
    { status: "FAILED", limit: 20, runners_limit: 1, offline_limit: 0 },
    { touches: movesFailed },
  );
  const crew = useRead("agents.status", { limit: 100 }, { touches: ofStreams("crew") });
  const sessions = useRead(
    "agents.sessions",
    { open_only: true, limit: 1 },
    { touches: ofStreams("crew") },
  );
  const who = me ? { agent_id: me.name } : {};
  const away = useRead("agents.dismissed", who, { touches: dismisses }).data?.needs;
  const at = Math.min(jobs.at, failed.at, crew.at);
  const pending = usePending(at);
  const all = useMemo(
    () => rank(jobs.data, failed.data, crew.data, standing(sessions.data), me, away ?? []),
    [jobs.data, failed.data, crew.data, sessions.data, me, away],
  );
  return { all, pending, ready: Boolean(jobs.data && crew.data && away) };
}

function dismisses(row: LogRow): boolean {
  return row.stream === "crew" && row.kind.startsWith("dismissed");
}

/** The conflicts that are not over. */
function standing(sessions: Sessions | undefined): ProtocolEvent[] {
  const over = new Set(sessions?.incursions_over ?? []);
  return (sessions?.incursions ?? []).filter((one) => !over.has(one.ref));
}

/** Whether a row may change which jobs have failed: a job failed or was requeued. */
function movesFailed(row: LogRow): boolean {
  if (row.stream !== "jobs") return false;
  const { status } = row.data as { status?: string };
  return status === undefined || status === "FAILED" || row.kind === "requeued";
}
