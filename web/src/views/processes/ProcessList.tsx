// The list of processes, newest first, filtered by state and by text.
import { useId, useState } from "react";
import type { TaskView } from "../../api/types";
import { Choice } from "../../kit/Choice";
import { Age, Badge, Empty, Link, Waiting } from "../../kit/parts";
import { Rows } from "../../kit/Rows";
import type { LogRow } from "../../live/log";
import { useRead } from "../../live/reads";
import { href, setParams, useRoute } from "../../shell/router";
import { STREAM_OF } from "./frames";
import styles from "./processes.module.css";
import { commandOf, isOver, STATUS, type Status, stateOf, titleOf } from "./words";

const FILTERS: [string, string][] = [
  ["", "All"],
  ["active", "Active"],
  ["exited", "Exited"],
  ["failed", "Failed"],
  ["cancelled", "Canceled"],
];
const STEP = 50;
const MOST = 500;
const ROW_PX = 84;

/** Whether a row changes a process, other than by its output. */
export function touchesProcess(row: LogRow): boolean {
  const moved = row.stream === "tool_ops" && (row.kind === "held" || row.kind === "released");
  return moved || (row.stream === "processes" && !(row.kind in STREAM_OF));
}

export function ProcessList({ chosen }: { chosen: string | undefined }) {
  const { query } = useRoute();
  const [limit, setLimit] = useState(STEP);
  const asked = query.get("status") ?? "";
  const status = asked === "active" || asked in STATUS ? (asked as Status | "active") : null;
  const word = (query.get("find") ?? "").trim().toLowerCase();
  const { data, error } = useRead(
    "tool.task_list",
    { status, limit },
    { touches: touchesProcess, every: 30_000 },
  );
  const found = data?.tasks.filter((task) => !word || said(task).includes(word)) ?? [];
  return (
    <>
      <Filters status={status ?? ""} word={query.get("find") ?? ""} />
      {!data && <Waiting error={error} />}
      {data && found.length === 0 && <Nothing filtered={Boolean(status || word)} />}
      {found.length > 0 && (
        <Rows label="Processes" items={found} keyOf={(task) => task.task_id} height={ROW_PX}>
          {(task) => <Item task={task} chosen={task.task_id === chosen} />}
        </Rows>
      )}
      {data?.has_more && limit < MOST && (
        <button type="button" className="button" onClick={() => setLimit(limit + STEP)}>
          Show more
        </button>
      )}
    </>
  );
}

function said(task: TaskView): string {
  return [
    commandOf(task),
    task.task_id,
    task.name,
    task.title,
    task.agent_id,
    task.job,
    ...task.ports,
  ]
    .join(" ")
    .toLowerCase();
}

function Filters({ status, word }: { status: string; word: string }) {
  const id = useId();
  return (
    <search className={styles.filters} aria-label="Filter processes">
      <Choice
        label="State"
        all={FILTERS}
        chosen={status}
        onChoose={(value) => setParams({ status: value || null })}
      />
      <label className="hidden-label" htmlFor={id}>
        Filter by name, command, owner, job or port
      </label>
      <input
        id={id}
        type="search"
        className="field"
        placeholder="Name, command, owner…"
        value={word}
        onChange={(event) => setParams({ find: event.target.value || null })}
      />
    </search>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No matching processes.">Clear a filter.</Empty>;
  return (
    <Empty title="No background processes yet.">
      Start one: <code>longhouse run -d --name dev -- npm run dev</code>. If the policy does not
      allow it, the error says how to change that.
    </Empty>
  );
}

function Item({ task, chosen }: { task: TaskView; chosen: boolean }) {
  const { query } = useRoute();
  const [words, tone] = stateOf(task);
  const title = titleOf(task);
  const command = commandOf(task);
  const kept = { status: query.get("status"), find: query.get("find") };
  return (
    <Link
      data-stop
      className="list-item"
      href={href(`/processes/${task.task_id}`, kept)}
      aria-current={chosen ? "true" : undefined}
    >
      <span className="line">
        <strong className="one-line">{title}</strong>
        <Badge tone={tone} dot={!isOver(task) && tone === "ok"}>
          {words}
        </Badge>
      </span>
      <code className={`one-line ${styles.command}`}>{command}</code>
      <span className="soft small one-line">
        <code className="ref">{task.task_id}</code> · {isOver(task) ? "ended " : "for "}
        <Age
          at={task.ended_at_ms ?? task.started_at_ms ?? task.created_at_ms}
          after={isOver(task) ? " ago" : ""}
        />
        {task.agent_id && ` · ${task.agent_id}`}
        {task.job && ` · ${task.job}`}
        {task.ports.length > 0 && !isOver(task) && ` · port ${task.ports.join(", ")}`}
      </span>
    </Link>
  );
}
