// Merge conflicts: the common base, both versions, and the choice of which one to keep.
import { useMay } from "../../api/roles";
import type { ConflictRow, MergeConflict } from "../../api/types";
import { Age, Badge, Refused, Waiting } from "../../kit/parts";
import { act, putAway, usePending } from "../../live/acts";
import { ofStreams, useRead } from "../../live/reads";
import styles from "./memory.module.css";

const MOST = 50;
/** A record's bookkeeping fields, which are not compared. */
const OWN = new Set(["seq", "last_seq", "last_ts_ms", "ref", "created_seq", "rev"]);

export function Conflicts(props: { branch: string; doc: string; asOf: number | null }) {
  const read = useRead(
    "graph.conflicts",
    { into: props.branch, doc: props.doc, status: "open", limit: MOST, as_of: props.asOf },
    { touches: ofStreams("memory", "thinking") },
  );
  const rows = read.data?.conflicts ?? [];
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="conflicts" className={styles.main}>
      <h2 id="conflicts">
        {rows.length === 1 ? "1 merge conflict" : `${rows.length} merge conflicts`}
      </h2>
      {rows.map((row) => (
        <Clash key={row.conflict_id} row={row} asOf={props.asOf} />
      ))}
    </section>
  );
}

function nameOf(key: ConflictRow["key"]): string {
  return typeof key === "string" ? key : `${key.from} ${key.rel} ${key.to}`;
}

function Clash({ row, asOf }: { row: ConflictRow; asOf: number | null }) {
  const id = row.conflict_id;
  const read = useRead(
    "graph.conflict.show",
    { conflict_id: id, as_of: asOf },
    { touches: ofStreams("memory") },
  );
  const done = usePending(read.at).get(id);
  const conflict = read.data?.conflict;
  return (
    <article className={`card ${styles.clash}`} data-stop aria-label={nameOf(row.key)}>
      <p className={styles.line}>
        <strong>{nameOf(row.key)}</strong>
        <span className="small soft">
          <Badge tone="warn">{row.kind}</Badge> found <Age at={row.created_at_ms} />
        </span>
      </p>
      {!conflict && <Waiting error={read.error} />}
      {done?.state === "refused" && done.error && (
        <Refused error={done.error} onClose={() => putAway(done.id)} />
      )}
      {done && done.state !== "refused" && (
        <p className="small" role="status">
          {done.said}
        </p>
      )}
      {conflict && (
        <Sides conflict={conflict} settled={Boolean(done && done.state !== "refused")} />
      )}
    </article>
  );
}

function Sides({ conflict, settled }: { conflict: MergeConflict; settled: boolean }) {
  const may = useMay();
  const { base, ours, theirs, into, from } = conflict;
  const names = fieldsOf(base, ours, theirs);
  const choose = (resolution: "use_from" | "use_into", kept: string) =>
    act("graph.conflict.resolve", conflict.conflict_id, `Kept the version on ${kept}`, {
      conflict_id: conflict.conflict_id,
      resolution,
    }).catch(() => {});
  return (
    <div className={styles.threeSides}>
      <Version title="Before" fields={base} names={names} other={null} />
      <Version title={`On ${into}`} fields={ours} names={names} other={base}>
        {!settled && may("graph.conflict.resolve") && (
          <button type="button" className="button" onClick={() => choose("use_into", into)}>
            Keep this
          </button>
        )}
      </Version>
      <Version title={`On ${from}`} fields={theirs} names={names} other={base}>
        {!settled && may("graph.conflict.resolve") && (
          <button type="button" className="button" onClick={() => choose("use_from", from)}>
            Use this
          </button>
        )}
      </Version>
    </div>
  );
}

type Fields = { [name: string]: unknown } | null;

/** The fields in which the three versions differ. */
function fieldsOf(...sides: Fields[]): string[] {
  const names = new Set(sides.flatMap((side) => Object.keys(side ?? {})));
  return [...names].filter(
    (name) => !OWN.has(name) && new Set(sides.map((side) => JSON.stringify(side?.[name]))).size > 1,
  );
}

function Version(props: {
  title: string;
  fields: Fields;
  names: string[];
  other: Fields;
  children?: React.ReactNode;
}) {
  const { fields, other } = props;
  return (
    <section aria-label={props.title} className={styles.version}>
      <h3 className="small">{props.title}</h3>
      {fields === null || fields.deleted ? (
        <p className="soft">{fields === null ? "Did not exist." : "Deleted."}</p>
      ) : (
        <dl>
          {props.names.map((name) => (
            <div
              key={name}
              data-changed={
                (other && JSON.stringify(fields[name]) !== JSON.stringify(other[name])) || undefined
              }
            >
              <dt className="small soft">{name}</dt>
              <dd>{shown(fields[name])}</dd>
            </div>
          ))}
        </dl>
      )}
      {props.children}
    </section>
  );
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === "") return "(empty)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
