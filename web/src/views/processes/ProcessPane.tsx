// One process: its command, state, controls, and its output or terminal.
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useMay } from "../../api/roles";
import type { TaskView } from "../../api/types";
import { Age, Badge, Ref, Refused, Waiting } from "../../kit/parts";
import { Pane, PaneHead } from "../../kit/Split";
import { age } from "../../kit/times";
import { act, putAway, usePending } from "../../live/acts";
import { useRead } from "../../live/reads";
import { go, href, useRoute } from "../../shell/router";
import { Decision } from "./Decision";
import { Output } from "./Output";
import { touchesProcess } from "./ProcessList";
import styles from "./processes.module.css";
import { bytes, commandOf, isOver, stateOf, titleOf } from "./words";

const Terminal = lazy(() => import("./Terminal"));
const SIGNALS: [string, string][] = [
  ["INT", "Interrupt (INT)"],
  ["TERM", "Terminate (TERM)"],
  ["HUP", "Hang up (HUP)"],
  ["QUIT", "Quit (QUIT)"],
  ["KILL", "Kill (KILL)"],
  ["STOP", "Pause (STOP)"],
  ["CONT", "Continue (CONT)"],
];

export function ProcessPane({ id }: { id: string }) {
  const { query } = useRoute();
  const read = useRead(
    "tool.task_status",
    { task_id: id },
    { touches: (row) => row.subject === id && touchesProcess(row), every: 20_000 },
  );
  const done = usePending(read.at).get(id);
  const task = read.data?.task;
  const back = href("/processes", { status: query.get("status"), find: query.get("find") });
  return (
    <Pane label={`Process ${id}`} back="All processes" to={back}>
      {!task && <Waiting error={read.error} />}
      {task && (
        <>
          <Head task={task} />
          {done?.state === "refused" && done.error && (
            <Refused error={done.error} onClose={() => putAway(done.id)} />
          )}
          {done && done.state !== "refused" && (
            <p className={styles.settled} role="status">
              {done.said}
            </p>
          )}
          {task.error && <Decision task={task} />}
          {task.execution_mode === "pty" ? (
            <Suspense fallback={<Waiting error={undefined} />}>
              <Terminal task={task} />
            </Suspense>
          ) : (
            <Output task={task} />
          )}
        </>
      )}
    </Pane>
  );
}

function Head({ task }: { task: TaskView }) {
  const [words, tone] = stateOf(task);
  const command = commandOf(task);
  return (
    <PaneHead>
      <div className="row">
        <Badge tone={tone} dot={!isOver(task) && tone === "ok"}>
          {words}
        </Badge>
        <code className="ref soft">{task.task_id}</code>
        {task.name && task.title && <span className="small soft">{task.name}</span>}
      </div>
      <h2>{titleOf(task)}</h2>
      {titleOf(task) !== command && <code className={styles.line}>{command}</code>}
      <Facts task={task} />
      <Acts task={task} />
    </PaneHead>
  );
}

function Facts({ task }: { task: TaskView }) {
  const since = task.started_at_ms ?? task.created_at_ms;
  const took = (task.ended_at_ms ?? 0) - since;
  const logs = (task.artifacts.logs ?? {}) as Record<string, { bytes: number }>;
  const printed = Object.values(logs).reduce((sum, one) => sum + one.bytes, 0);
  const facts: [string, ReactNode][] = [
    ["Started by", task.agent_id ?? "unknown"],
    isOver(task)
      ? ["Took", age(took)]
      : [
          task.status === "queued" ? "Waiting for" : "Running for",
          <Age key="age" at={since} after="" />,
        ],
    ["Output", bytes(printed)],
  ];
  if (task.queue_position) facts.push(["Queue position", task.queue_position]);
  if (task.job) facts.push(["Job", <Ref key="job" id={task.job} />]);
  if (task.step) facts.push(["Step", task.step]);
  if (task.ports.length > 0) facts.push(["Listens on", `port ${task.ports.join(", ")}`]);
  if (task.pid && !isOver(task)) facts.push(["PID", task.pid]);
  if (task.cwd) facts.push(["Directory", <code key="cwd">{task.cwd}</code>]);
  if (task.lifetime === "job") facts.push(["Ends", "with its job"]);
  if (task.cancel_reason) facts.push(["Stop reason", task.cancel_reason]);
  if (task.leftovers.length > 0) facts.push(["Left behind", `${task.leftovers.length} processes`]);
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Acts({ task }: { task: TaskView }) {
  const may = useMay();
  const [sure, ask] = useState(false);
  const id = task.task_id;
  if (isOver(task)) {
    const again = async () => {
      const { tool, args, title, execution_mode, job, step, name, lifetime } = task;
      const asked = { tool, args, title, execution_mode, job, step, name, lifetime };
      const made = await act("tool.task_spawn", id, "Started again", asked);
      go(href(`/processes/${made.task_id}`));
    };
    return may("tool.task_spawn") ? (
      <div className="row">
        <button type="button" className="button" onClick={() => again().catch(() => {})}>
          Start again
        </button>
      </div>
    ) : null;
  }
  if (!task.yours) return null;
  return (
    <div className="row">
      {task.held && may("tool.task_release") && (
        <button
          type="button"
          className="button"
          data-kind="main"
          onClick={() => {
            act("tool.task_release", id, "Released", { task_id: id }).catch(() => {});
          }}
        >
          Release
        </button>
      )}
      {may("tool.task_cancel") && !task.cancel_reason && (
        <button
          type="button"
          className="button"
          data-kind="danger"
          onBlur={() => ask(false)}
          onClick={() => {
            if (!sure) return ask(true);
            const reason = "stopped from the web page";
            act("tool.task_cancel", id, "Stopping", { task_id: id, reason }).catch(() => {});
          }}
        >
          {sure ? "Really stop?" : "Stop process"}
        </button>
      )}
      {may("tool.task_signal") && task.execution_mode === "pty" && task.status === "running" && (
        <select
          className={`field ${styles.signal}`}
          aria-label="Send a signal"
          value=""
          onChange={({ target: { value: signal } }) => {
            act("tool.task_signal", id, `${signal} sent`, { task_id: id, signal }).catch(() => {});
          }}
        >
          <option value="" disabled>
            Send a signal…
          </option>
          {SIGNALS.map(([signal, words]) => (
            <option key={signal} value={signal}>
              {words}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
