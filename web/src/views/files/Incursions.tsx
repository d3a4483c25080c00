// Incursions: who tried to reserve, or changed, files that another agent held.
import type { ProtocolEvent } from "../../api/types";
import { Age, Incursion, Link, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { href } from "../../shell/router";
import styles from "./files.module.css";

const MOST_SHOWN = 12;

export function Incursions() {
  const read = useRead(
    "agents.sessions",
    { open_only: true, limit: 1 },
    { touches: ofStreams("crew") },
  );
  const all = read.data?.incursions ?? [];
  return (
    <section aria-labelledby="incursions" className={styles.section}>
      <h2 id="incursions">Reservation conflicts</h2>
      {!read.data && <Waiting error={read.error} />}
      {read.data && all.length === 0 && (
        <p className="soft small">No one conflicts with a reservation of another agent.</p>
      )}
      {all.length > 0 && (
        <ul className={`card ${styles.told}`}>
          {all.slice(0, MOST_SHOWN).map((event) => (
            <Told key={event.ref} event={event} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Told({ event }: { event: ProtocolEvent }) {
  return (
    <li className="small" data-stop>
      <span>
        <Incursion event={event} />
      </span>
      <span className="soft">
        <Age at={Date.parse(event.created_at)} />
        {event.bead_id && (
          <>
            {" · "}
            <Link href={href(`/sessions/${event.bead_id}`)}>conversation</Link>
          </>
        )}
      </span>
    </li>
  );
}
