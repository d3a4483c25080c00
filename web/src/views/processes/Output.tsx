// A process's output: followed live, searchable, with stdout and stderr distinguished.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { TaskView } from "../../api/types";
import { Choice } from "../../kit/Choice";
import { Find } from "../../kit/Find";
import { Refused } from "../../kit/parts";
import { moment } from "../../kit/times";
import { usePast } from "../../shell/router";
import { plain, type Span, spans } from "./ansi";
import { type Line, Lines } from "./lines";
import styles from "./output.module.css";
import { bytes } from "./words";

const LINE_PX = 21;
const NEAR_PX = 40;
const STREAMS = [
  ["", "Both"],
  ["stdout", "stdout"],
  ["stderr", "stderr"],
] as const;

export function Output({ task }: { task: TaskView }) {
  const past = usePast();
  const { task_id, next_seq } = task;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows new frames on its own
  const output = useMemo(() => new Lines(task_id, next_seq, past), [task_id, past]);
  const seen = useSyncExternalStore(output.watch, output.seen);
  const [stream, choose] = useState<"" | "stdout" | "stderr">("");
  const [sought, seek] = useState("");
  const [at, setAt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `seen` changes when the lines do
  const lines = useMemo(
    () => output.lines.filter((line) => !stream || line.stream === stream),
    [output, seen, stream],
  );
  const hits = useMemo(() => {
    const word = sought.trim().toLowerCase();
    if (!word) return [];
    return lines.flatMap((line, index) =>
      plain(line.text).toLowerCase().includes(word) ? index : [],
    );
  }, [lines, sought]);
  const hit = hits.length > 0 ? (hits[Math.min(at, hits.length - 1)] ?? null) : null;
  const step = (by: number) =>
    setAt((Math.min(at, hits.length - 1) + by + hits.length) % hits.length);
  const both = output.lines.some((line) => line.stream === "stderr");
  return (
    <section className={styles.output} aria-label="Output">
      <div className={styles.tools}>
        <h3>Output</h3>
        {both && <Choice label="Stream" all={STREAMS} chosen={stream} onChoose={choose} />}
        <Find
          label="Find in the output"
          sought={sought}
          onSeek={(word) => {
            seek(word);
            setAt(0);
          }}
          onStep={(back) => hits.length > 0 && step(back ? -1 : 1)}
          says={sought.trim() ? place(Math.min(at, hits.length - 1), hits.length) : null}
        />
      </div>
      {output.error && <Refused error={output.error} />}
      {output.first > 0 && (
        <button
          type="button"
          className={`button ${styles.older}`}
          data-kind="quiet"
          disabled={output.busy}
          onClick={() => void output.older()}
        >
          Load earlier output
        </button>
      )}
      {lines.length === 0 ? (
        <p className={`soft ${styles.nothing}`} role="status">
          {output.over ? "No output." : "No output yet."}
        </p>
      ) : (
        <Shown lines={lines} sought={sought.trim()} hit={hit} live={!output.over} />
      )}
    </section>
  );
}

function place(at: number, count: number): string {
  return count === 0 ? "Not found" : `${at + 1} of ${count}`;
}

function Shown(props: { lines: Line[]; sought: string; hit: number | null; live: boolean }) {
  const { lines, hit } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [follows, follow] = useState(true);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  const end = lines.length - 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a line that grows changes `lines`
  useEffect(() => {
    if (follows) rows.scrollToIndex(end, { align: "end" });
  }, [follows, end, lines]);
  useEffect(() => {
    if (hit !== null) rows.scrollToIndex(hit, { align: "center" });
  }, [hit, rows]);
  return (
    <div className={styles.box}>
      <div
        ref={frame}
        className={styles.lines}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Lines of output"
        onScroll={({ currentTarget: box }) => {
          const left = box.scrollHeight - box.scrollTop - box.clientHeight;
          if (left < NEAR_PX !== follows) follow(left < NEAR_PX);
        }}
      >
        <ol className={styles.list} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const line = lines[row.index];
            return (
              line && (
                <li
                  key={line.id}
                  className={styles.line}
                  data-stream={line.stream}
                  data-hit={row.index === hit || undefined}
                  style={{ transform: `translateY(${row.start}px)` }}
                  title={moment(line.at)}
                >
                  <Body line={line} sought={props.sought} />
                </li>
              )
            );
          })}
        </ol>
      </div>
      {!follows && (
        <button
          type="button"
          className={`button ${styles.follow}`}
          onClick={() => {
            follow(true);
            rows.scrollToIndex(end, { align: "end" });
          }}
        >
          {props.live ? "Follow" : "Go to end"}
        </button>
      )}
    </div>
  );
}

function Body({ line, sought }: { line: Line; sought: string }) {
  if (line.missing) {
    const { from, to, kept } = line.missing;
    return (
      <span className={styles.missing}>
        {bytes(to - from)} {kept ? "not shown here" : "not kept"} (bytes {from.toLocaleString("en")}{" "}
        to {to.toLocaleString("en")} of {line.stream})
      </span>
    );
  }
  return (
    <>
      {line.stream === "stderr" && <span className={styles.mark}>err </span>}
      {sought ? <Found text={plain(line.text)} sought={sought} /> : <Coloured text={line.text} />}
    </>
  );
}

function Coloured({ text }: { text: string }) {
  return spans(text).map((span: Span, index) => (
    <span
      // biome-ignore lint/suspicious/noArrayIndexKey: a span's position is its only identity
      key={index}
      data-colour={span.colour}
      data-bold={span.bold || undefined}
      data-dim={span.dim || undefined}
    >
      {span.text}
    </span>
  ));
}

function Found({ text, sought }: { text: string; sought: string }) {
  const [within, word] = [text.toLowerCase(), sought.toLowerCase()];
  const parts: ReactNode[] = [];
  let from = 0;
  for (let at = within.indexOf(word); at >= 0; at = within.indexOf(word, from)) {
    const end = at + word.length;
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, end)}</mark>);
    from = end;
  }
  parts.push(text.slice(from));
  return parts;
}
