// A log row on one line.
import { Badge, Link, Ref, type Tone } from "../../kit/parts";
import { moment } from "../../kit/times";
import type { LogRow } from "../../live/log";
import { href, route } from "../../shell/router";
import { gist, inWords, STREAMS } from "./filter";
import styles from "./history.module.css";

const TONES: Record<string, Tone> = {
  crew: "info",
  work: "ok",
  jobs: "accent",
  processes: "warn",
};

export function Row({ row, opened }: { row: LogRow; opened: boolean }) {
  return (
    <div className={styles.row} data-stop data-opened={opened || undefined}>
      <Link className={`small ${styles.when}`} href={rowPlace(row.seq)}>
        <time dateTime={new Date(row.ts_ms).toISOString()}>{moment(row.ts_ms)}</time>
        <span className="hidden-label">: open row {row.seq}</span>
      </Link>
      <Badge tone={TONES[row.stream] ?? "plain"} title={STREAMS[row.stream] ?? row.stream}>
        {inWords(row.kind)}
      </Badge>
      <span className="one-line">{gist(row)}</span>
      <span className={`soft small one-line ${styles.actor}`}>{row.actor}</span>
      <span className={styles.item}>
        <Ref id={row.subject} />
      </span>
    </div>
  );
}

/** The address of a row, keeping the filters. */
export function rowPlace(seq: number | null): string {
  const { query } = route();
  const kept = Object.fromEntries(query.entries());
  return href(seq === null ? "/history" : `/history/${seq}`, kept);
}
