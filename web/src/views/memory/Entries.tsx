// A document's entries, newest first.
import { useState } from "react";
import type { Entry } from "../../api/types";
import { Age, Badge, Empty, Text, Waiting } from "../../kit/parts";
import { ofStreams, useRead } from "../../live/reads";
import { useRoute } from "../../shell/router";
import styles from "./memory.module.css";

const PAGE = 50;
const MOST = 500;

export function Entries(props: { branch: string; doc: string; asOf: number | null }) {
  const { branch, doc, asOf } = props;
  const [limit, setLimit] = useState(PAGE);
  const read = useRead(
    "docs.show",
    { branch, doc, limit, as_of: asOf },
    { touches: ofStreams("memory", "thinking", "work") },
  );
  if (!read.data) return <Waiting error={read.error} />;
  const { entries, pagination } = read.data;
  return (
    <section aria-label={doc} className={styles.main}>
      {entries.length === 0 && <Empty title="This document is empty." />}
      {entries.length > 0 && <EntryList entries={entries} />}
      {pagination.has_more && limit < MOST && (
        <button type="button" className="button" onClick={() => setLimit(MOST)}>
          Show older entries
        </button>
      )}
      {pagination.has_more && limit === MOST && (
        <p className="soft small">
          Showing the newest {entries.length}. Search to find older entries.
        </p>
      )}
    </section>
  );
}

export function EntryList({ entries }: { entries: readonly Entry[] }) {
  const at = useRoute().query.get("at");
  return (
    <ol className={`card ${styles.list}`}>
      {entries.map((entry) => (
        <li key={entry.seq} data-stop data-chosen={String(entry.seq) === at || undefined}>
          <div className={styles.line}>
            <strong className="one-line">{entry.title || `${entry.doc}@${entry.seq}`}</strong>
            <span className="row soft small">
              <Badge tone="plain">{entry.kind}</Badge>
              <Age at={entry.ts_ms} />
            </span>
          </div>
          {entry.kind === "note" ? (
            <Text>{entry.content}</Text>
          ) : (
            entry.content && <pre className={styles.raw}>{entry.content}</pre>
          )}
        </li>
      ))}
    </ol>
  );
}
