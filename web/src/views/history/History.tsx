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
import { useSearch } from "./search";

/** How many rows are loaded automatically. */
const ENOUGH = 100;
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
  // The rows that this tab has are shown at once; the server searches the rest of the log.
  const search = useSearch(isFiltered(filter) ? filter : null, past, cutoff);
  const further = search?.rows;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `seen` changes when the rows do
  const found = useMemo(() => {
    const here = timeline.rows
      .filter((row) => matches(row, { who, item, stream, kind }) && row.ts_ms >= cutoff)
      .reverse();
    const known = new Set(here.map((row) => row.seq));
    const more = (further ?? []).filter(
      (row) => !known.has(row.seq) && matches(row, { who, item, stream, kind }),
    );
    return [...here, ...more].sort((a, b) => b.seq - a.seq);
  }, [timeline, seen, further, who, item, stream, kind, cutoff]);
  const read = timeline.rows.length;
  const allRead = search ? search.done : timeline.floor === 0;
  const busy = search ? search.busy : timeline.busy;
  // What came after the search began and is not kept any more is not shown.
  const covered = search ? search.head : 0;
  const error = search ? search.error : timeline.error;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `seen` changes when a page has come
  useEffect(() => {
    if (!search && !allRead && !timeline.error && found.length < ENOUGH) void timeline.older();
  }, [timeline, seen, found.length, search, allRead]);
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
          {timeline.floor > covered
            ? `, back to ${timeline.floor + 1}`
            : search && !search.done && `, searched back to ${search.floor.toLocaleString("en")}`}
          {busy && ", loading more…"}
        </p>
      </header>
      {past === null && (
        <div className={styles.scrubber}>
          <Scrubber past={null} />
        </div>
      )}
      <Filters filter={filter} actors={actors} />
      {error && <Refused error={error} />}
      {found.length === 0 && !busy && (
        <Empty title={isFiltered(filter) ? "No row matches." : "No history yet."}>
          {isFiltered(filter) ? (
            "The whole log was searched. Clear a filter to see more."
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
          disabled={busy}
          onClick={() => (search ? search.older() : void timeline.older())}
        >
          Load older rows
        </button>
      )}
      {opened !== null && (
        <RowPane
          seq={opened}
          row={[...timeline.rows, ...found].find((row) => row.seq === opened)}
          read={opened > timeline.floor && opened <= (past ?? log.head)}
        />
      )}
    </>
  );
}
