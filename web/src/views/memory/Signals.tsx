// The engine's signals, each with the cards it is about and the actions that resolve it.
import { useState } from "react";
import type { Cmd } from "../../api/calls";
import { useMay } from "../../api/roles";
import type { EngineAction, Signal } from "../../api/types";
import { useDraft } from "../../kit/draft";
import { Badge, Link, Refused, type Tone } from "../../kit/parts";
import { sentence } from "../../kit/words";
import { act, putAway, usePending } from "../../live/acts";
import { ofStreams, useRead } from "../../live/reads";
import { href, useRoute } from "../../shell/router";
import styles from "./memory.module.css";

const TONES: Record<Signal["severity"], Tone> = {
  critical: "bad",
  high: "bad",
  warning: "warn",
  info: "info",
};
const MOST = 20;
const EVIDENCE = "CMD: the command you ran\nLINK: where its output is\nSaw: what it showed";
/** Read-only calls; the page shows their content anyway. */
const READS = new Set(["think.playbook", "system.cmd.list"]);

export function Signals({ branch, doc }: { branch: string; doc: string }) {
  const read = useRead(
    "think.watch",
    {
      branch,
      graph_doc: doc,
      all_lanes: true,
      engine_signals_limit: MOST,
      engine_actions_limit: 2 * MOST,
    },
    { touches: ofStreams("memory", "thinking", "work") },
  );
  const pending = usePending(read.at);
  const engine = read.data?.engine;
  if (!engine || engine.signals.length === 0) return null;
  return (
    <section aria-labelledby="signals" className={styles.main}>
      <h2 id="signals">Open signals</h2>
      <ul className={`card ${styles.list}`} aria-label="Signals">
        {engine.signals.map((signal) => (
          <li key={`${signal.code} ${signal.message}`} data-stop>
            <div className={styles.line}>
              <span>{sentence(signal.message)}</span>
              <Badge tone={TONES[signal.severity]}>{signal.severity}</Badge>
            </div>
            <About signal={signal} />
            {engine.actions
              .filter((action) => isFor(action, signal))
              .map((action) => (
                <Offer
                  key={`${action.kind} ${action.title}`}
                  action={action}
                  done={pending.get(subjectOf(action))}
                />
              ))}
          </li>
        ))}
      </ul>
      {engine.truncated && <p className="soft small">Showing the most urgent; there are more.</p>}
    </section>
  );
}

/** Whether an action resolves a signal: both are about the same cards. */
function isFor(action: EngineAction, signal: Signal): boolean {
  const ids = (refs: EngineAction["refs"]) => refs?.map((ref) => ref.id).join(" ");
  return ids(action.refs) === ids(signal.refs);
}

function subjectOf(action: EngineAction): string {
  return [action.kind, ...(action.refs ?? []).map((ref) => ref.id)].join(" ");
}

function About({ signal }: { signal: Signal }) {
  const { query } = useRoute();
  const kept = Object.fromEntries(query.entries());
  return (
    <p className="small row">
      <span className="soft">about</span>
      {signal.refs?.map((ref) => (
        <Link key={ref.id} className="ref" href={href("/memory", { ...kept, card: ref.id })}>
          {ref.id}
        </Link>
      ))}
    </p>
  );
}

interface Call {
  cmd: Cmd;
  args: { [name: string]: unknown };
}

/** An action's calls that change something, with their arguments. */
function callsOf(action: EngineAction): Call[] {
  return (action.calls ?? [])
    .map((one) => one.args as { cmd?: string; args?: Call["args"] } | undefined)
    .filter((one) => one?.cmd && !READS.has(one.cmd))
    .map((one) => ({ cmd: one?.cmd as Cmd, args: one?.args ?? {} }));
}

function Offer(props: {
  action: EngineAction;
  done: ReturnType<ReturnType<typeof usePending>["get"]>;
}) {
  const { action, done } = props;
  const may = useMay();
  const [writing, write] = useState(false);
  const calls = callsOf(action);
  const lacks = (action.calls ?? []).flatMap((call) => (call.missing as string[]) ?? []);
  if (
    calls.length === 0 ||
    !calls.every((call) => may(call.cmd)) ||
    lacks.some((name) => name !== "card.text") // only the text can be written here
  ) {
    return <p className="small soft">{action.title}</p>;
  }
  const send = async (text: string | null) => {
    for (const { cmd, args } of calls) {
      const given = text === null ? args : { ...args, card: { ...cardOf(args), text } };
      await act(cmd, subjectOf(action), `${action.title}: done`, given as never);
    }
  };
  const asked = lacks.length > 0;
  const kind = calls.map((call) => cardOf(call.args)?.type).find(Boolean);
  return (
    <>
      {done?.state === "refused" && done.error && (
        <Refused error={done.error} onClose={() => putAway(done.id)} />
      )}
      {done && done.state !== "refused" ? (
        <p className="small" role="status">
          {done.state === "sending" ? `${action.title}: saving…` : done.said}
        </p>
      ) : writing ? (
        <Fill
          place={`signal.${subjectOf(action)}`}
          example={kind === "evidence" ? EVIDENCE : ""}
          title={action.title}
          send={send}
        />
      ) : (
        <p className="row">
          <button
            type="button"
            className="button"
            onClick={() => (asked ? write(true) : void send(null).catch(() => {}))}
          >
            {action.title}
          </button>
          {action.why && <span className="small soft">{action.why}</span>}
        </p>
      )}
    </>
  );
}

function cardOf(args: Call["args"]): { type?: string } | undefined {
  return args.card as { type?: string } | undefined;
}

/** What only the user can say. */
function Fill(props: {
  place: string;
  example: string;
  title: string;
  send: (text: string) => Promise<void>;
}) {
  const draft = useDraft(props.place);
  const [text, write] = useState(draft.text);
  return (
    <form
      className={styles.main}
      onSubmit={(event) => {
        event.preventDefault();
        props
          .send(text)
          .then(draft.clear)
          .catch(() => {});
      }}
    >
      <textarea
        className="field"
        aria-label={props.title}
        rows={4}
        placeholder={props.example}
        value={text}
        onChange={(event) => {
          write(event.target.value);
          draft.set(event.target.value);
        }}
      />
      <p className="row">
        <button type="submit" className="button" data-kind="main" disabled={!text.trim()}>
          Save
        </button>
      </p>
    </form>
  );
}
