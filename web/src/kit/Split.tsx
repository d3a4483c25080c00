// A list on the left and the chosen item on the right; on a narrow screen, one at a time.
import type { ReactNode } from "react";
import { Link } from "./parts";
import styles from "./split.module.css";

export function Split(props: {
  label: string;
  list: ReactNode;
  /** The open item; when there is none, the list takes the full width. */
  pane: ReactNode;
  /** Whether the pane needs more than its usual share of the width. */
  wide?: boolean;
}) {
  const open = props.pane ? (props.wide ? "wide" : "") : undefined;
  return (
    <div className={styles.split} data-open={open}>
      <section className={styles.list} aria-label={props.label}>
        {props.list}
      </section>
      {props.pane}
    </div>
  );
}

export function Pane(props: { label: string; back: string; to: string; children: ReactNode }) {
  return (
    <section className={styles.pane} aria-label={props.label}>
      <Link className={`small ${styles.back}`} href={props.to}>
        {props.back}
      </Link>
      {props.children}
    </section>
  );
}

export function PaneHead({ children }: { children: ReactNode }) {
  return <header className={styles.head}>{children}</header>;
}
