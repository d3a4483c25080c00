// The agents: each one's liveness with its evidence, its tasks and its reservations.
import { Fragment } from "react";
import { session } from "../../api/session";
import type { Agent, RadarRow, Reservation, Task } from "../../api/types";
import { Age, Badge, Empty, Left, Link, Ref, type Tone, Waiting } from "../../kit/parts";
import { useStore } from "../../kit/store";
import { age } from "../../kit/times";
import { useNow } from "../../live/clock";
import { type LogRow, useLog } from "../../live/log";
import { ofStreams, useRead } from "../../live/reads";
import { href } from "../../shell/router";
import { useRadar } from "../jobs/radar";
import { LIFE_WORDS, type Life, lastActs, liveness } from "./liveness";
import styles from "./now.module.css";

const TONES: Record<Life, Tone> = { active: "ok", quiet: "warn", stale: "warn", evicted: "bad" };
const ORDER: Life[] = ["quiet", "active", "stale", "evicted"];
const SIGNS_MS = 15_000;

export function Crew() {
  const { me } = useStore(session);
  const now = useNow();
  const acts = lastActs(useLog());
  const agents = useRead(
    "agents.list",
    { order: "seen", limit: 60 },
    { touches: ofStreams("crew"), every: SIGNS_MS },
  );
  const crew = useRead("agents.status", { limit: 100 }, { touches: ofStreams("crew") });
  const work = useRead(
    "tasks.context",
    { plans_limit: 0, tasks_limit: 200, tasks_status: "ACTIVE" },
    { touches: ofStreams("work") },
  );
  const radar = useRadar();
  const held = byAgent(crew.data?.reservations ?? [], (one) => one.agent_id);
  const tasks = byAgent(work.data?.tasks ?? [], (one) => one.assignee ?? "");
  const stale = me?.stale_minutes ?? 15;
  const rows = (agents.data?.agents ?? [])
    .filter((agent) => agent.kind === "agent")
    .map((agent) => {
      const mine = tasks.get(agent.agent_id) ?? [];
      const last = acts.get(agent.agent_id);
      return { agent, mine, last, how: liveness(agent, last, stale, now, mine.length > 0) };
    })
    .sort(
      (a, b) => ORDER.indexOf(a.how.life) - ORDER.indexOf(b.how.life) || b.how.seen - a.how.seen,
    );
  const running = (radar.data?.jobs ?? []).filter((job) => job.status === "RUNNING");
  const counted = ORDER.map(
    (life) => [life, rows.filter((row) => row.how.life === life).length] as const,
  );
  return (
    <section aria-labelledby="crew" className={styles.column}>
      <div className={styles.sectionHead}>
        <h2 id="crew">Agents</h2>
        <span className="row">
          {counted.map(
            ([life, count]) =>
              count > 0 && (
                <span key={life} className="soft small">
                  {count} {LIFE_WORDS[life].toLowerCase()}
                </span>
              ),
          )}
        </span>
      </div>
      {!agents.data && <Waiting error={agents.error} />}
      {agents.data && rows.length === 0 && (
        <Empty title="No agents yet.">
          Connect one with <code>longhouse init</code>, or register one by hand:{" "}
          <code>longhouse agent register --role ui</code>
        </Empty>
      )}
      {rows.length > 0 && (
        <ul className={`card ${styles.crew}`}>
          {rows.map(({ agent, mine, last, how }) => (
            <li key={agent.agent_id} data-stop>
              <AgentRow
                agent={agent}
                tasks={mine}
                last={last}
                life={how.life}
                seen={how.seen}
                held={held.get(agent.agent_id) ?? []}
                now={now}
              />
            </li>
          ))}
        </ul>
      )}
      {agents.data?.has_more && (
        <p className="soft small">Showing the most recently seen agents; there are more.</p>
      )}
      <Running jobs={running} />
    </section>
  );
}

function AgentRow(props: {
  agent: Agent;
  tasks: Task[];
  last: LogRow | undefined;
  life: Life;
  seen: number;
  held: Reservation[];
  now: number;
}) {
  const { agent, tasks, last, held, now } = props;
  const heartbeat = Date.parse(agent.last_seen_at);
  return (
    <details className={styles.agent}>
      <summary>
        <span className={styles.agentName}>
          <strong className="one-line">{agent.display_name}</strong>
          <span className="soft small">{agent.role}</span>
        </span>
        <Badge tone={TONES[props.life]} dot>
          {LIFE_WORDS[props.life]} · {age(now - props.seen)}
        </Badge>
        <span className={`small ${styles.doing}`}>
          {tasks[0] ? (
            <span className="clamp">
              <code className="ref">{tasks[0].id}</code> {tasks[0].title}
              {tasks.length > 1 && <span className="soft"> and {tasks.length - 1} more</span>}
            </span>
          ) : (
            <span className="soft">No task in progress</span>
          )}
          {held.length > 0 && (
            <span className="soft one-line">
              holds <code>{held[0]?.scope}</code>
              {held.length > 1 && ` and ${held.length - 1} more`}
            </span>
          )}
        </span>
      </summary>
      <dl className={`small ${styles.evidence}`}>
        <dt>Last seen</dt>
        <dd>
          <Age at={heartbeat} />
        </dd>
        <dt>Last action</dt>
        <dd>
          {last ? (
            <>
              {last.kind.replaceAll("_", " ").toLowerCase()} <Ref id={last.ref} />,{" "}
              <Age at={last.ts_ms} />
            </>
          ) : (
            "none in the recent log"
          )}
        </dd>
        {held.map((one) => (
          <Held key={one.reservation_id} held={one} />
        ))}
        {tasks.map((task) => (
          <Fragment key={task.id}>
            <dt>Working on</dt>
            <dd>
              <Ref id={task.id} />, <Link href={href(`/sessions/${task.id}`)}>conversation</Link>
            </dd>
          </Fragment>
        ))}
      </dl>
    </details>
  );
}

function Held({ held }: { held: Reservation }) {
  return (
    <>
      <dt>Holds</dt>
      <dd>
        <code>{held.scope}</code> for <Ref id={held.bead_id} />,{" "}
        <Left until={Date.parse(held.expires_at)} over="expired" />
      </dd>
    </>
  );
}

function Running({ jobs }: { jobs: RadarRow[] }) {
  if (jobs.length === 0) return null;
  return (
    <>
      <h2>Running jobs</h2>
      <ul className={`card ${styles.crew}`}>
        {jobs.slice(0, 12).map((job) => (
          <li key={job.id} data-stop className={styles.running}>
            <Link href={href(`/jobs/${job.id}`)} className="one-line">
              {job.title}
            </Link>
            <span className="soft small one-line">
              {job.runner} · {job.last?.kind.replaceAll("_", " ")} <Age at={job.updated_at_ms} />
            </span>
            {job.percent != null && (
              <progress
                max={100}
                value={job.percent}
                aria-label={`${job.title}: ${job.percent}%`}
              />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function byAgent<T>(all: readonly T[], who: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const list = found.get(who(one));
    if (list) list.push(one);
    else found.set(who(one), [one]);
  }
  return found;
}
