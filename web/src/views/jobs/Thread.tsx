// A job's events, oldest first.
import { lazy, Suspense, useState } from "react";
import type { JobEvent, JobView } from "../../api/types";
import { Age, Link, Ref, Text } from "../../kit/parts";
import { actWords } from "../../kit/words";
import { href, usePast, useRoute } from "../../shell/router";
import styles from "./jobs.module.css";

const Artifact = lazy(() => import("./Artifact"));

export function Thread({ view, onMore }: { view: JobView; onMore: (() => void) | null }) {
  const { query } = useRoute();
  const at = Number(query.get("at"));
  const past = usePast();
  const events = [...view.events].reverse();
  const missing = at > 0 && past === null && !events.some((event) => event.seq === at);
  return (
    <>
      {missing && (
        <p className="soft" role="status">
          {view.job.id}@{at} is not among the events shown here.{" "}
          <Link href={href(`/jobs/${view.job.id}`, { at: String(at), as_of: String(at) })}>
            See the job as it was then
          </Link>
        </p>
      )}
      {onMore && (
        <button type="button" className="button" data-kind="quiet" onClick={onMore}>
          Show earlier events
        </button>
      )}
      <ol className={styles.thread} aria-label="Events">
        {events.map((event) => (
          <Event key={event.seq} event={event} marked={event.seq === at} />
        ))}
      </ol>
    </>
  );
}

function Event({ event, marked }: { event: JobEvent; marked: boolean }) {
  return (
    <li className={styles.event} data-kind={event.kind} data-marked={marked || undefined} data-stop>
      <p className="small">
        <strong>{WORDS[event.kind] ?? actWords(event.kind)}</strong>{" "}
        <span className="soft">
          {event.by && `by ${event.by} · `}
          <Age at={event.ts_ms} /> · <Ref id={event.ref} />
        </span>
      </p>
      {event.message && !SAID_BY_KIND.has(event.kind) && <Text>{event.message}</Text>}
      {event.refs?.map((ref) => (
        <Shown key={ref} refText={ref} />
      ))}
    </li>
  );
}

/** Kinds whose message adds nothing to their name. */
const SAID_BY_KIND = new Set(["created", "claimed"]);
const WORDS: Record<string, string> = {
  manager: "Answer",
  reclaimed: "Taken over",
  completed: "Done",
  refused: "Refused: too late",
  updated: "Edited",
  proof_gate: "Proof missing",
};

function Shown({ refText }: { refText: string }) {
  const [open, setOpen] = useState(false);
  if (!refText.startsWith("artifact:")) return <code className={styles.proof}>{refText}</code>;
  return (
    <>
      <button type="button" className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} <code>{refText}</code>
      </button>
      {open && (
        <Suspense fallback={<p className="soft">Loading…</p>}>
          <Artifact id={refText} />
        </Suspense>
      )}
    </>
  );
}
