// Everything that a row of the log holds, and how the house was when it was written.
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
      {!row && props.read && (
        <p>There is no such row: not every number of the log belongs to one.</p>
      )}
      {!row && !props.read && (
        <p>
          This row is not among those that were read.{" "}
          <Link href={href(`/history/${seq}`, { as_of: String(seq) })}>Go back to it</Link>
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
            <dd>{row.actor ?? "the house itself"}</dd>
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
          {row.clipped && <p className="soft small">Long texts are cut here.</p>}
          <div className="row">
            <Link className="button" href={href("/history", { as_of: String(seq) })}>
              Rewind to here
            </Link>
            <Link className="button" href={href("/history", { item: row.subject })}>
              All about {row.subject}
            </Link>
          </div>
        </div>
      )}
    </Dialog>
  );
}
