// Takes back the last act, for a few seconds after it was done.
import { useUndo } from "../live/acts";
import styles from "./undo.module.css";

export function Undo() {
  const last = useUndo();
  return (
    <div role="status" className={last ? styles.bar : "hidden-label"}>
      {last && (
        <>
          <span>{last.said}.</span>
          <button type="button" className="button" onClick={last.undo}>
            Undo
          </button>
        </>
      )}
    </div>
  );
}
