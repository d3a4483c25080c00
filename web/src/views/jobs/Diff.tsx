// A colored diff: side by side where there is room, otherwise unified.
import { useMemo, useState, useSyncExternalStore } from "react";
import { Choice } from "../../kit/Choice";
import styles from "./artifact.module.css";
import { type Line, linesOf, type Pair, pairsOf } from "./diff";

const KEY = "longhouse.diff";
const WAYS = [
  ["beside", "Side by side"],
  ["under", "Unified"],
] as const;
type Way = (typeof WAYS)[number][0];
const room = matchMedia("(min-width: 1500px)");

function watchRoom(listener: () => void): () => void {
  room.addEventListener("change", listener);
  return () => room.removeEventListener("change", listener);
}

export function Diff({ text }: { text: string }) {
  const wide = useSyncExternalStore(watchRoom, () => room.matches);
  const [chosen, choose] = useState<Way>(() =>
    localStorage.getItem(KEY) === "under" ? "under" : "beside",
  );
  const lines = useMemo(() => linesOf(text), [text]);
  const beside = wide && chosen === "beside";
  const set = (how: Way) => {
    localStorage.setItem(KEY, how);
    choose(how);
  };
  return (
    <>
      {wide && <Choice label="Diff layout" all={WAYS} chosen={chosen} onChoose={set} />}
      <div className={styles.text} tabIndex={0} role="group" aria-label="Changes">
        {beside ? <Beside lines={lines} /> : <Under lines={lines} />}
      </div>
    </>
  );
}

function Under({ lines }: { lines: readonly Line[] }) {
  return (
    <pre>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a sealed text never move
        <span key={index} className={styles.line} data-sort={line.sort}>
          {line.text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function Beside({ lines }: { lines: readonly Line[] }) {
  const pairs = useMemo(() => pairsOf(lines), [lines]);
  return (
    <table className={styles.beside}>
      <thead className="hidden-label">
        <tr>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a sealed text never move
          <Row key={index} pair={pair} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ pair: { before, after } }: { pair: Pair }) {
  if (before && before === after && before.sort !== "same") {
    return (
      <tr>
        <td colSpan={2} data-sort={before.sort}>
          {before.text}
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <td data-sort={before?.sort ?? "none"}>{before?.text.slice(1)}</td>
      <td data-sort={after?.sort ?? "none"}>{after?.text.slice(1)}</td>
    </tr>
  );
}
