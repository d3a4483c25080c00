// One item that needs the user, with the controls to settle it.
import { useState } from "react";
import { usePerson } from "../../api/person";
import { useMay } from "../../api/roles";
import { Composer } from "../../kit/Composer";
import { Age, Badge, Incursion, Link, Ref, Refused, Text, type Tone } from "../../kit/parts";
import { refsIn } from "../../kit/refs";
import { sentence } from "../../kit/words";
import { type Act, act, putAway as forgetAct } from "../../live/acts";
import { href } from "../../shell/router";
import { Reply } from "../sessions/Reply";
import styles from "./now.module.css";
import type { Need } from "./ranking";

const WORDS: Record<Need["kind"], [string, Tone]> = {
  question: ["Question", "accent"],
  blocked: ["Needs input", "accent"],
  message: ["Passed to you", "info"],
  changes: ["Changes not applied", "warn"],
  proof: ["Proof missing", "warn"],
  error: ["Error", "bad"],
  failed: ["Failed", "bad"],
  held: ["Held", "warn"],
  incursion: ["Reservation conflict", "warn"],
  lapsed: ["Runner silent", "warn"],
};

export function NeedCard({ need, act: done }: { need: Need; act: Act | undefined }) {
  const [gone, setGone] = useState(false);
  const [words, tone] = WORDS[need.kind];
  if (gone) return null;
  if (done && done.state !== "refused") {
    return (
      <p className={`card ${styles.settled}`} data-state={done.state} role="status">
        {done.said}
      </p>
    );
  }
  const away = () => {
    setGone(true);
    const args = { needs: [need.id] };
    const back = () => {
      setGone(false);
      return act("agents.dismiss", need.id, "Brought back", { ...args, back: true });
    };
    act("agents.dismiss", need.id, "Dismissed", args, back).catch(() => setGone(false));
  };
  return (
    <article className={`card ${styles.need}`} data-kind={need.kind}>
      <div className={styles.needHead}>
        <Badge tone={tone}>{words}</Badge>
        {need.frees > 0 && (
          <strong className="small">
            unblocks {need.frees} {need.frees === 1 ? "job" : "jobs"}
          </strong>
        )}
        <span className="soft small">
          <Age at={need.since} />
        </span>
      </div>
      {done?.error && <Refused error={done.error} onClose={() => forgetAct(done.id)} />}
      {need.kind === "changes" && <ChangesNeed need={need} />}
      {"job" in need && need.kind !== "changes" && <JobNeed need={need} away={away} />}
      {"message" in need && <MessageNeed need={need} away={away} />}
      {need.kind === "incursion" && <IncursionNeed need={need} away={away} />}
    </article>
  );
}

type OfJob = Exclude<Extract<Need, { job: unknown }>, { kind: "changes" }>;

/** A finished job whose patch did not apply. A command applies it on the machine that has the files;
 * the page only records the outcome. */
function ChangesNeed({ need }: { need: Extract<Need, { kind: "changes" }> }) {
  const may = useMay();
  const [sure, ask] = useState(false);
  const { job, waits } = need;
  const settle = (outcome: "applied" | "dropped", said: string) =>
    void act("jobs.apply", job.id, said, { job: job.id, outcome }).catch(shown);
  return (
    <>
      <h3 className={styles.title}>
        <Link href={href(`/jobs/${job.id}`)}>{job.title}</Link> <Ref id={job.id} />
      </h3>
      <p>{waits.why}</p>
      <p className="small">
        <span className="soft">Apply them on the machine that has the files:</span>{" "}
        <code>{waits.apply}</code>
      </p>
      {may("jobs.apply") && (
        <div className="row">
          <button
            type="button"
            className="button"
            data-kind="main"
            onClick={() => settle("applied", "Recorded as applied")}
          >
            I applied them
          </button>
          <button
            type="button"
            className="button"
            data-kind="danger"
            onBlur={() => ask(false)}
            onClick={() => (sure ? settle("dropped", "Dropped") : ask(true))}
          >
            {sure ? "Really drop them?" : "Drop them"}
          </button>
        </div>
      )}
    </>
  );
}

