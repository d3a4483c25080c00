// The log as a timeline that can be filtered, followed, and rewound to any row.
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { session } from "../../api/session";
import { Empty, Refused } from "../../kit/parts";
import { Rows } from "../../kit/Rows";
import { useStore } from "../../kit/store";
import { useNow } from "../../live/clock";
import { log, useLog } from "../../live/log";
import { Timeline } from "../../live/timeline";
import { usePast, useRoute } from "../../shell/router";
import { Scrubber } from "../../shell/Scrubber";
import { Filters } from "./Filters";
import { filterOf, isFiltered, matches } from "./filter";
import styles from "./history.module.css";
import { Row } from "./Row";
import { RowPane } from "./RowPane";

/** How many matches a filter loads automatically, and how many rows it reads to find them. */
const ENOUGH = 100;
const FAR = 5_000;
const ROW_PX = 44;

export default function History() {
  const { workspace } = useStore(session);
  const past = usePast();
  return <Shown key={`${workspace} ${past}`} past={past} />;
}

function Shown({ past }: { past: number | null }) {
  const { query, parts } = useRoute();
  const now = useNow();
  useLog();
  const timeline = useMemo(() => new Timeline(past), [past]);
  const seen = useSyncExternalStore(timeline.watch, timeline.seen);
  const filter = filterOf(query);
  const cutoff = filter.within ? Math.floor((now - filter.within) / 60_000) * 60_000 : 0;
  const { who, item, stream, kind } = filter;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `seen` changes when the rows do
  const found = useMemo(
    () =>
      timeline.rows
        .filter((row) => matches(row, { who, item, stream, kind }) && row.ts_ms >= cutoff)
        .reverse(),
    [timeline, seen, who, item, stream, kind, cutoff],
  );
  const read = timeline.rows.length;
  const first = timeline.rows[0];
  const allRead = timeline.floor === 0 || (first !== undefined && first.ts_ms < cutoff);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `seen` changes when a page has come
  useEffect(() => {
    if (!allRead && !timeline.error && found.length < ENOUGH && read < FAR) void timeline.older();
  }, [timeline, seen, found.length, read, allRead]);
  const opened = parts[1] ? Number(parts[1]) : null;
  const actors = useMemo(
    () => [...new Set(timeline.rows.flatMap((row) => row.actor ?? []))].sort(),
    [timeline.rows],
  );
  return (
    <>
      <header className={styles.head}>
        <h1>History</h1>
        <p className="soft" role="status">
          {found.length.toLocaleString("en")} of {read.toLocaleString("en")} rows
          {timeline.floor > 0 && `, back to ${timeline.floor + 1}`}
          {timeline.busy && ", loading more…"}
        </p>
      </header>
      {past === null && (
        <div className={styles.scrubber}>
          <Scrubber past={null} />
        </div>
      )}
      <Filters filter={filter} actors={actors} />
      {timeline.error && <Refused error={timeline.error} />}
      {found.length === 0 && !timeline.busy && (
        <Empty title={isFiltered(filter) ? "No loaded row matches." : "No history yet."}>
          {isFiltered(filter) ? (
            "Clear a filter, or load older rows."
          ) : (
            <>
              Every change is listed here. Start with{" "}
              <code>longhouse task start "Fix the flaky test"</code>
            </>
          )}
        </Empty>
      )}
      {found.length > 0 && (
        <Rows
          label="History, newest first"
          items={found}
          keyOf={(row) => String(row.seq)}
          height={ROW_PX}
        >
          {(row) => <Row row={row} opened={row.seq === opened} />}
        </Rows>
      )}
      {!allRead && (
        <button
          type="button"
          className="button"
          disabled={timeline.busy}
          onClick={() => void timeline.older()}
        >
          Load older rows
        </button>
      )}
      {opened !== null && (
        <RowPane
          seq={opened}
          row={timeline.rows.find((row) => row.seq === opened)}
          read={opened > timeline.floor && opened <= (past ?? log.head)}
        />
      )}
    </>
  );
}
