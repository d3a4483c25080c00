// The full content of one log row, with a link to the state at that time.
import { Dialog } from "../../kit/Dialog";
import { Age, Link, Ref } from "../../kit/parts";
import type { LogRow } from "../../live/log";
import { go, href } from "../../shell/router";
import { inWords } from "./filter";
import styles from "./history.module.css";
import { rowPlace } from "./Row";

export function RowPane(props: { seq: number; row: LogRow | undefined; read: boolean }) {
  const { seq, row } = props;
  return (
    <Dialog
      title={row ? `${inWords(row.kind)} · ${seq}` : `Row ${seq}`}
      kind="drawer"
      onClose={() => go(rowPlace(null))}
    >
      {!row && props.read && <p>There is no such row: the numbers of the log have gaps.</p>}
      {!row && !props.read && (
        <p>
          This row is not loaded.{" "}
          <Link href={href(`/history/${seq}`, { as_of: String(seq) })}>Go to it</Link>
        </p>
      )}
      {row && (
        <div className={styles.pane}>
          <dl className={styles.facts}>
            <dt>When</dt>
            <dd>
              {new Date(row.ts_ms).toISOString()}, <Age at={row.ts_ms} />
            </dd>
            <dt>By</dt>
            <dd>{row.actor ?? "the system"}</dd>
            <dt>About</dt>
            <dd>
              <Ref id={row.subject} />
            </dd>
            <dt>Ref</dt>
            <dd>
              <Ref id={row.ref} />
            </dd>
          </dl>
          <pre className={styles.data}>{JSON.stringify(row.data, null, 2)}</pre>
          {row.clipped && <p className="soft small">Long text is truncated here.</p>}
          <div className="row">
            <Link className="button" href={href("/history", { as_of: String(seq) })}>
              Rewind to here
            </Link>
            <Link className="button" href={href("/history", { item: row.subject })}>
              All rows about {row.subject}
            </Link>
          </div>
        </div>
      )}
    </Dialog>
  );
}
