// The frame around a terminal: its state, search, and its content as text for screen readers.
import { type ReactNode, type RefObject, useLayoutEffect, useState } from "react";
import { Find } from "../../kit/Find";
import type { Emulator, Size } from "./emulator";
import styles from "./terminal.module.css";

export interface Showing {
  state: string;
  size: Size;
  /** Incremented when the screen changes. */
  changes: number;
  emulator: RefObject<Emulator | null>;
}

export function Screen(props: {
  room: RefObject<HTMLDivElement | null>;
  showing: Showing;
  children: ReactNode;
}) {
  const { state, size, changes, emulator } = props.showing;
  const [asText, showText] = useState(false);
  const [text, setText] = useState("");
  const [sought, seek] = useState("");
  const [found, setFound] = useState(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `changes` changes when the screen does
  useLayoutEffect(() => {
    if (asText) setText(emulator.current?.text() ?? "");
  }, [asText, changes]);
  const find = (word: string, back: boolean) =>
    setFound(!word || (emulator.current?.find(word, back) ?? false));
  return (
    <section className={styles.terminal} aria-label="Terminal">
      <div className={styles.tools}>
        <h3>Terminal</h3>
        <span className="small soft" role="status">
          {state} · {size.cols} × {size.rows}
        </span>
        <Find
          label="Find in the terminal"
          sought={sought}
          onSeek={(word) => {
            seek(word);
            find(word, true);
          }}
          onStep={(back) => find(sought, !back)}
          says={found ? null : "Not found"}
        />
        <button
          type="button"
          className="button"
          aria-pressed={asText}
          onClick={() => showText(!asText)}
        >
          As text
        </button>
      </div>
      <div className={styles.screen} data-hidden={asText || undefined}>
        <div ref={props.room} className={styles.room} />
      </div>
      {asText && (
        <pre className={styles.text} tabIndex={0} role="document" aria-label="The terminal as text">
          {text || "The screen is empty."}
        </pre>
      )}
      {props.children}
    </section>
  );
}
