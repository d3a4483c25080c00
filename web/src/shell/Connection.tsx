// Says when the page is disconnected or behind; shows nothing while it is live.

import { Age } from "../kit/parts";
import { useStore } from "../kit/store";
import { link, retry } from "../live/tabs";
import styles from "./connection.module.css";

export function Connection() {
  const { state, since, behind } = useStore(link);
  if (state === "cut-off") {
    return (
      <div className={styles.cut} role="alert">
        <span>
          <strong>Disconnected.</strong> The server has not responded for{" "}
          <Age at={since} after="." /> You are seeing the state from then. If the server is down,
          run <code>longhouse up</code>.
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
  return (
    <p className="hidden-label" role="status" data-link={state}>
      {state === "live" ? "Live" : "Connecting…"}
    </p>
  );
}
