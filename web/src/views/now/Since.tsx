// What was decided, finished and failed since the user last looked, from the log.
import { useState } from "react";
import { session } from "../../api/session";
import { Age, Ref } from "../../kit/parts";
import { useStore } from "../../kit/store";
import { actWords, withoutMarks } from "../../kit/words";
import { type LogRow, log, useLog } from "../../live/log";
import { usePast } from "../../shell/router";
import styles from "./now.module.css";

type Sort = "Decided" | "Finished" | "Failed" | "Asked" | "Passed on";

const SORTS: Record<string, Sort> = {
  "crew DECISION": "Decided",
  "crew HANDOFF": "Passed on",
  "crew BLOCKED": "Asked",
  "jobs completed": "Finished",
  "jobs failed": "Failed",
  "jobs question": "Asked",
  "jobs canceled": "Failed",
  "work step_done": "Finished",
  "work task_completed": "Finished",
};
const MOST_SHOWN = 8;

const keyOf = (workspace: string | null) => `longhouse.looked.${workspace}`;

export function Since() {
  const { workspace } = useStore(session);
  const rows = useLog();
  const past = usePast();
  const key = keyOf(workspace);
  const [looked, setLooked] = useState(() => Number(localStorage.getItem(key) ?? 0));
  const fresh = rows.filter((row) => row.seq > looked && sortOf(row));
  const look = () => {
    localStorage.setItem(key, String(log.head));
    setLooked(log.head);
  };
  if (fresh.length === 0 || past !== null) return null;
  const counts = new Map<Sort, number>();
  for (const row of fresh) {
    const sort = sortOf(row);
    if (sort) counts.set(sort, (counts.get(sort) ?? 0) + 1);
  }
  return (
    <section aria-labelledby="since" className={styles.since}>
      <div className={styles.sectionHead}>
        <h2 id="since">Since you last looked</h2>
        <button type="button" className="button" data-kind="quiet" onClick={look}>
          Mark as seen
        </button>
      </div>
      <p>
        {[...counts].map(([sort, count]) => `${count} ${sort.toLowerCase()}`).join(" · ")}
        {looked < log.floor && <span className="soft"> in the recent log</span>}
      </p>
      <ol className={`card ${styles.crew} ${styles.sinceRows}`}>
        {fresh
          .slice(-MOST_SHOWN)
          .reverse()
          .map((row) => (
            <li key={row.seq} className="small" data-stop>
              <span className="soft">{sortOf(row)}</span>
              <span className="one-line">
                {words(row)} {row.actor && <span className="soft">by {row.actor}</span>}
              </span>
              <Ref id={row.ref} />
              <span className="soft">
                <Age at={row.ts_ms} />
              </span>
            </li>
          ))}
      </ol>
    </section>
  );
}

function sortOf(row: LogRow): Sort | undefined {
  return SORTS[`${row.stream} ${row.kind}`];
}

function words(row: LogRow): string {
  const data = row.data as Record<string, unknown>;
  const payload = (data.payload ?? data) as Record<string, unknown>;
  for (const name of ["subject", "message", "summary", "title"]) {
    if (typeof payload[name] === "string") return withoutMarks(payload[name]);
    if (typeof data[name] === "string") return withoutMarks(data[name]);
  }
  return actWords(row.kind);
}
