// The conversation about a work item: messages, actions, protocol events as rows of their own, and a
// box to write in.
import { useEffect, useRef, useState } from "react";
import { type Person, usePerson } from "../../api/person";
import { useMay } from "../../api/roles";
import type { Message, Moment, ProtocolEvent, SessionCard } from "../../api/types";
import { Composer } from "../../kit/Composer";
import { useDraft } from "../../kit/draft";
import { Badge, Link, Ref, Refused, Waiting } from "../../kit/parts";
import { Pane, PaneHead } from "../../kit/Split";
import { act, putAway, usePending } from "../../live/acts";
import { ofStreams, useRead } from "../../live/reads";
import { href, useRoute } from "../../shell/router";
import { AsPerson } from "./Reply";
import { Row } from "./Row";
import styles from "./sessions.module.css";

const STEP = 60;
const MOST = 480;

export function Conversation(props: {
  id: string;
  card: SessionCard | undefined;
  incursions: ProtocolEvent[];
  back: string;
}) {
  const { id, card } = props;
  const { query } = useRoute();
  const at = Number(query.get("at"));
  const [limit, setLimit] = useState(STEP);
  const read = useRead(
    "agents.conversation",
    { bead_id: id, limit },
    { touches: (row) => row.subject === id || row.stream === "crew" },
  );
  // The list has only open items; the title of a closed one is read from the item itself.
  const ended = useRead("open", card ? null : { id }, { touches: (row) => row.subject === id });
  const target = ended.data && "target" in ended.data ? ended.data.target : null;
  const pending = usePending(read.at);
  const sent = pending.get(id);
  const thread = read.data?.thread ?? [];
  return (
    <Pane label={`Conversation about ${id}`} back="All sessions" to={props.back}>
      <PaneHead>
        <div className="row">
          <Ref id={id} />
          {card?.owner && <span className="soft small">{card.owner}</span>}
          {props.incursions.length > 0 && (
            <Badge tone="warn">
              {props.incursions.length} reservation{" "}
              {props.incursions.length === 1 ? "conflict" : "conflicts"}
            </Badge>
          )}
        </div>
        <h2>{card?.title ?? target?.title ?? id}</h2>
      </PaneHead>
      {!read.data && <Waiting error={read.error} />}
      {read.data?.has_more && limit < MOST && (
        <button
          type="button"
          className="button"
          data-kind="quiet"
          onClick={() => setLimit(limit + STEP)}
        >
          Show earlier rows
        </button>
      )}
      <Thread moments={thread} at={at} acts={pending} />
      {sent?.state === "refused" && sent.error && (
        <Refused error={sent.error} onClose={() => putAway(sent.id)} />
      )}
      {sent && sent.state !== "refused" && (
        <p className={styles.sending} role="status">
          {sent.said}
        </p>
      )}
      <Write id={id} to={recipient(card, thread)} asked={thread} />
    </Pane>
  );
}

function Thread(props: { moments: Moment[]; at: number; acts: ReturnType<typeof usePending> }) {
  const end = useRef<HTMLOListElement>(null);
  const me = usePerson();
  const newest = props.moments.at(-1)?.seq;
  const subjects = new Map(
    props.moments.flatMap(({ message }) =>
      message ? [[message.message_id, message.subject] as const] : [],
    ),
  );
  useEffect(() => {
    const wanted = props.at
      ? end.current?.querySelector(`[data-seq="${props.at}"]`)
      : newest && end.current?.lastElementChild;
    if (wanted) wanted.scrollIntoView({ block: "nearest" });
  }, [newest, props.at]);
  return (
    // A scrollable area must be reachable by keyboard.
    <ol ref={end} className={styles.thread} aria-label="Messages and events" tabIndex={0}>
      {props.moments.map((moment) => (
        <Row
          key={moment.seq}
          moment={moment}
          marked={moment.seq === props.at}
          me={me}
          act={moment.message && props.acts.get(moment.message.message_id)}
          answers={subjects.get(String(moment.data?.message_id))}
        />
      ))}
    </ol>
  );
}

/** The default recipient of a message about this item: its owner, otherwise the last speaker. */
function recipient(card: SessionCard | undefined, thread: Moment[]): string | null {
  const spoke = thread.findLast((moment) => moment.message)?.message as Message | undefined;
  return card?.owner ?? spoke?.from_agent ?? card?.last_actor ?? null;
}

/** The newest request of an agent in this conversation that nobody has settled. */
function openRequest(thread: Moment[], from: string): string | undefined {
  return thread.findLast(
    ({ message }) =>
      message?.from_agent === from &&
      message.category === "BLOCKED" &&
      message.state !== "acked" &&
      !message.answered_by,
  )?.message?.message_id;
}

function Write({ id, to, asked }: { id: string; to: string | null; asked: Moment[] }) {
  const may = useMay();
  const addressed = useDraft(`session.${id}.to`);
  const chosen = addressed.text || null;
  const choose = addressed.set;
  const agents = useRead(
    "agents.list",
    { order: "seen", limit: 60 },
    { touches: ofStreams("crew"), every: 15_000 },
  ).data?.agents;
  if (!may("agents.send")) return null;
  const send = (me: Person, body: string, target: string) => {
    const [first = ""] = body.split("\n");
    const answers = openRequest(asked, target);
    return act("agents.send", id, "Sent", {
      agent: me.name,
      agent_token: me.token,
      to: target,
      bead_id: id,
      subject: first.slice(0, 120),
      body,
      ...(answers && { answers }),
    });
  };
  return (
    <AsPerson>
      {(me) => {
        const others = (agents ?? []).map((one) => one.agent_id).filter((name) => name !== me.name);
        if (others.length === 0) {
          return (
            <p className="soft small">
              There is no agent to write to. See <Link href={href("/")}>the agents</Link>.
            </p>
          );
        }
        const choices = [
          ...new Set([...(to && to !== me.name ? [to] : []), ...others, "broadcast"]),
        ];
        const target = chosen ?? choices[0] ?? "broadcast";
        return (
          <div className={styles.write}>
            <label className="row small soft">
              To
              <select
                className="field"
                value={target}
                onChange={(event) => choose(event.target.value)}
              >
                {choices.map((name) => (
                  <option key={name} value={name}>
                    {name === "broadcast" ? "everyone" : name}
                  </option>
                ))}
              </select>
            </label>
            <Composer
              place={`session.${id}`}
              label={`Write about ${id}`}
              send="Send"
              onSend={(body) => {
                if (!chosen) choose(target);
                return send(me, body, target);
              }}
            />
          </div>
        );
      }}
    </AsPerson>
  );
}
