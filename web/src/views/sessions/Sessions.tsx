// The Sessions view: every work item with its owner, its state, and messages to read or accept.
import { useState } from "react";
import type { SessionCard } from "../../api/types";
import { Age, Badge, Empty, Link, type Tone, Waiting } from "../../kit/parts";
import { Rows } from "../../kit/Rows";
import { Split } from "../../kit/Split";
import { ofStreams, useRead } from "../../live/reads";
import { href, setParams, useRoute } from "../../shell/router";
import { Conversation } from "./Conversation";
import styles from "./sessions.module.css";

type SessionState = SessionCard["session_state"];

const STATES: Record<SessionState, [string, Tone]> = {
  needs_input: ["Needs input", "accent"],
  stuck: ["Stuck", "bad"],
  dead: ["Dead", "bad"],
  evicted: ["Evicted", "bad"],
  stale: ["Stale", "warn"],
  active: ["Active", "ok"],
  deciding: ["Deciding", "info"],
  completed: ["Completed", "plain"],
};
const ORDER = Object.keys(STATES) as SessionState[];
const STEP = 100;
const MOST = 500;

export default function Sessions() {
  const { parts, query } = useRoute();
  const item = parts[1];
  const all = query.get("all") === "yes";
  const [limit, setLimit] = useState(STEP);
  const { data, error } = useRead(
    "agents.sessions",
    { open_only: !all, limit },
    { touches: ofStreams("crew", "work"), every: 30_000 },
  );
  const cards = [...(data?.sessions ?? [])].sort(
    (a, b) =>
      ORDER.indexOf(a.session_state) - ORDER.indexOf(b.session_state) ||
      Date.parse(b.last_activity_at) - Date.parse(a.last_activity_at),
  );
  const waiting = cards.filter((card) => card.communication.pending_required).length;
  return (
    <Split
      label="All sessions"
      list={
        <>
          <header className={styles.head}>
            <h1>Sessions</h1>
            <label className="row small">
              <input
                type="checkbox"
                checked={all}
                onChange={(event) => setParams({ all: event.target.checked ? "yes" : null })}
              />
              Include completed
            </label>
          </header>
          {!data && <Waiting error={error} />}
          {data && (
            <p className="soft small">
              {cards.length} work {cards.length === 1 ? "item" : "items"}
              {waiting > 0 && ` · ${waiting} with messages to accept`}
              {data.groups.map((group) => (
                <span key={group.role}>
                  {" "}
                  · {group.role}: {group.agents.length} {group.health}
                </span>
              ))}
            </p>
          )}
          {data && cards.length === 0 && (
            <Empty title="No open work items.">
              Start one: <code>longhouse task start "Fix the flaky test"</code>
            </Empty>
          )}
          {cards.length > 0 && (
            <Rows label="Work items" items={cards} keyOf={(card) => card.id} height={86}>
              {(card) => <Card card={card} chosen={card.id === item} all={all} />}
            </Rows>
          )}
          {data?.has_more && limit < MOST && (
            <button type="button" className="button" onClick={() => setLimit(limit + STEP)}>
              Show more
            </button>
          )}
        </>
      }
      pane={
        item && (
          <Conversation
            key={item}
            id={item}
            card={cards.find((card) => card.id === item)}
            incursions={(data?.incursions ?? []).filter(
              (one) => one.bead_id === item && !data?.incursions_over?.includes(one.ref),
            )}
            back={href("/sessions", { all: all ? "yes" : null })}
          />
        )
      }
    />
  );
}

function Card({ card, chosen, all }: { card: SessionCard; chosen: boolean; all: boolean }) {
  const [words, tone] = STATES[card.session_state];
  const { unread_count: unread, pending_required: due, latest_snippet: said } = card.communication;
  return (
    <Link
      data-stop
      className="list-item"
      href={href(`/sessions/${encodeURIComponent(card.id)}`, { all: all ? "yes" : null })}
      aria-current={chosen ? "true" : undefined}
    >
      <span className="line">
        <strong className="one-line">{card.title}</strong>
        <Badge tone={tone} dot>
          {words}
        </Badge>
      </span>
      <span className="soft small one-line">
        <code className="ref">{card.id}</code> · {card.owner ?? "unassigned"} ·{" "}
        <Age at={Date.parse(card.last_activity_at)} />
      </span>
      <span className="small line">
        <span className="soft one-line">{said ?? card.epic.title}</span>
        <span className={styles.marks}>
          {unread > 0 && <Badge tone="info">{unread} unread</Badge>}
          {due && <Badge tone="accent">to accept</Badge>}
        </span>
      </span>
    </Link>
  );
}
