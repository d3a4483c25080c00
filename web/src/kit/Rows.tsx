// A long list of rows of equal height; only the visible ones are rendered.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";
import styles from "./rows.module.css";

const FEW = 60;

export function Rows<T>(props: {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string;
  /** The height of one row, in pixels. */
  height: number;
  children: (item: T) => ReactNode;
}) {
  if (props.items.length > FEW) return <Virtual {...props} />;
  return (
    <ul className={`card ${styles.rows}`} aria-label={props.label}>
      {props.items.map((item) => (
        <li key={props.keyOf(item)} style={{ height: props.height }}>
          {props.children(item)}
        </li>
      ))}
    </ul>
  );
}

function Virtual<T>(props: Parameters<typeof Rows<T>>[0]) {
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: props.items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => props.height,
    overscan: 8,
  });
  return (
    // A scrollable area must be reachable by keyboard.
    <div
      ref={frame}
      className={`card ${styles.frame}`}
      tabIndex={0}
      role="group"
      aria-label={props.label}
    >
      <ul className={styles.rows} style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const item = props.items[row.index];
          return (
            item !== undefined && (
              <li
                key={props.keyOf(item)}
                aria-setsize={props.items.length}
                aria-posinset={row.index + 1}
                style={{
                  position: "absolute",
                  inset: "0 0 auto",
                  height: row.size,
                  transform: `translateY(${row.start}px)`,
                }}
              >
                {props.children(item)}
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}
