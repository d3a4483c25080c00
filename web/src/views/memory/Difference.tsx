// How two branches differ in one document: the entries that only one of them has.
import { Empty, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { EntryList } from "./Entries";
import styles from "./memory.module.css";

interface Sides {
  from: string;
  to: string;
  doc: string;
  asOf: number | null;
}

export function Difference(props: Sides) {
  return (
    <div className={styles.sides}>
      <Side {...props} from={props.to} to={props.from} />
      <Side {...props} />
    </div>
  );
}

/** The entries that `to` has and `from` does not. */
function Side({ from, to, doc, asOf }: Sides) {
  const read = useRead(
    "docs.diff",
    { from, to, doc, limit: 100, as_of: asOf },
    { touches: ofStreams("memory", "thinking") },
  );
  const title = `Only on ${to}`;
  return (
    <section aria-label={title} className={styles.main}>
      <h2>{title}</h2>
      {!read.data && <Waiting error={read.error} />}
      {read.data?.entries.length === 0 && <Empty title="Nothing." />}
      {read.data && read.data.entries.length > 0 && <EntryList entries={read.data.entries} />}
      {read.data?.pagination.has_more && <p className="soft small">There are more.</p>}
    </section>
  );
}
