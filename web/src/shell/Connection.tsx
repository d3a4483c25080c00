// Says plainly when what is shown is not the newest; silent while it is.

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
          <strong>Cut off.</strong> The server has not answered for <Age at={since} after="." />{" "}
          What you see is from then. If it is down, say <code>longhouse up</code>.
        </span>
        <button type="button" className="button" onClick={retry}>
          Try now
        </button>
      </div>
    );
  }
  if (state === "catching-up" && behind > 50) {
    return (
      <p className={styles.behind} role="status">
        Behind by {behind.toLocaleString("en")} changes, catching up…
      </p>
    );
  }
  return (
    <p className="hidden-label" role="status" data-link={state}>
      {state === "live" ? "Live" : "Connecting…"}
    </p>
  );
}
