// A field that seeks in what is shown; Enter goes on, with Shift back.
import { useId } from "react";
import styles from "./find.module.css";

export function Find(props: {
  label: string;
  sought: string;
  onSeek: (word: string) => void;
  onStep: (back: boolean) => void;
  /** What came of it; nothing while there is nothing to say. */
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