function JobNeed({ need, away }: { need: OfJob; away: () => void }) {
  const may = useMay();
  const { job } = need;
  const text = need.kind === "question" ? need.asked.text : job.last?.message;
  const answers = need.kind === "question" || need.kind === "proof" || need.kind === "error";
  const answer = (message: string, refs: string[] = []) =>
    act("jobs.message", job.id, need.kind === "proof" ? "Proof sent" : "Answer sent", {
      job: job.id,
      message,
      refs,
    });
  return (
    <>
      <h3 className={styles.title}>
        <Link href={href(`/jobs/${job.id}`)}>{job.title}</Link> <Ref id={job.id} />
      </h3>
      {text && <Text>{text}</Text>}
      {job.runner && (
        <p className="soft small">
          {need.kind === "question" ? "Asked" : "Run"} by {job.runner}
          {job.task_id && (
            <>
              {" "}
              for <Ref id={job.task_id} />
            </>
          )}
        </p>
      )}
      {answers && may("jobs.message") && job.yours !== false && (
        <Composer
          place={`answer.${job.id}`}
          label={need.kind === "proof" ? "Proof: a ref or a note" : `Answer ${job.id}`}
          send="Answer"
          onSend={(message) => answer(message, need.kind === "proof" ? pointersIn(message) : [])}
        />
      )}
      <div className="row">
        {need.kind === "held" && may("jobs.requeue") && (
          <button
            type="button"
            className="button"
            data-kind="main"
            onClick={() =>
              void act("jobs.requeue", job.id, "Released", { job: job.id }).catch(shown)
            }
          >
            Release
          </button>
        )}
        {need.kind === "failed" && may("jobs.requeue") && (
          <button
            type="button"
            className="button"
            data-kind="main"
            onClick={() =>
              void act("jobs.requeue", job.id, "Requeued", { job: job.id }).catch(shown)
            }
          >
            Requeue
          </button>
        )}
        {need.kind !== "failed" &&
          need.kind !== "question" &&
          may("jobs.cancel") &&
          job.yours !== false && (
            <button
              type="button"
              className="button"
              data-kind="danger"
              onClick={() =>
                void act("jobs.cancel", job.id, "Canceled", { job: job.id }).catch(shown)
              }
            >
              Cancel job
            </button>
          )}
        {(need.kind === "failed" || need.kind === "lapsed") && <Away onClick={away}>Dismiss</Away>}
      </div>
    </>
  );
}

function MessageNeed(props: { need: Extract<Need, { message: unknown }>; away: () => void }) {
  const may = useMay();
  const me = usePerson();
  const { message } = props.need;
  const mine = message.to_agent === me?.name;
  const mark = (cmd: "agents.read" | "agents.ack", said: string) => {
    if (!me) return;
    const args = { agent: me.name, agent_token: me.token, message: message.message_id };
    void act(cmd, message.message_id, said, args).catch(shown);
  };
  return (
    <>
      <h3 className={styles.title}>
        <Link href={href(`/sessions/${message.bead_id}`)}>{message.subject}</Link>
      </h3>
      <p className="soft small">
        {message.from_agent} to {mine ? "you" : message.to_agent}, about{" "}
        <Ref id={message.bead_id} />
      </p>
      <Text>{message.body}</Text>
      {may("agents.send") && <Reply message={message} />}
      <div className="row">
        {mine && message.state === "unread" && may("agents.read") && (
          <button type="button" className="button" onClick={() => mark("agents.read", "Seen")}>
            Seen
          </button>
        )}
        {mine && may("agents.ack") && (
          <button
            type="button"
            className="button"
            data-kind="main"
            onClick={() => mark("agents.ack", "Accepted")}
          >
            Accepted
          </button>
        )}
        {!mine && <Away onClick={props.away}>Dismiss</Away>}
      </div>
    </>
  );
}

function IncursionNeed(props: { need: Extract<Need, { event: unknown }>; away: () => void }) {
  const { event } = props.need;
  const { resolution_hint } = event.payload as { resolution_hint?: string };
  return (
    <>
      <h3 className={styles.title}>
        <Incursion event={event} />
      </h3>
      {resolution_hint && <Text>{sentence(resolution_hint)}</Text>}
      <div className="row">
        {event.bead_id && (
          <Link className="button" href={href(`/sessions/${event.bead_id}`)}>
            Open the conversation
          </Link>
        )}
        <Away onClick={props.away}>Seen</Away>
      </div>
    </>
  );
}

/** Hides the item from this person's list, on all their devices; others still see it. */
function Away(props: { onClick: () => void; children: string }) {
  const may = useMay();
  if (!may("agents.dismiss")) return null;
  return (
    <button type="button" className="button" onClick={props.onClick}>
      {props.children}
    </button>
  );
}

/** The card itself shows the error. */
function shown(): void {}

/** What an answer points to: the refs and receipts in it. */
function pointersIn(text: string): string[] {
  return [...refsIn(text), ...(text.match(/\b(?:CMD|LINK|FILE): \S.*$/gm) ?? [])];
}
