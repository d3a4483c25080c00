// The Work view: plans with their tasks, a board by status, ready tasks, and tasks without proof.
import type { Plan, Task } from "../../api/types";
import { Choice } from "../../kit/Choice";
import { Age, Badge, Empty, Link, Ref, type Tone, Waiting } from "../../kit/parts";
import { Rows } from "../../kit/Rows";
import { Split } from "../../kit/Split";
import { ofStreams, useRead } from "../../live/reads";
import { href, setParams, useRoute } from "../../shell/router";
import { PlanPane } from "./PlanPane";
import { TaskPane } from "./TaskPane";
import styles from "./work.module.css";

export const STATES: Record<Task["status"], [string, Tone]> = {
  TODO: ["To do", "plain"],
  ACTIVE: ["Active", "info"],
  PARKED: ["Parked", "warn"],
  DONE: ["Done", "ok"],
  CANCELED: ["Canceled", "plain"],
};
const SHOWN = [
  ["", "Plans"],
  ["board", "Board"],
  ["ready", "Ready"],
  ["unproved", "Done without proof"],
] as const;
const touches = ofStreams("work");

export default function Work() {
  const { parts, query } = useRoute();
  const id = parts[1];
  const shown = query.get("show") ?? "";
  return (
    <Split
      label="All work"
      list={
        <>
          <h1>Work</h1>
          <Choice
            label="Show"
            all={SHOWN}
            chosen={shown as (typeof SHOWN)[number][0]}
            onChoose={(value) => setParams({ show: value || null })}
          />
          {shown === "board" ? (
            <Board />
          ) : shown === "ready" ? (
            <Ready chosen={id} />
          ) : shown === "unproved" ? (
            <Unproved chosen={id} />
          ) : (
            <Plans chosen={id} />
          )}
        </>
      }
      pane={
        (id?.startsWith("TASK-") && <TaskPane key={id} id={id} />) ||
        (id?.startsWith("PLAN-") && <PlanPane key={id} id={id} />)
      }
    />
  );
}

function Plans({ chosen }: { chosen: string | undefined }) {
  const { data, error } = useRead(
    "tasks.context",
    { plans_limit: 100, tasks_limit: 200 },
    { touches },
  );
  if (!data) return <Waiting error={error} />;
  if (data.plans.length === 0) {
    return (
      <Empty title="No plans yet.">
        Start a task: <code>longhouse task start "Fix the flaky test"</code>
      </Empty>
    );
  }
  return (
    <>
      <p className="soft small">
        {Object.entries(data.by_status.tasks ?? {})
          .filter(([, count]) => count > 0)
          .map(([name, count]) => `${count} ${STATES[name as Task["status"]][0].toLowerCase()}`)
          .join(" · ")}
      </p>
      {data.plans.map((plan) => (
        <PlanTree
          key={plan.id}
          plan={plan}
          tasks={data.tasks.filter((task) => task.plan_id === plan.id)}
          chosen={chosen}
        />
      ))}
      {data.tasks_pagination.has_more && (
        <p className="soft small">
          Showing the first 200 open tasks; open a plan to see all of its tasks.
        </p>
      )}
    </>
  );
}

function PlanTree(props: { plan: Plan; tasks: Task[]; chosen: string | undefined }) {
  const { plan, tasks } = props;
  return (
    <section aria-label={plan.title} className={styles.plan}>
      <h2 className={styles.planHead} data-stop>
        <Link href={href(`/work/${plan.id}`)} aria-current={plan.id === props.chosen || undefined}>
          {plan.title}
        </Link>
        <Ref id={plan.id} />
      </h2>
      {tasks.length === 0 ? (
        <p className="soft small">No open tasks.</p>
      ) : (
        <TaskRows tasks={tasks} chosen={props.chosen} label={`Tasks in ${plan.title}`} />
      )}
    </section>
  );
}

export function TaskRows(props: { tasks: Task[]; chosen: string | undefined; label: string }) {
  const { query } = useRoute();
  return (
    <Rows label={props.label} items={props.tasks} keyOf={(task) => task.id} height={64}>
      {(task) => (
        <Link
          data-stop
          className="list-item"
          href={href(`/work/${task.id}`, { show: query.get("show") })}
          aria-current={task.id === props.chosen ? "true" : undefined}
        >
          <span className="line">
            <strong className="one-line">{task.title}</strong>
            <Badge tone={STATES[task.status][1]}>{STATES[task.status][0]}</Badge>
          </span>
          <span className="line">
            <span className="soft small one-line">
              <code className="ref">{task.id}</code> · {task.assignee ?? "unassigned"}
              {task.waits_for ? ` · waiting for ${task.waits_for}` : ""} ·{" "}
              <Age at={task.updated_at_ms} />
            </span>
            <Progress task={task} />
          </span>
        </Link>
      )}
    </Rows>
  );
}

export function Progress({ task }: { task: Task }) {
  const done = task.steps_total - task.steps_open;
  if (task.steps_total === 0) return null;
  return (
    <span className={`small soft ${styles.progress}`}>
      <progress max={task.steps_total} value={done} aria-label={`Steps of ${task.id}`} />
      {done}/{task.steps_total}
    </span>
  );
}

function Board() {
  return (
    <div className={styles.board}>
      {(["TODO", "ACTIVE", "PARKED", "DONE"] as const).map((status) => (
        <Column key={status} status={status} />
      ))}
    </div>
  );
}

function Column({ status }: { status: Task["status"] }) {
  const { data } = useRead(
    "tasks.context",
    { plans_limit: 0, tasks_limit: 50, tasks_status: status },
    { touches },
  );
  const all = data?.by_status.tasks?.[status] ?? 0;
  return (
    <section aria-label={STATES[status][0]} className={styles.column}>
      <h2 className="line">
        {STATES[status][0]} <span className="soft small">{all}</span>
      </h2>
      <ul className={styles.cards}>
        {(data?.tasks ?? []).map((task) => (
          <li key={task.id}>
            <Link
              data-stop
              className={`card ${styles.card}`}
              href={href(`/work/${task.id}`, { show: "board" })}
            >
              <span className="clamp">{task.title}</span>
              <span className="line">
                <span className="soft small one-line">{task.assignee ?? task.id}</span>
                <Progress task={task} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {all > (data?.tasks.length ?? 0) && (
        <p className="soft small">and {all - (data?.tasks.length ?? 0)} more</p>
      )}
    </section>
  );
}

function Ready({ chosen }: { chosen: string | undefined }) {
  const { data, error } = useRead("tasks.ready", { limit: 100 }, { touches });
  if (!data) return <Waiting error={error} />;
  if (data.tasks.length === 0) {
    return (
      <Empty title="No tasks are ready.">
        A task is ready when it is open and does not wait for another task.
      </Empty>
    );
  }
  return <TaskRows tasks={data.tasks} chosen={chosen} label="Ready tasks" />;
}

function Unproved({ chosen }: { chosen: string | undefined }) {
  const { data, error } = useRead(
    "tasks.context",
    { plans_limit: 0, tasks_limit: 100, unproved: true },
    { touches },
  );
  if (!data) return <Waiting error={error} />;
  if (data.tasks.length === 0) {
    return <Empty title="Every completed task has proof." />;
  }
  return <TaskRows tasks={data.tasks} chosen={chosen} label="Tasks done without proof" />;
}
