// Says when the page is disconnected or behind; shows nothing while it is live.

import { Age } from "../kit/parts";
import { useStore } from "../kit/store";
import { type Act, useWaitingActs } from "../live/acts";
import { link, retry } from "../live/tabs";
import styles from "./connection.module.css";

/** What was done while the server could not be reached. */
function unsent(acts: readonly Act[]): string {
  const about = [...new Set(acts.map((act) => act.subject))].join(", ");
  const many = acts.length === 1 ? "One act is" : `${acts.length} acts are`;
  return `${many} waiting to be sent, about ${about}.`;
}

export function Connection() {
  const { state, since, behind } = useStore(link);
  const waiting = useWaitingActs();
  if (state === "cut-off") {
    return (
      <div className={styles.cut} role="alert">
        <span>
          <strong>Disconnected.</strong> The server has not responded for{" "}
          <Age at={since} after="." /> You are seeing the state from then. If the server is down,
          run <code>longhouse up</code>.{waiting.length > 0 && ` ${unsent(waiting)}`}
        </span>
        <button type="button" className="button" onClick={retry}>
          Retry now
        </button>
      </div>
    );
  }
  if (state === "catching-up" && behind > 50) {
    return (
      <p className={styles.behind} role="status">
        {behind.toLocaleString("en")} changes behind, catching up…
      </p>
    );
  }
  if (waiting.length > 0) {
    return (
      <p className={styles.behind} role="status">
        {unsent(waiting)}
      </p>
    );
  }
  return (
    <p className="hidden-label" role="status" data-link={state}>
      {state === "live" ? "Live" : "Connecting…"}
    </p>
  );
}
