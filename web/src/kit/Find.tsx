// A find-in-view field. Enter goes to the next match, Shift+Enter to the previous one.
import { useId } from "react";
import styles from "./find.module.css";

export function Find(props: {
  label: string;
  sought: string;
  onSeek: (word: string) => void;
  onStep: (back: boolean) => void;
  /** The outcome of the search, or null when there is nothing to report. */
  says: string | null;
}) {
  const id = useId();
  return (
    <search className={styles.find}>
      <label className="hidden-label" htmlFor={id}>
        {props.label}
      </label>
      <input
        id={id}
        type="search"
        className="field"
        placeholder="Find…"
        value={props.sought}
        onChange={(event) => props.onSeek(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && props.onStep(event.shiftKey)}
      />
      {props.says && (
        <span className="small soft" role="status">
          {props.says}
        </span>
      )}
    </search>
  );
}
