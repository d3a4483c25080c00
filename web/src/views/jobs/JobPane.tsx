// One job: its details, its holder, its events, and the buttons to act on it.
import { useState } from "react";
import { useMay } from "../../api/roles";
import type { Job, JobView } from "../../api/types";
import { Composer } from "../../kit/Composer";
import { Age, Badge, Ref, Refused, Text, Waiting } from "../../kit/parts";
import { Pane, PaneHead } from "../../kit/Split";
import { age } from "../../kit/times";
import { act, putAway, usePending } from "../../live/acts";
import { useNow } from "../../live/clock";
import { useRead } from "../../live/reads";
import { href, useRoute } from "../../shell/router";
import { EditJob } from "./EditJob";
import { Fence } from "./Fence";
import styles from "./jobs.module.css";
import { Thread } from "./Thread";
import { attentionWords, count, ENDED, money, STATUS, waitingWords } from "./words";

const STEP = 50;
const MOST = 200;

export function JobPane({ id }: { id: string }) {
  const { query } = useRoute();
  const [limit, setLimit] = useState(STEP);
  const read = useRead(
    "jobs.open",
    { job: id, max_events: limit, include_prompt: true, include_meta: true },
    { touches: (row) => row.subject === id, every: 20_000 },
  );
  const done = usePending(read.at).get(id);
  const back = href("/jobs", { status: query.get("status") });
  return (
    <Pane label={`Job ${id}`} back="All jobs" to={back}>
      {!read.data && <Waiting error={read.error} />}
      {read.data && (
        <>
          <Head view={read.data} />
          {done?.state === "refused" && done.error && (
            <Refused error={done.error} onClose={() => putAway(done.id)} />
          )}
          {done && done.state !== "refused" && (
            <p className={styles.settled} data-state={done.state} role="status">
              {done.said}
            </p>
          )}
          <Fence view={read.data} />
          <Asked view={read.data} />
          <Thread
            view={read.data}
            onMore={read.data.has_more_events && limit < MOST ? () => setLimit(limit + STEP) : null}
          />
          <Steer job={read.data.job} yours={read.data.yours !== false} />
        </>
      )}
    </Pane>
  );
}

function Head({ view }: { view: JobView }) {
  const { job } = view;
  const now = useNow();
  const may = useMay();
  const [editing, edit] = useState(false);
  const needs = attentionWords(view.attention, view.waiting);
  const ended = ENDED.includes(job.status);
  const tokens = job.usage ? (job.usage.input_tokens ?? 0) + (job.usage.output_tokens ?? 0) : 0;
  const cost = job.usage?.cost_usd;
  const hours = ((job.completed_at_ms ?? now) - job.created_at_ms) / 3_600_000;
  return (
    <PaneHead>
      <div className="row">
        <Badge tone={STATUS[job.status][1]}>{STATUS[job.status][0]}</Badge>
        {needs && <Badge tone={needs[1]}>{needs[0]}</Badge>}
        <code className="ref soft">{job.id}</code>
        {job.percent != null && !ended && <span className="small">{job.percent}%</span>}
      </div>
      <h2>{job.title}</h2>
      <p className="soft small">
        {job.priority.toLowerCase()} priority · created <Age at={job.created_at_ms} />
        {job.task_id && (
          <>
            {" "}
            · for <Ref id={job.task_id} />
          </>
        )}
        {view.after && view.after.length > 0 && (
          <>
            {" "}
            · after{" "}
            {view.after.map((one) => (
              <Ref key={one} id={one} />
            ))}
          </>
        )}
        {job.completed_at_ms && <> · took {age(job.completed_at_ms - job.created_at_ms)}</>}
      </p>
      {tokens > 0 && (
        <p className="small">
          {count(tokens)} tokens, {money(cost)}
          {hours > 0.02 && (
            <span className="soft">
              {" "}
              ·{" "}
              {typeof cost === "number"
                ? money(cost / hours)
                : `${count(Math.round(tokens / hours))} tokens`}{" "}
              per hour
            </span>
          )}
          {job.limits?.max_cost_usd && (
            <span className="soft"> · limit {money(job.limits.max_cost_usd)}</span>
          )}
        </p>
      )}
      {view.waiting && (
        <p role="status" className="small">
          Waits: {waitingWords(view.waiting)}
        </p>
      )}
      {job.summary && <Text>{job.summary}</Text>}
      {job.refs && job.refs.length > 0 && (
        <p className="small">
          <span className="soft">Proof: </span>
          {job.refs.map((ref) => (
            <code key={ref} className={styles.proof}>
              {ref}
            </code>
          ))}
        </p>
      )}
      <div className="row">
        {job.status === "QUEUED" && may("jobs.update") && (
          <button type="button" className="button" onClick={() => edit(true)}>
            Edit
          </button>
        )}
        {!ended && may("jobs.cancel") && view.yours !== false && (
          <Do job={job} cmd="jobs.cancel" said="Canceled" kind="danger">
            Cancel job
          </Do>
        )}
        {job.held && may("jobs.requeue") && (
          <Do job={job} cmd="jobs.requeue" said="Released" kind="main">
            Release
          </Do>
        )}
        {ended && may("jobs.requeue") && (
          <Do
            job={job}
            cmd="jobs.requeue"
            said="Requeued"
            kind={job.status === "DONE" ? "plain" : "main"}
          >
            Requeue
          </Do>
        )}
      </div>
      {editing && <EditJob view={view} onClose={() => edit(false)} />}
    </PaneHead>
  );
}

function Do(props: {
  job: Job;
  cmd: "jobs.cancel" | "jobs.requeue";
  said: string;
  kind: string;
  children: string;
}) {
  const [sure, ask] = useState(props.kind !== "danger");
  return (
    <button
      type="button"
      className="button"
      data-kind={props.kind}
      onBlur={() => props.kind === "danger" && ask(false)}
      onClick={() => {
        if (!sure) return ask(true);
        act(props.cmd, props.job.id, props.said, { job: props.job.id }).catch(() => {});
      }}
    >
      {sure && props.kind === "danger" ? "Really cancel?" : props.children}
    </button>
  );
}

function Asked({ view }: { view: JobView }) {
  if (!view.prompt) return null;
  return (
    <details>
      <summary>Prompt</summary>
      <div className={styles.prompt}>
        <Text>{view.prompt}</Text>
      </div>
    </details>
  );
}

function Steer({ job, yours }: { job: Job; yours: boolean }) {
  const may = useMay();
  if (ENDED.includes(job.status) || !may("jobs.message") || !yours) return null;
  return (
    <Composer
      place={`answer.${job.id}`}
      label={`Answer ${job.id}`}
      send="Answer"
      onSend={(message) => act("jobs.message", job.id, "Answer sent", { job: job.id, message })}
    />
  );
}
