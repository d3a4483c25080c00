// The fence: who may write to this job now, under which token, for how long; and who could before.
import type { JobView } from "../../api/types";
import { Age, Left } from "../../kit/parts";
import { moment } from "../../kit/times";
import styles from "./jobs.module.css";

export function Fence({ view }: { view: JobView }) {
  const { job } = view;
  const claims = view.events.filter(
    (event) => event.kind === "claimed" || event.kind === "reclaimed",
  );
  const running = job.status === "RUNNING";
  const earlier = running ? claims.slice(1) : claims;
  if (!running && earlier.length === 0) return null;
  return (
    <section aria-label="Who holds it" className={styles.fence}>
      {running ? (
        <dl>
          <dt>Holder</dt>
          <dd>{job.runner}</dd>
          <dt>Token</dt>
          <dd>{job.revision}</dd>
          {job.claim_expires_at_ms != null && (
            <>
              <dt>Lease</dt>
              <dd>
                <Left until={job.claim_expires_at_ms} over="ran out" />
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
      ) : (
        <p className="soft small">Nobody holds it.</p>
      )}
      {earlier.length > 0 && (
        <p className="soft small">
          Earlier:{" "}
          {earlier
            .map((event) => `${holder(event.message, event.by)} at ${moment(event.ts_ms)}`)
            .join(", ")}
          . Nothing that they still send is taken.
        </p>
      )}
    </section>
  );
}

function holder(message: string | null | undefined, by: string | null | undefined): string {
  return message?.replace(/^(re)?claimed by /, "") || by || "someone";
}
