// The fence: who may write to this job now, with which claim and for how long, who could before, and
// which late writes were refused.
import { useContext } from "react";
import type { JobEvent, JobView } from "../../api/types";
import { Age, Badge, Left, Ref } from "../../kit/parts";
import { PastSeq } from "../../live/past";
import styles from "./jobs.module.css";

/** How a claim ended, by the event that ended it. */
const ENDS: Record<string, string> = {
  reclaimed: "lost it: the lease expired",
  released: "released it",
  retrying: "failed, to be retried",
  completed: "finished it",
  failed: "failed",
  canceled: "lost it: the job was canceled",
  held: "came from elsewhere, and waits to be released",
  changes_wait: "finished, but its changes were not applied",
  applied: "finished it, and its changes were applied",
  dropped: "finished it, but its changes were dropped",
  requeued: "ended",
};

/** What the event after pending changes says of them. */
const SETTLED: Record<string, string> = { completed: "applied", failed: "dropped" };

export function Fence({ view }: { view: JobView }) {
  const { job } = view;
  const running = job.status === "RUNNING";
  const claims = claimsOf(view.events);
  const earlier = running ? claims.slice(1) : claims;
  const late = view.events.filter((event) => event.kind === "refused");
  if (!running && earlier.length === 0) return null;
  return (
    <section aria-label="Who holds it" className={styles.fence}>
      {running ? <Holder view={view} /> : <p className="soft small">No one holds it.</p>}
      {earlier.length > 0 && (
        <ul aria-label="Earlier holders" className={`small ${styles.earlier}`}>
          {earlier.map(({ claim, end }) => (
            <li key={claim.seq}>
              <span>
                <strong>{holder(claim)}</strong>{" "}
                <span className="soft">
                  {end ? (ENDS[end.kind] ?? "ended") : "held it"}; claimed <Age at={claim.ts_ms} />
                </span>
              </span>
              <Ref id={claim.ref} />
            </li>
          ))}
        </ul>
      )}
      {late.length > 0 && (
        <ul aria-label="Refused late writes" className={`small ${styles.earlier}`}>
          {late.map((event) => (
            <li key={event.seq}>
              <span>
                <Badge tone="bad">Refused</Badge> {lateWords(event)}{" "}
                <span className="soft">
                  <Age at={event.ts_ms} />
                </span>
              </span>
              <Ref id={event.ref} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Holder({ view }: { view: JobView }) {
  const { job } = view;
  const past = useContext(PastSeq);
  return (
    <dl>
      <dt>Holder</dt>
      <dd>{job.runner}</dd>
      <dt>Claim</dt>
      <dd>{job.revision}</dd>
      {past === null && job.claim_expires_at_ms != null && (
        <>
          <dt>Lease</dt>
          <dd>
            <Left until={job.claim_expires_at_ms} over="expired" />
          </dd>
        </>
      )}
      {job.last_heartbeat_ms != null && (
        <>
          <dt>Heartbeat</dt>
          <dd>
            <Age at={job.last_heartbeat_ms} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** Each claim with the event that ended it, newest first. */
function claimsOf(events: readonly JobEvent[]): { claim: JobEvent; end: JobEvent | undefined }[] {
  const found: { claim: JobEvent; end: JobEvent | undefined }[] = [];
  let end: JobEvent | undefined;
  for (const event of events) {
    if (event.kind === "claimed" || event.kind === "reclaimed") {
      found.push({ claim: event, end });
      end = event.kind === "reclaimed" ? event : undefined;
    } else if (event.kind === "changes_wait" && end && SETTLED[end.kind]) {
      end = { ...end, kind: SETTLED[end.kind] ?? end.kind };
    } else if (event.kind in ENDS) {
      end = event;
    }
  }
  return found;
}

function holder(claim: JobEvent): string {
  return claim.message?.replace(/^(re)?claimed by /, "").replace(/:.*$/s, "") || "someone";
}

function lateWords(event: JobEvent): string {
  const { late_claim, wanted } = (event.meta ?? {}) as {
    late_claim?: [string, number];
    wanted?: string;
  };
  if (!late_claim) return event.message ?? "";
  return `${wanted} by ${late_claim[0]}, with the lost claim ${late_claim[1]}`;
}
