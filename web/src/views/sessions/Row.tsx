// One row of a conversation: a protocol event, a message or an action.
import type { Person } from "../../api/person";
import { useMay } from "../../api/roles";
import type { Message, Moment, ProtocolEvent } from "../../api/types";
import { Age, Badge, Incursion, Link, Ref, Text, type Tone } from "../../kit/parts";
import { actWords, changeWords, sentence, stepWords } from "../../kit/words";
import { type Act, act } from "../../live/acts";
import { href, route } from "../../shell/router";
import styles from "./sessions.module.css";

const TONES: Record<string, Tone> = {
  HANDOFF: "info",
  BLOCKED: "accent",
  DECISION: "info",
  INCURSION: "warn",
  RESUME: "info",
  changed_outside: "warn",
  accepted: "ok",
  answered: "ok",
  seen: "plain",
};
/** Actions that are labeled like protocol events. */
const LABELLED = new Set(["accepted", "answered", "seen", "changed_outside"]);

export function Row(props: {
  moment: Moment;
  marked: boolean;
  me: Person | null;
  act: Act | null | undefined;
  /** The subject of the message that this row accepts or marks as seen. */
  answers: string | undefined;
}) {
  const { moment, me } = props;
  const { message } = moment;
  const quiet = moment.type === "activity" && !LABELLED.has(moment.kind);
  return (
    <li
      data-stop
      data-seq={moment.seq}
      data-type={moment.type}
      data-marked={props.marked || undefined}
      data-mine={(me && moment.actor === me.name) || undefined}
      className={styles.moment}
    >
      <p className={`small ${styles.momentHead}`}>
        {quiet ? (
          <span>{actWords(moment.kind)}</span>
        ) : (
          <Badge tone={TONES[moment.kind] ?? "plain"}>
            {moment.label}
            {moment.kind === "INCURSION" && ` with ${moment.event?.to_agent}`}
          </Badge>
        )}
        <span className="soft">
          {moment.actor && `${moment.actor}${message ? ` to ${message.to_agent}` : ""} · `}{" "}
          <Link className={styles.when} href={placeOfRow(moment.seq)}>
            <Age at={Date.parse(moment.timestamp)} />
            <span className="hidden-label">: link to this row</span>
          </Link>
        </span>
        {message && <State message={message} />}
        {props.answers && <span>{props.answers}</span>}
        {moment.type === "activity" && <Detail moment={moment} />}
      </p>
      {message && (
        <>
          <p>
            <strong>{message.subject}</strong>
          </p>
          {message.body !== message.subject && <Text>{message.body}</Text>}
        </>
      )}
      {moment.event && !message && <Protocol event={moment.event} />}
      {message && me && message.to_agent === me.name && (
        <Marks message={message} me={me} act={props.act} />
      )}
    </li>
  );
}

/** The address of one row of the conversation. */
function placeOfRow(seq: number): string {
  const { path, query } = route();
  return href(path, { ...Object.fromEntries(query.entries()), at: String(seq) });
}

/** What an action was about, if its record says so. */
function Detail({ moment }: { moment: Moment }) {
  const data = (moment.data ?? {}) as {
    scope?: string;
    path?: string;
    files?: { path: string }[];
    payload?: {
      job?: string;
      note?: string;
      assignee?: string;
      status?: string;
      [name: string]: unknown;
    };
  };
  const { job, note, assignee, status } = data.payload ?? {};
  if (data.scope) return <code>{data.scope}</code>;
  if (data.files) return <code>{data.files.map((file) => file.path).join(", ")}</code>;
  if (job) {
    return (
      <span className={styles.detail}>
        <Ref id={job} /> {note}
      </span>
    );
  }
  const changed = changeWords(data.payload);
  if (changed) return <span>{changed}</span>;
  if (assignee) return <span>assigned to {assignee}</span>;
  if (status) return <span>{status.toLowerCase()}</span>;
  return data.path ? <span>{stepWords(data.path)}</span> : null;
}

function State({ message }: { message: Message }) {
  if (message.state === "acked") return <Badge tone="ok">Accepted</Badge>;
  if (message.answered_by) return <Badge tone="ok">Answered by {message.answered_by}</Badge>;
  if (message.state === "read") return <span className="soft">Seen</span>;
  return message.requires_ack ? <span className="soft">not accepted yet</span> : null;
}

function Marks(props: { message: Message; me: Person; act: Act | null | undefined }) {
  const may = useMay();
  const { message, me } = props;
  if (message.state === "acked" || !may("agents.ack")) return null;
  if (props.act && props.act.state !== "refused")
    return <p className="small soft">{props.act.said}</p>;
  const mark = (cmd: "agents.read" | "agents.ack", said: string) => {
    const args = { agent: me.name, agent_token: me.token, message: message.message_id };
    act(cmd, message.message_id, said, args).catch(() => {});
  };
  return (
    <div className="row">
      {message.state === "unread" && (
        <button type="button" className="button" onClick={() => mark("agents.read", "Seen")}>
          Seen
        </button>
      )}
      {message.requires_ack && (
        <button
          type="button"
          className="button"
          data-kind="main"
          onClick={() => mark("agents.ack", "Accepted")}
        >
          Accepted
        </button>
      )}
    </div>
  );
}

/** An event's payload as a sentence. */
function Protocol({ event }: { event: ProtocolEvent }) {
  const said = event.payload as Record<string, string | undefined>;
  if (event.event_type === "INCURSION") {
    return (
      <p>
        <Incursion event={event} />.{" "}
        {said.incursion_kind === "exact" ? "Both scopes are the same" : "The scopes overlap"}, and
        the holder is {(said.owner_liveness ?? "").toLowerCase()}.{" "}
        <span className="soft">{sentence(said.resolution_hint ?? "")}.</span>
      </p>
    );
  }
  if (event.event_type === "RESUME") {
    return (
      <p>
        {said.adopted_agent} continues as {said.prior_session_agent}.{" "}
        <span className="soft">{said.evidence}</span>
      </p>
    );
  }
  return <Text>{said.summary ?? said.blocker ?? said.snippet ?? said.subject ?? ""}</Text>;
}
